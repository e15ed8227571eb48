"""Private data, outsiders' words and a way out: found before anything runs wherever they can meet, and not elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest

from lawful import START, Agent, StateGraph, effect
from lawful.agents.check import check
from lawful.agents.holdings import holdings
from lawful.agents.patterns import blackboard, debate, hand_off, map_reduce, plan_and_execute, supervise, vote
from lawful.agents.sarif import sarif
from lawful.core.errors import ConfigurationError
from lawful.core.messages import ToolCall
from lawful.journal.memory import MemoryJournal
from lawful.models.fake import Scripted
from lawful.tools import Toolset, Traits, UndeclaredTool, as_tool, tool

pytestmark = pytest.mark.unit


@tool(reads_private=True)
def read_mail(folder: str) -> str:
    """Read the mail."""
    return folder


@tool(ingests_external=True)
def fetch(url: str) -> str:
    """Fetch a page."""
    return url


@tool(sends_out=True)
def browse(url: str) -> str:
    """Open a page of the web."""
    return url


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@effect("to")
def post(to: str, text: str) -> str:
    """Post a note."""
    return to


def agent(*tools: Any, name: str = "agent") -> Agent[str]:
    return Agent(Scripted(), tools=tools, name=name)


def met(thing: Any, **options: Any) -> list[tuple[str, str, str]]:
    found = check(thing, **options).meetings
    return [(one.private.tool.name, one.external.tool.name, one.outward.tool.name) for one in found]


ALL = [("read_mail", "fetch", "browse")]


def test_the_three_in_one_agent_are_found_with_their_places() -> None:
    found = check(agent(read_mail, fetch, browse))
    assert not found.ok
    [meeting] = found.meetings
    assert meeting.text == (
        "read_mail (in agent > tool) reads private data, fetch (in agent > tool) lets in what outsiders wrote,"
        " browse (in agent > tool) sends out"
    )


@pytest.mark.parametrize("two", [(read_mail, fetch), (read_mail, browse), (fetch, browse), (add, browse, post)])
def test_two_of_the_three_are_well(two: tuple[Any, ...]) -> None:
    assert check(agent(*two)).ok


def test_an_effect_is_a_way_out_unless_it_stays_inside() -> None:
    assert met(agent(read_mail, fetch, post)) == [("read_mail", "fetch", "post")]
    inside = as_tool(post).with_(traits=Traits(effect=True, stays_inside=True))
    assert check(agent(read_mail, fetch, inside)).ok


def test_one_tool_may_be_all_three() -> None:
    @tool(reads_private=True, ingests_external=True, sends_out=True)
    def browser(url: str) -> str:
        """Use the user's own browser."""
        return url

    assert met(agent(browser)) == [("browser", "browser", "browser")]


def test_what_is_undeclared_or_opaque_is_listed_and_counts_only_when_strict() -> None:
    with pytest.warns(UndeclaredTool):

        @tool
        def send_letter(to: str) -> str:
            """Send a letter."""
            return to

    found = check(agent(send_letter, post, add))
    assert found.ok
    assert [one.tool.name for one in found.undeclared] == ["send_letter"]
    assert [one.tool.name for one in found.opaque] == ["post"]
    assert found.tools == 3
    assert met(agent(send_letter, add), strict=True) == [("send_letter", "send_letter", "send_letter")]
    assert met(agent(read_mail, fetch, send_letter), strict=True) == [("read_mail", "fetch", "send_letter")]


def test_an_effect_with_a_look_up_is_not_opaque() -> None:
    @effect("to")
    def found_again(to: str) -> str:
        """Post a note."""
        return to

    @found_again.lookup
    def look(to: str) -> str | None:
        return None

    assert look is not None
    assert check(agent(found_again)).opaque == ()


def test_an_agent_that_is_a_tool_is_what_its_tools_are() -> None:
    """The check goes into it, and the gates of its caller see it so."""
    inner = agent(read_mail, post, name="clerk").as_tool()
    assert (inner.traits.reads_private, inner.traits.sends_out, inner.traits.ingests_external) == (True, True, False)
    [meeting] = check(agent(inner, fetch)).meetings
    assert meeting.outward.where == "agent > tool > clerk > clerk > tool"


def test_what_the_caller_saw_the_asked_agent_has_seen() -> None:
    """The caller read private data, the one that it asks reads outsiders' words: its way out is asked about."""
    calls = [ToolCall(id="a", name="fetch", args={"url": "x"}), ToolCall(id="b", name="browse", args={"url": "y"})]
    inner = Agent(Scripted(*calls, "done"), tools=[fetch, browse], name="clerk")
    first = ToolCall(id="m", name="read_mail", args={"folder": "in"})
    asks = ToolCall(id="c", name="clerk", args={"task": "look it up"})
    outer = Agent(Scripted(first, asks, "over"), tools=[read_mail, inner.as_tool()], journal=MemoryJournal())
    waiting = outer.invoke("go", thread="t")
    [question] = waiting.questions
    assert question.value["tool"] == "browse"
    assert "sends out" in question.value["reasons"][0]


