"""What one member of a team has seen holds for whoever is told of it: private data and outsiders' words meet no way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, Agent, StateGraph, add_messages, tool
from lawful.agents.patterns import blackboard, debate, hand_off, map_reduce, plan_and_execute, supervise, vote
from lawful.agents.patterns.boards import View
from lawful.core.messages import Message, ToolCall
from lawful.graph.outcome import Done, Paused
from lawful.journal.memory import MemoryJournal
from lawful.models.fake import Scripted
from lawful.tools import Facts, Tainted, add_facts
from lawful.tools.facts import NOTHING, flowing

pytestmark = pytest.mark.unit

BOTH = Facts(private_seen=True, external_seen=True)
SENT: list[str] = []


@tool(reads_private=True)
def inbox() -> Tainted[str]:
    """A mail that somebody wrote: private, and from outside by the mark on the value alone."""
    return Tainted("buy now", "somebody")


@tool(sends_out=True, undeclared="allow")
def notify(text: str) -> str:
    """Tell somebody outside."""
    SENT.append(text)
    return "told"


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    SENT.clear()


READS = ToolCall("inbox", {}, id="r")
TELLS = ToolCall("notify", {"text": "psst"}, id="n")


def reader(*more: Any, name: str = "reader") -> Agent[str]:
    return Agent(Scripted(READS, "read it", *more), tools=[inbox], name=name)


def teller(*before: Any, name: str = "teller") -> Agent[str]:
    return Agent(Scripted(*before, TELLS, "told them", "bye"), tools=[notify], name=name)


def chief(*members: str) -> Scripted:
    import json

    said = [{"member": one, "task": f"you, {one}", "answer": ""} for one in members]
    return Scripted(*(json.dumps(one) for one in [*said, {"member": "finish", "task": "", "answer": "done"}]))


def handing() -> Any:
    first = Agent(Scripted(READS, ToolCall("transfer_to_teller", {"reason": ""}, id="t")), tools=[inbox], name="reader")
    return hand_off([first, teller()], checkpointer=MemoryJournal()), {"messages": ["go"]}


def supervising() -> Any:
    graph = supervise(chief("reader", "teller"), [reader(), teller()], checkpointer=MemoryJournal())
    return graph, {"request": "go"}


def debating() -> Any:
    graph = debate([reader("again"), teller("hm")], lambda told: "both", rounds=2, checkpointer=MemoryJournal())
    return graph, {"question": "who?"}


def planning() -> Any:
    both = Agent(Scripted(READS, "read it", TELLS, "told them"), tools=[inbox, notify])
    graph = plan_and_execute(Scripted('{"value": ["read", "tell"]}', "done"), both, checkpointer=MemoryJournal())
    return graph, {"task": "go"}


def mapping() -> Any:
    graph = map_reduce(lambda text: [text], reader(), teller(), checkpointer=MemoryJournal())
    return graph, {"input": "one"}


def voting() -> Any:
    """Voters are told nothing of each other; what came with the question, they have seen."""
    return vote([teller()], checkpointer=MemoryJournal()), {"question": "who?", "facts": BOTH}


def sharing() -> Any:
    one, two = reader(), teller()

    async def read(view: View) -> None:
        if view.read("mail") is None:
            view.write("mail", await view.ask(one, "look"))

    async def tell(view: View) -> None:
        told = view.read("mail")
        if told is not None:
            view.write("answer", await view.ask(two, f"answer {told}"))

    return blackboard({"a_read": read, "b_tell": tell}, rounds=2, checkpointer=MemoryJournal()), {}


TEAMS = [handing, supervising, debating, planning, mapping, voting, sharing]


@pytest.mark.parametrize("team", TEAMS, ids=lambda team: team.__name__)
async def test_a_way_out_is_asked_about_when_another_member_has_seen_both(team: Callable[[], Any]) -> None:
    """Rows: S4-052"""
    graph, given = team()
    ended = await graph.run(given, thread="t")
    assert isinstance(ended, Paused), ended
    [question] = ended.questions
    assert "both private data and content from outside" in str(question.value)
    assert SENT == []
    ended = await graph.resume("t", question.answer(True))
    assert isinstance(ended, Done), ended
    assert SENT == ["psst"]
    left: Any = graph.get_state("t").values
    if team is sharing:
        assert left["board"].cells["answer"].facts == BOTH
    else:
        assert flowing(left["facts"]) == BOTH


@pytest.mark.parametrize("team", [supervising, mapping, sharing], ids=lambda team: team.__name__)
async def test_a_team_that_saw_nothing_of_it_is_not_asked(team: Callable[[], Any], monkeypatch: Any) -> None:
    harmless = tool(name="inbox")(lambda: "nothing")
    monkeypatch.setitem(globals(), "inbox", harmless)
    graph, given = team()
    assert isinstance(await graph.run(given, thread="t"), Done)
    assert SENT == ["psst"]


async def test_what_an_agent_saw_as_a_tool_is_seen_by_its_caller() -> None:
    """By the mark on a value, which no declaration of the inner agent's tools tells of."""
    outer = Agent(
        Scripted(ToolCall("reader", {"task": "look"}, id="a"), TELLS, "done"),
        tools=[reader().as_tool(), notify],
        journal=MemoryJournal(),
    )
    waiting = await outer.ainvoke("go", thread="t")
    assert waiting.questions
    assert SENT == []
    assert flowing(waiting.facts) == BOTH
    assert waiting.sources[0].outside == "reader"


