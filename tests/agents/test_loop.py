"""The agent's loop: one transcript however it is asked, typed answers, limits that hold, pauses that resume, one seam."""

from __future__ import annotations

import ast
import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lawful
from lawful import Done, Failed, Ok, Paused, effect
from lawful.agents import Agent, build_agent_loop
from lawful.agents.middleware.base import Middleware, ModelAsk, ModelHandler, ToolAsk, ToolHandler, Turn
from lawful.core.errors import AgentError, ConfigurationError, LLMError
from lawful.core.llm_errors import OutputInvalid
from lawful.core.messages import InvalidToolCall, Message, Text, ToolCall, assistant
from lawful.journal.memory import MemoryJournal
from lawful.models.fake import Scripted
from lawful.models.values import Profile, Reply
from lawful.pipeline import run_sync
from lawful.tools import Rules, tool
from lawful.tools.dispatch import Outcome

pytestmark = pytest.mark.unit


@tool
async def weather(city: str) -> str:
    """Today's weather in one city."""
    return f"fair in {city}"


@tool(approval=True)
async def call_taxi(to: str) -> str:
    """Call a taxi."""
    return f"taxi to {to}"


def call(id: str = "c1", name: str = "weather", **args: Any) -> ToolCall:
    return ToolCall(id=id, name=name, args=args or {"city": "Lyon"})


def memory() -> MemoryJournal:
    return MemoryJournal()


def told(messages: Any) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in messages]


def whole(messages: Any) -> list[Any]:
    return [(m.role, m.text, m.tool_call_id, [(c.id, c.name, c.args) for c in m.calls]) for m in messages]


def test_ten_lines_are_an_agent() -> None:
    """Rows: S4-002, S0-130"""
    model = Scripted(call(), "No coat.")
    answer = Agent(model, tools=[weather], instructions="Be brief.").invoke("Do I need a coat in Lyon?")
    assert answer.text == answer.output == "No coat."
    assert told(answer.messages)[2:] == [("tool", "fair in Lyon"), ("assistant", "No coat.")]
    assert model.requests[0].messages[0].text == "Be brief."
    assert [spec.name for spec in model.requests[0].tools] == ["weather"]
    assert "Be brief." not in [m.text for m in answer.messages]