# Graphs


class Note(TypedDict, total=False):
    text: str


def line(*steps: Callable[[Note], Note], kept: bool = False) -> Any:
    graph = StateGraph(Note, name="line")
    before = START
    for step in steps:
        name = step.__name__
        graph.add_node(name, step).add_edge(before, name)
        before = name
    return graph.compile(checkpointer=MemoryJournal() if kept else None, name="line")


def reads(note: Note) -> Note:
    return {"text": read_mail(folder="in")}


def hears(note: Note) -> Note:
    return {"text": fetch(url="x")}


def helper(note: Note) -> str:
    return browse(url=note.get("text", ""))


def speaks(note: Note) -> Note:
    return {"text": helper(note)}


def test_in_a_graph_the_way_out_must_lie_behind_the_other_two() -> None:
    assert met(line(reads, hears, speaks)) == ALL
    assert check(line(reads, hears, speaks)).meetings[0].outward.where == "line > speaks"
    assert check(line(speaks, reads, hears)).ok
    assert check(line(reads, speaks, hears)).ok


def test_what_a_thread_keeps_reaches_every_node_by_its_next_run() -> None:
    assert met(line(speaks, reads, hears, kept=True)) == ALL


def again(note: Note) -> str:
    return "speaks"


def test_a_circle_brings_them_together() -> None:
    graph = StateGraph(Note, name="circle")
    graph.add_node("speaks", speaks).add_node("reads", reads).add_node("hears", hears)
    graph.add_edge(START, "speaks").add_edge("speaks", "reads").add_edge("reads", "hears")
    graph.add_conditional_edges("hears", again, ["speaks"])
    assert met(graph) == ALL


def test_a_graph_within_a_graph() -> None:
    inner = line(reads, hears)
    graph = StateGraph(Note, name="outer").add_node("gather", inner).add_node("speaks", speaks)
    graph.add_edge(START, "gather").add_edge("gather", "speaks")
    [meeting] = check(graph.compile()).meetings
    assert meeting.private.where == "outer > gather > line > reads"
    back = StateGraph(Note, name="outer").add_node("gather", inner).add_node("speaks", speaks)
    assert check(back.add_edge(START, "speaks").add_edge("speaks", "gather").compile()).ok


async def worker(view: Any) -> None:
    view.write("found", str(await reader.ainvoke("x")) + str(await sender.ainvoke("y")))


reader, sender = agent(read_mail, fetch, name="reader"), agent(browse, name="sender")

TEAMS: dict[str, Callable[[], Any]] = {
    "supervise": lambda: supervise(Scripted(), [reader, sender]),
    "hand_off": lambda: hand_off([reader, sender]),
    "debate": lambda: debate([reader, Scripted()], sender),
    "plan": lambda: plan_and_execute(Scripted(), agent(read_mail, fetch, browse)),
    "map_reduce": lambda: map_reduce(str.split, reader, sender),
    "blackboard": lambda: blackboard({"one": worker}),
}


@pytest.mark.parametrize("team", list(TEAMS))
def test_the_members_of_a_team_pass_on_what_they_know(team: str) -> None:
    assert met(TEAMS[team]()) == ALL


def test_voters_do_not_hear_each_other() -> None:
    assert check(vote([reader, sender])).ok


def test_a_toolset_and_a_list_are_one_pair_of_hands() -> None:
    assert met(Toolset([read_mail, fetch, browse])) == ALL
    assert met([read_mail, fetch, browse]) == ALL
    assert len(holdings([read_mail, read_mail])) == 1


def test_what_cannot_be_checked_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="str is no agent"):
        check("agent")


def test_sarif_has_the_path_and_the_lines() -> None:
    log = sarif(check(agent(read_mail, fetch, browse, post)), "1")
    [run] = log["runs"]
    found = [(one["ruleId"], one["level"]) for one in run["results"]]
    assert found == [("private-external-outward", "error")] * 2 + [("opaque-effect", "note")]
    first = run["results"][0]
    steps = first["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [one["location"]["message"]["text"].split(":")[0] for one in steps] == ["read_mail", "fetch", "browse"]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("tests/agents/test_check.py")
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert "sends_out" in lines[place["region"]["startLine"] - 1]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} >= {one["ruleId"] for one in run["results"]}


def test_explain_names_what_each_tool_declares_and_what_is_opaque() -> None:
    told = agent(read_mail, fetch, post, add).explain()
    assert "  read_mail: reads private data\n" in told
    assert "  post: effect, opaque, sends out\n" in told
    assert "  add: declares nothing\n" in told
    assert "  post is opaque" in told
    assert "post (in agent > tool) sends out" in told
