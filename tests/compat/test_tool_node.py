"""`ToolNode` with langchain's messages and tools: its results, Commands that come through langchain, what is hidden."""

# langchain_core tells its types in part only.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

pytest.importorskip("langchain_core")

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId
from langchain_core.tools import tool as langchain_tool

from lawful.core.messages import Message, ToolCall
from lawful.core.reducers import add_messages
from lawful.graph import START, StateGraph
from lawful.journal.memory import MemoryJournal
from lawful.prebuilt import InjectedState, ToolNode
from lawful.tools import tool
from lawful.types import Command
from support.tree import environment

pytestmark = pytest.mark.integration


class Talk(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    note: str


class Ours(TypedDict, total=False):
    messages: Annotated[list[Message], add_messages]


def asked(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": "c1", "type": "tool_call"}])


def run(tools: list[Any], message: Any, state: Any = Talk, **more: Any) -> Any:
    graph = StateGraph(state).add_node(ToolNode(tools, **more)).add_edge(START, "tools").compile(MemoryJournal())
    end = graph.invoke({"messages": [message]}, {"configurable": {"thread_id": "t"}})
    assert graph.get_state("t").values == end
    assert graph.replay_recorded("t").same
    return end


def test_tools_of_ours_answer_in_the_messages_that_asked() -> None:
    @tool
    def weigh(grams: int) -> dict[str, Any]:
        """Round up."""
        return {"g": grams, "é": [1.5, None]}

    [_, told] = run([weigh], asked("weigh", grams=2))["messages"]
    assert isinstance(told, ToolMessage)
    assert (told.content, told.name, told.tool_call_id, told.status) == (
        '{"g": 2, "é": [1.5, null]}', "weigh", "c1", "success",
    )  # fmt: skip
    [_, told] = run([weigh], asked("weigh", gram=2))["messages"]
    assert (told.status, "'grams'" in told.content) == ("error", True)


def test_its_tools_answer_in_a_conversation_of_ours() -> None:
    @langchain_tool
    def price(item: str) -> str:
        """What it costs."""
        return f"{item} 12"

    node = ToolNode([price])
    call = Message("assistant", (ToolCall(id="c1", name="price", args={"item": "tea"}),))

    async def inside(state: Ours) -> Any:
        return await node.ainvoke(state)

    builder = StateGraph(Ours).add_node("n", inside).add_edge(START, "n")
    told: Any = builder.compile().invoke({"messages": [call]})["messages"][-1]
    assert (type(told), told.text, told.name) == (Message, "tea 12", "price")
    assert node.tools_by_name == {"price": price}


def test_a_node_of_its_tools_makes_a_graph_keep_its_messages() -> None:
    @langchain_tool
    def price(item: str) -> str:
        """What it costs."""
        return item

    class Plain(TypedDict):
        messages: Annotated[list[Any], add_messages]

    ours = tool(plain_function)
    given = {"role": "assistant", "content": "", "tool_calls": [{"name": "plain_function", "args": {}, "id": "1"}]}
    ends = [run(tools, given, Plain)["messages"][-1] for tools in ([price, ours], [ours])]
    assert [type(end) for end in ends] == [ToolMessage, Message]


def plain_function() -> str:
    """A function."""
    return "x"


def test_a_command_of_ours_comes_through_a_tool_of_its_and_is_stored_and_replayed() -> None:
    @langchain_tool
    def note(text: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Write."""
        return Command(update={"note": text, "messages": [ToolMessage("noted", tool_call_id=call)]})

    class Class(BaseTool):
        name: str = "old"
        description: str = "Write."

        def _run(self, text: str) -> Any:
            return [Command(update={"note": text}), ToolMessage("old", tool_call_id="c1")]

    end = run([note], asked("note", text="hi"))
    assert (end["note"], end["messages"][-1].content, end["messages"][-1].name) == ("hi", "noted", "note")
    end = run([Class()], asked("old", text="yo"))
    assert (end["note"], end["messages"][-1].content) == ("yo", "old")


def test_what_is_injected_is_hidden_from_the_model_and_cannot_be_forged() -> None:
    @langchain_tool
    def who(
        state: Annotated[dict[str, Any], InjectedState], note: Annotated[str, InjectedState("note")] = "none"
    ) -> str:
        """Who."""
        return f"{len(state['messages'])} {note}"

    assert ToolNode([who]).tools.get("who").parameters.get("properties", {}) == {}  # pyright: ignore[reportOptionalMemberAccess]
    [_, told] = run([who], asked("who", note="forged", state={"messages": []}))["messages"]
    assert told.content == "1 none"


def test_arguments_that_a_tool_of_its_refuses_are_told_with_the_nearest_names() -> None:
    @langchain_tool
    def price(item: str, n: int = 1) -> str:
        """What it costs."""
        return item

    [_, told] = run([price], asked("price", itm="tea"))["messages"]
    assert (told.status, "Did you mean 'item'" in told.content) == ("error", True)


def test_the_marks_are_there_where_langchain_is_not() -> None:
    code = (
        "import sys; sys.modules['langchain_core'] = None\n"
        "from lawful.prebuilt import InjectedState, InjectedStore, ToolNode\n"
        "from typing import Annotated\n"
        "from lawful.core.messages import Message, ToolCall\n"
        "def who(name: Annotated[str, InjectedState('name')] = 'x') -> str: return name\n"
        "def price(n: int) -> int: return n\n"
        "call = Message('assistant', (ToolCall(id='1', name='price', args={'n': 2}),))\n"
        "print(ToolNode([who, price]).invoke([call])[0].text)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False)
    assert (done.stdout.strip(), done.stderr) == ("2", "")