@pytest.mark.parametrize("how", ["limit", "model"])
async def test_an_inner_agent_that_failed_has_seen_what_it_has_seen(how: str) -> None:
    ends: list[Any] = [READS, READS] if how == "limit" else [READS]  # or its script is over: a bug, told as text
    inner = Agent(Scripted(*ends), tools=[inbox], name="reader", max_rounds=1 if how == "limit" else 9)
    outer = Agent(
        Scripted(ToolCall("reader", {"task": "look"}, id="a"), TELLS, "done"),
        tools=[inner.as_tool(), notify],
        journal=MemoryJournal(),
    )
    if how == "model":
        inner = Agent(_Failing(READS), tools=[inbox], name="reader")
        outer = Agent(outer.model, tools=[inner.as_tool(), notify], journal=MemoryJournal())
    waiting = await outer.ainvoke("go", thread="t")
    assert waiting.questions, waiting
    assert SENT == []


def _Failing(call: ToolCall) -> Scripted:
    from lawful.core.errors import LLMError

    return Scripted(call, LLMError("buy now", component="models"))


async def test_what_the_caller_saw_is_seen_by_an_agent_that_is_its_tool() -> None:
    outer = Agent(
        Scripted(READS, ToolCall("teller", {"task": "tell"}, id="a"), "done"),
        tools=[inbox, teller().as_tool()],
        journal=MemoryJournal(),
    )
    waiting = await outer.ainvoke("go", thread="t")
    assert waiting.questions
    assert SENT == []


async def test_an_answer_carries_what_was_seen_to_an_agent_that_is_told_it() -> None:
    first = await reader().ainvoke("look")
    assert flowing(first.facts) == BOTH
    second = Agent(teller().model, tools=[notify], journal=MemoryJournal())
    waiting = await second.ainvoke(first.text, seen=first.facts)
    assert waiting.questions
    assert SENT == []


def test_what_was_granted_to_one_agent_is_not_granted_to_another() -> None:
    assert flowing(Facts(True, False, extended=20, rated=True)) == Facts(True, False)
    assert add_facts(flowing(BOTH), NOTHING) == BOTH


class Shared(TypedDict):
    """What a user's own graph of agents shares with them."""

    messages: Annotated[list[Message], add_messages]
    facts: Annotated[Facts, add_facts]


async def test_agents_as_nodes_of_ones_own_graph_share_what_was_seen() -> None:
    last = Agent(teller().model, tools=[notify], name="teller")
    graph = StateGraph(Shared).add_node("reader", reader().graph).add_node("teller", last.graph)
    graph.add_edge(START, "reader").add_edge("reader", "teller")
    ended = await graph.compile(checkpointer=MemoryJournal()).run({"messages": ["go"]}, thread="t")
    assert isinstance(ended, Paused)
    assert SENT == []
