"""The patterns: each is a graph that can be drawn, stored and resumed; what they promise holds at the edges."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful import Failed, Paused
from lawful.agents import Agent
from lawful.agents.memory import rough_tokens, summary, token_budget, window
from lawful.agents.patterns import blackboard, debate, hand_off, map_reduce, plan_and_execute, supervise, vote
from lawful.agents.patterns.boards import Board, Transaction, View, cell_named, commit
from lawful.core.errors import AgentError, ConfigurationError, ConversationMemoryError
from lawful.core.llm_errors import OutputInvalid
from lawful.core.messages import Message, ToolCall, assistant, system, tool_result, user
from lawful.journal.memory import MemoryJournal
from lawful.models.fake import Scripted, refuse_unmatched
from lawful.tools import tool

pytestmark = pytest.mark.unit


def says(text: str, log: list[str] | None = None, name: str = "one") -> Any:
    async def speak(prompt: str) -> str:
        if log is not None:
            log.append(prompt)
        return text

    speak.__name__ = name
    return speak


# Debate


async def test_debaters_argue_at_once_and_the_judge_sees_all() -> None:
    """Rows: S0-084, S0-141"""
    both = asyncio.Barrier(2)
    heard: list[str] = []

    def arguing(name: str) -> Any:
        async def speak(prompt: str) -> str:
            await asyncio.wait_for(both.wait(), 5)
            return f"{name} on {len(prompt)}"

        speak.__name__ = name
        return speak

    found = await debate([arguing("ada"), arguing("bob")], says("ada wins", heard), rounds=2).ainvoke(
        {"question": "which?"}
    )
    assert found["verdict"] == "ada wins"
    assert [(a.speaker, a.round) for a in found["arguments"]] == [("ada", 1), ("bob", 1), ("ada", 2), ("bob", 2)]
    assert found["arguments"][0].text == "ada on 6"
    assert "bob, round 2" in heard[0]


async def test_a_debate_ends_when_all_agree() -> None:
    log: list[str] = []
    found = await debate([says("Yes", log, "a"), says(" yes ", log, "b")], says("yes"), rounds=5).ainvoke(
        {"question": "q"}
    )
    assert len(log) == 2
    assert found["verdict"] == "yes"


def test_a_debate_needs_two() -> None:
    with pytest.raises(ConfigurationError, match="two debaters"):
        debate([says("x")], says("y"))


# Plan and execute


async def test_a_plan_is_carried_out_step_by_step() -> None:
    """Rows: S0-132"""
    planner = Scripted('{"value": ["look", "tell"]}', "All told.")
    log: list[str] = []
    found = await plan_and_execute(planner, says("done", log)).ainvoke({"task": "help"})
    assert found["answer"] == "All told."
    assert [(one.step, one.result) for one in found["done"]] == [("look", "done"), ("tell", "done")]
    assert "Done: look" in log[1]


@pytest.mark.parametrize("plan", ['{"value": []}', '{"value": ["a", " "]}', json.dumps({"value": ["a"] * 13})])
async def test_a_plan_that_cannot_be_carried_out_is_an_error_and_nothing_runs(plan: str) -> None:
    """Rows: S0-133"""
    log: list[str] = []
    ended = await plan_and_execute(Scripted(plan), says("done", log)).run({"task": "help"})
    assert isinstance(ended, Failed)
    assert isinstance(ended.error, ConfigurationError)
    assert log == []


async def test_a_plan_that_is_no_plan_is_an_error_and_nothing_runs() -> None:
    """Rows: S0-133"""
    log: list[str] = []
    ended = await plan_and_execute(Scripted(*["no plan"] * 3), says("done", log)).run({"task": "help"})
    assert isinstance(ended, Failed)
    assert isinstance(ended.error, OutputInvalid)
    assert log == []


async def test_the_rest_of_a_plan_can_be_changed() -> None:
    planner = Scripted('{"value": ["a", "b", "c"]}', '{"value": ["z"]}', '{"value": []}', "end")
    found = await plan_and_execute(planner, says("ok"), replan=True).ainvoke({"task": "t"})
    assert [one.step for one in found["done"]] == ["a", "z"]


# Supervisor


def choice(member: str, task: str = "", answer: str = "") -> str:
    return json.dumps({"member": member, "task": task, "answer": answer})


async def test_a_supervisor_gives_tasks_until_it_has_the_answer() -> None:
    """Rows: S0-084, S0-140"""
    chief = Scripted(choice("scout", "look"), choice("critic", "judge"), choice("finish", answer="fair"))
    team = [Agent(Scripted("sun"), name="scout"), Agent(Scripted("fine"), name="critic")]
    desk = supervise(chief, team)
    found = await desk.ainvoke({"request": "weather?"})
    assert found["answer"] == "fair"
    assert [(r.member, r.task, r.result) for r in found["reports"]] == [
        ("scout", "look", "sun"),
        ("critic", "judge", "fine"),
    ]
    assert "scout, asked 'look': sun" in chief.requests[1].messages[-1].text


async def test_a_supervisor_cannot_name_who_is_not_there_and_has_an_end() -> None:
    team = [Agent(Scripted(*["x"] * 9), name="scout")]
    ended = await supervise(Scripted(*[choice("nobody")] * 3), team).run({"request": "q"})
    assert isinstance(ended, Failed)
    assert isinstance(ended.error, OutputInvalid)
    ended = await supervise(Scripted(*[choice("scout", "t")] * 9), team, rounds=2).run({"request": "q"})
    assert isinstance(ended, Failed)
    assert isinstance(ended.error, AgentError)
    assert len(ended.state["reports"]) == 2


@tool(approval=True)
async def fly(to: str) -> str:
    """Fly."""
    return f"flew to {to}"


async def test_a_pause_of_a_member_is_the_whole_graphs() -> None:
    chief = Scripted(choice("pilot", "fly"), choice("finish", answer="there"))
    pilot = Agent(Scripted(ToolCall(id="c", name="fly", args={"to": "x"}), "flown"), name="pilot", tools=[fly])
    desk = supervise(chief, [pilot], checkpointer=MemoryJournal())
    paused = await desk.run({"request": "q"}, thread="t")
    assert isinstance(paused, Paused)
    await desk.resume("t", paused.questions[0].answer(True))
    assert desk.get_state("t").values["answer"] == "there"


# Hand-off


async def test_agents_hand_one_conversation_on() -> None:
    """Rows: S0-143"""
    front = Agent(Scripted(ToolCall(id="h", name="transfer_to_billing", args={"reason": "money"})), name="front")
    model = Scripted("Your bill is paid.")
    found = await hand_off([front, Agent(model, name="billing")]).ainvoke({"messages": ["my bill?"]})
    assert [m.text for m in found["messages"]] == ["my bill?", "", "Handed to billing. money", "Your bill is paid."]
    assert [m.role for m in model.requests[0].messages] == ["user", "assistant", "tool"]
    assert [spec.name for spec in model.requests[0].tools] == ["transfer_to_front"]


async def test_handing_on_for_ever_ends() -> None:
    def again(to: str) -> Scripted:
        return Scripted(*(ToolCall(id=f"{to}{n}", name=f"transfer_to_{to}", args={}) for n in range(9)))

    ended = await hand_off([Agent(again("b"), name="a"), Agent(again("a"), name="b")], most=3).run({"messages": ["x"]})
    assert isinstance(ended, Failed)
    assert isinstance(ended.error, AgentError)
    assert ended.error.details["why"] == "hand_offs"


async def test_hand_offs_are_counted_by_the_turn() -> None:
    def over(n: int) -> ToolCall:
        return ToolCall(id=f"h{n}", name="transfer_to_b", args={})

    front = Agent(Scripted(*map(over, range(5))), name="a")
    team = hand_off([front, Agent(Scripted(*["well"] * 5), name="b")], most=1, checkpointer=MemoryJournal())
    for _ in range(5):
        found = await team.ainvoke({"messages": ["x"]}, {"configurable": {"thread_id": "t"}})
        assert found["messages"][-1].text == "well"


# Voting


@pytest.mark.parametrize(
    ("answers", "winner"),
    [(["Yes", "yes.", "no"], "yes"), (["a", "b"], None), (["a", "b", "c"], None), (["a", "a", "b", "c"], None)],
)
async def test_the_answer_of_more_than_half_wins(answers: list[str], winner: str | None) -> None:
    """Rows: S0-084, S0-143"""
    voters = [says(text, name=f"v{n}") for n, text in enumerate(answers)]
    for order in (voters, voters[::-1]):
        assert (await vote(order).ainvoke({"question": "q"}))["winner"] == winner


# Map-reduce


async def test_parts_are_worked_on_at_once_and_joined_in_their_order() -> None:
    async def slow_first(text: str) -> str:
        await asyncio.sleep(0.02 if text == "a" else 0)
        return text.upper()

    graph = map_reduce(lambda text: text.split(), slow_first, lambda text: text.replace("\n\n", "+"))
    assert (await graph.ainvoke({"input": "a b c"}))["output"] == "A+B+C"
    assert (await graph.ainvoke({"input": ""}))["output"] == ""


# Blackboard


async def test_fifty_writers_lose_nothing() -> None:
    """Rows: S0-084, S0-142, S0-197"""

    async def add(view: View) -> None:
        view.write("sum", view.read("sum", 0) + 1)
        view.write("log", [*view.read("log", []), view.read("sum")])

    found = await blackboard({f"w{n:02}": add for n in range(50)}).ainvoke({})
    assert found["board"].get("sum") == 50
    assert found["board"].get("log") == list(range(1, 51))
    assert found["board"].cells["sum"].version == 50


async def test_a_transaction_takes_effect_whole_or_not_at_all() -> None:
    board = commit(Board(), [Transaction("a", {}, {"x": 1, "y": 1})])
    after = commit(board, [Transaction("b", {"x": 1}, {"x": 2}), Transaction("c", {"x": 1, "y": 1}, {"x": 9, "y": 9})])
    assert (after.get("x"), after.get("y"), after.again) == (2, 1, ("c",))
    with pytest.raises(ConfigurationError, match="Did you mean 'x'"):
        cell_named(after, "xx")


async def test_workers_that_touch_different_cells_do_not_wait_for_each_other() -> None:
    tries: list[str] = []

    def on(cell: str) -> Any:
        async def work(view: View) -> None:
            tries.append(cell)
            view.write(cell, view.read(cell, 0) + 1)

        return work

    found = await blackboard({"a": on("a"), "b": on("b")}, rounds=3).ainvoke({})
    assert (found["board"].get("a"), found["board"].get("b")) == (3, 3)
    assert len(tries) == 6


async def test_a_worker_that_never_gets_through_is_an_error() -> None:
    async def add(view: View) -> None:
        view.write("n", view.read("n", 0) + 1)

    ended = await blackboard({str(n): add for n in range(5)}, most_tries=2).run({})
    assert isinstance(ended, Failed)
    assert isinstance(ended.error, AgentError)


# Memory


def talk(n: int) -> list[Message]:
    return [system("be kind"), *(m for i in range(n) for m in (user(f"q{i}"), assistant(f"a{i}")))]


async def test_a_window_keeps_system_messages_and_the_newest() -> None:
    """Rows: S0-161"""
    assert [m.text for m in await window(3)(talk(3))] == ["be kind", "a1", "q2", "a2"]
    call = assistant(ToolCall(id="c", name="x", args={}))
    shown = await window(2)([user("a"), call, tool_result("c", "r"), assistant("b")])
    assert [m.text for m in shown] == ["b"]


async def test_a_token_budget_is_never_passed() -> None:
    """Rows: S0-161"""
    messages = talk(50)
    for most in (30, 64, 1_000):
        shown = await token_budget(most)(messages)
        assert sum(map(rough_tokens, shown)) <= most
        assert shown[0].role == "system"
        assert shown[-1] is messages[-1]
    with pytest.raises(ConversationMemoryError, match="last message takes"):
        await token_budget(10)([user("x" * 100)])


Exchange = st.lists(st.integers(0, 3), max_size=8)
"""For each answer of the model, how many calls it has; 0: words, and the user speaks again."""


@pytest.mark.property
@given(Exchange, st.integers(1, 12))
async def test_no_memory_shows_a_call_without_its_results_or_a_result_without_its_call(
    exchange: list[int], size: int
) -> None:
    """Rows: S0-161"""
    messages: list[Message] = [system("be kind"), user("q")]
    for at, calls in enumerate(exchange):
        ids = [f"{at}.{n}" for n in range(calls)]
        messages += [assistant("a", *(ToolCall("look", {}, id=own) for own in ids))]
        messages += [tool_result(own, "found") for own in ids] or [user("and?")]
    messages = [m.named(f"m{n}") for n, m in enumerate(messages)]
    for memory in (window(size), token_budget(size * 8), summary(Scripted(*["sum"] * 9), over=size, keep=size)):
        try:
            shown = await memory(messages)
        except ConversationMemoryError:
            continue
        refuse_unmatched(shown)
        assert shown[0].text == "be kind"


async def test_each_message_is_summed_up_once() -> None:
    """Rows: S0-161"""
    writer = Scripted("sum one", "sum two")
    remember = summary(writer, over=6, keep=2)
    messages = [m.named(f"m{n}") for n, m in enumerate(talk(10))]
    assert await remember(messages[:7]) == messages[:7]
    first = await remember(messages[:9])
    assert [m.text for m in first] == ["be kind", "What was said before, summed up:\nsum one", "q3", "a3"]
    await remember(messages[:13])
    assert "sum one" in writer.requests[1].messages[-1].text
    assert "q0" not in writer.requests[1].messages[-1].text


def test_an_agent_shows_its_model_what_its_memory_keeps() -> None:
    model = Scripted("one", "two", "three")
    agent = Agent(model, memory=window(1), instructions="Be brief.", journal=MemoryJournal())
    for text in ("a", "b", "c"):
        answer = agent.invoke(text, thread="t")
    assert [m.text for m in model.requests[2].messages] == ["Be brief.", "c"]
    assert len(answer.messages) == 6