@pytest.mark.parametrize("said", ["I will look.", "", "  "])
@pytest.mark.parametrize("streamed", [False, True])
def test_text_before_a_tool_call_gives_one_transcript(said: str, streamed: bool) -> None:
    """Cases: A16"""
    model = Scripted(assistant(*([said] if said else []), call()), "done", chunks=3 if streamed else 0)
    agent = Agent(model, tools=[weather], journal=(journal := memory()))
    if streamed:
        assert "".join(agent.stream_text("x", thread="t")).strip() == f"{said.strip()}done"
    else:
        assert agent.invoke("x", thread="t").text == "done"
    messages = agent.get_state("t").values["messages"]
    assert [m.role for m in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[1].text == said
    assert messages[-1].text == "done"
    assert journal is not None


turns = st.lists(
    st.tuples(st.text(max_size=12), st.lists(st.sampled_from(["Lyon", "Oslo"]), min_size=1, max_size=3)), max_size=4
)
"""What the model says before its calls, and the calls."""


@pytest.mark.property
@settings(max_examples=25, deadline=None)
@given(turns, st.text(min_size=1, max_size=10), st.integers(0, 4))
def test_run_and_stream_give_the_same_transcript(script: list[Any], last: str, chunks: int) -> None:
    def model() -> Scripted:
        answers = [
            assistant(*([said] if said else []), *(call(f"c{at}.{n}", city=city) for n, city in enumerate(cities)))
            for at, (said, cities) in enumerate(script)
        ]
        return Scripted(*answers, last, chunks=chunks)

    rules = Rules(exempt=frozenset({"weather"}))
    ran, streamed = (Agent(model(), tools=[weather], rules=rules, journal=memory()) for _ in range(2))
    answer = ran.invoke("go", thread="t")
    assert "".join(streamed.stream_text("go", thread="t")) == "".join(said for said, _ in script) + last
    assert whole(streamed.get_state("t").values["messages"]) == whole(answer.messages)


@dataclass(frozen=True)
class Advice:
    coat: bool
    why: str


def test_a_typed_answer() -> None:
    model = Scripted('{"coat": true, "why": "rain"}')
    answer = Agent(model, output=Advice).invoke("x")
    assert answer.output == Advice(True, "rain")
    assert model.requests[0].output is not None
    assert set(model.requests[0].output.schema["properties"]) == {"coat", "why"}


def test_a_model_that_takes_no_schema_is_told_it_in_words() -> None:
    model = Scripted('```json\n{"value": 3}\n```', profile=Profile(schema=False))
    assert Agent(model, output=int).invoke("x").output == 3
    assert model.requests[0].output is None
    assert '"value"' in model.requests[0].messages[0].text
    assert model.requests[0].messages[0].text.startswith("x")


def test_an_answer_that_does_not_fit_is_told_so_and_made_again() -> None:
    """Cases: A15"""
    model = Scripted("maybe", '{"value": "x"}', '{"value": true}')
    assert Agent(model, output=bool).invoke("x").output is True
    feedback = [m.text for m in model.requests[2].messages if m.role == "user"]
    assert "not JSON" in feedback[1]
    assert "valid boolean" in feedback[2]


def test_an_answer_that_never_fits_ends_after_few_attempts_with_the_text_and_what_was_wrong() -> None:
    """Cases: A15"""
    model = Scripted(*["maybe"] * 10)
    agent = Agent(model, output=bool)
    ended = agent.run_sync("x")
    assert isinstance(ended, Failed)
    assert isinstance(ended.error, OutputInvalid)
    assert (ended.error.details["output"], ended.error.details["attempts"]) == ("maybe", "3")
    assert len(model.requests) == 3
    assert ended.state["messages"][-1].name == "check"


async def test_done_paused_failed() -> None:
    assert await Agent(Scripted("hi")).run("x") == Done("hi")
    paused = await Agent(Scripted(call(name="call_taxi", to="x")), tools=[call_taxi]).run("x")
    assert isinstance(paused, Paused)
    failed = await Agent(Scripted(LLMError("down", component="m", operation="invoke"))).run("x")
    assert isinstance(failed, Failed)


def test_a_pause_is_resumed_by_another_agent_value_on_the_same_journal(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")

    def agent(*answers: Any) -> Agent[str]:
        return Agent(Scripted(*answers), tools=[call_taxi], journal=path)

    waiting = agent(call(name="call_taxi", to="home")).invoke("home please", thread="t")
    [question] = waiting.questions
    assert waiting.text == ""
    assert question.value["args"] == {"to": "home"}
    with pytest.raises(ValueError, match="waits"):
        _ = waiting.output
    done = agent("It comes.").resume_sync("t", question.answer(True))
    assert done == Done("It comes.")


def test_a_thread_goes_on_and_tokens_add_up() -> None:
    agent = Agent(Scripted("one", "two"), journal=memory())
    agent.invoke("a", thread="t")
    assert told(agent.invoke("b", thread="t").messages) == [
        ("user", "a"),
        ("assistant", "one"),
        ("user", "b"),
        ("assistant", "two"),
    ]


@pytest.mark.parametrize(("limit", "ends"), [(4, False), (3, True)])
def test_the_rounds_of_a_turn_are_limited_and_what_was_done_is_kept(limit: int, ends: bool) -> None:
    model = Scripted(*(call(f"c{n}", city=str(n)) for n in range(3)), "done")
    ended = Agent(model, tools=[weather], max_rounds=limit).run_sync("x")
    assert isinstance(ended, Failed) is ends
    if isinstance(ended, Failed):
        assert isinstance(ended.error, AgentError)
        assert ended.error.details["why"] == "agent_rounds"
        assert [m.role for m in ended.state["messages"]].count("tool") == 3


def test_a_model_that_goes_in_circles_to_the_end_ends_the_turn_with_every_call_closed() -> None:
    """Rows: S4-053"""
    model = Scripted(*(call(f"c{n}") for n in range(20)))
    ended = Agent(model, tools=[weather]).run_sync("x")
    assert isinstance(ended, Failed)
    assert ended.error.details["why"] == "agent_loop"
    assert len(model.requests) == 7
    texts = [m.text for m in ended.state["messages"] if m.role == "tool"]
    assert texts[:2] == ["fair in Lyon"] * 2
    assert "turn ends" in texts[-1]


def test_broken_arguments_and_unknown_tools_are_told_to_the_model_before_anything_runs() -> None:
    broken = Message(
        "assistant", (InvalidToolCall(id="b", name="weather", args="{", error="cut off"), call("u", "wether"))
    )
    model = Scripted(broken, "sorry", strict=False)
    answer = Agent(model, tools=[weather]).invoke("x")
    results = {m.tool_call_id: m.text for m in answer.messages if m.role == "tool"}
    assert "no JSON object" in results["b"]
    assert "Did you mean 'weather'" in results["u"]


def test_an_effect_is_a_tool_and_runs_once() -> None:
    """Cases: A06"""
    sent: list[str] = []

    @effect("order")
    def refund(order: str) -> str:
        """Refund an order."""
        sent.append(order)
        return f"refunded {order}"

    model = Scripted(call(name="refund", order="o1"), call("c2", "refund", order="o1"), "done")
    answer = Agent(model, tools=[refund]).invoke("x")
    assert [m.text for m in answer.messages if m.role == "tool"] == ["refunded o1"] * 2
    assert sent == ["o1"]


class Broken(Middleware):
    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        if "before" in ask.messages[0].text:
            raise RuntimeError("mine")
        await handler(ask)
        raise RuntimeError("mine")

    async def before_model(self, turn: Turn) -> None:
        raise RuntimeError("mine")


class Gate(Broken):
    gate = True


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_additive_middleware_fails_open_and_a_gate_closed(when: str) -> None:
    """Rows: S4-032"""
    model = Scripted("hi", "again")
    assert Agent(model, middleware=[Broken()]).invoke(when).text == "hi"
    assert len(model.requests) == 1
    with pytest.raises(RuntimeError, match="mine"):
        Agent(Scripted("hi"), middleware=[Gate()]).invoke(when)


def test_what_the_model_raised_is_no_fault_of_the_middleware() -> None:
    """Rows: S4-032"""

    class Through(Middleware):
        async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
            return await handler(ask)

    model = Scripted(LLMError("down", component="m", operation="invoke"), "second")
    with pytest.raises(LLMError, match="down"):
        Agent(model, middleware=[Through()]).invoke("x")
    assert len(model.requests) == 1


class Noted(Middleware):
    def __init__(self, label: str, log: list[str]) -> None:
        self.label, self.log = label, log

    @property
    def name(self) -> str:
        return self.label

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        self.log.append(f"{self.label}>")
        found = await handler(ask)
        self.log.append(f"<{self.label}")
        return found

    async def before_agent(self, turn: Turn) -> None:
        self.log.append(f"{self.label} begins")

    async def before_model(self, turn: Turn) -> list[Message]:
        return [Message("user", (Text(f"note {self.label}"),), name="check")]

    async def after_agent(self, turn: Turn, reply: Reply) -> None:
        self.log.append(f"{self.label} ends")


def test_the_first_middleware_is_the_outermost() -> None:
    """Rows: S4-011, S0-136"""
    log: list[str] = []
    answer = Agent(Scripted("hi"), middleware=[Noted("a", log), Noted("b", log)]).invoke("x")
    assert log == ["a begins", "b begins", "a>", "b>", "<b", "<a", "a ends", "b ends"]
    assert [m.text for m in answer.messages] == ["x", "note a", "note b", "hi"]
    with pytest.raises(ConfigurationError, match="two middlewares are called 'a'"):
        Agent(Scripted("hi"), middleware=[Noted("a", log), Noted("a", log)])


class Everywhere(Noted):
    """At all six places."""

    async def wrap_tool(self, ask: ToolAsk, handler: ToolHandler) -> Outcome:
        self.log.append(f"{self.label} tool>")
        found = await handler(ask)
        self.log.append(f"<tool {self.label}")
        return found

    async def before_model(self, turn: Turn) -> list[Message]:
        self.log.append(f"{self.label} before")
        return []

    async def after_model(self, turn: Turn, reply: Reply) -> None:
        self.log.append(f"{self.label} after")


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_the_six_hooks_stand_in_one_order_in_both_forms(form: str) -> None:
    """Rows: S4-011, S0-136"""
    log: list[str] = []
    agent = Agent(Scripted(call(), "hi"), tools=[weather], middleware=[Everywhere("a", log), Everywhere("b", log)])
    if form == "sync":
        await asyncio.to_thread(agent.invoke, "x")
    else:
        await agent.ainvoke("x")
    around = ["a before", "b before", "a>", "b>", "<b", "<a", "a after", "b after"]
    tool = ["a tool>", "b tool>", "<tool b", "<tool a"]
    assert log == ["a begins", "b begins", *around, *tool, *around, "a ends", "b ends"]


def test_middleware_adds_no_node_and_no_step() -> None:
    """Rows: S4-003, S4-034"""
    plain = build_agent_loop(Scripted(call(), "hi"), [weather], checkpointer=memory())
    many = build_agent_loop(
        Scripted(call(), "hi"), [weather], checkpointer=memory(), extra_middleware=[Noted(str(n), []) for n in range(5)]
    )
    assert plain.draw_mermaid() == many.draw_mermaid()
    steps: list[int] = []
    for graph in (plain, many):
        graph.invoke({"messages": ["x"]}, {"configurable": {"thread_id": "t"}, "recursion_limit": 4})
        steps.append(len(list(graph.get_state_history("t"))))
    assert steps[0] == steps[1]


def test_unknown_options_are_refused() -> None:
    """Rows: S4-043"""
    with pytest.raises(TypeError, match="tool"):
        Agent(Scripted("x"), tool=[weather])  # pyright: ignore


def test_only_the_loop_builds_an_agents_graph() -> None:
    """Rows: S4-002"""
    loops = [
        path.name
        for path in Path(lawful.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Loop"
    ]
    assert loops == ["loop.py"]


def test_an_agent_is_a_tool_and_a_step() -> None:
    inner = Agent(Scripted("fair", "fair"), name="scout")
    outer = Agent(Scripted(call(name="scout", task="look"), "it is fair"), tools=[inner.as_tool()])
    assert told(outer.invoke("x").messages)[2] == ("tool", "fair")
    assert run_sync(inner.as_pipeline(), "look") == Ok("fair")


@pytest.mark.parametrize("kept", [False, True])
def test_a_provider_that_uses_an_id_again_gets_each_result_in_its_place(kept: bool) -> None:
    """Servers on one's own machine number their calls anew in each answer."""

    @tool
    def look(at: str) -> str:
        """Look."""
        return f"nothing at {at}"

    def calls(place: str) -> Message:
        return assistant(ToolCall("look", {"at": place}, id="call_0"))

    model = Scripted(calls("door"), calls("roof"), "none", calls("wall"), "none")
    agent = Agent(model, tools=[look], journal=MemoryJournal() if kept else None)
    first = agent.invoke("go", thread="t" if kept else None)
    assert [m.text for m in first.messages if m.role == "tool"] == ["nothing at door", "nothing at roof"]
    if kept:
        again = agent.invoke("go on", thread="t")
        assert [m.text for m in again.messages if m.role == "tool"][2:] == ["nothing at wall"]
