"""A graph of one's own with LangGraph's prebuilt nodes, ported by its imports."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool

from lawful.graph import START, StateGraph
from lawful.graph.message import add_messages
from lawful.prebuilt import InjectedState, ToolNode, tools_condition
from lawful.types import Command


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    customer: str
    basket: str


@tool
def price(item: str) -> str:
    """What an item costs."""
    return f"{item} costs 12 EUR"


@tool
def put(
    item: str,
    customer: Annotated[str, InjectedState("customer")],
    tool_call_id: Annotated[str, InjectedToolCallId],
) -> Command[Any]:
    """Put an item into the basket."""
    said = ToolMessage(f"{item} is in the basket of {customer}", tool_call_id=tool_call_id)
    return Command(update={"basket": item, "messages": [said]})


calls: list[Any] = [
    {"name": "price", "args": {"item": "tea"}, "id": "1", "type": "tool_call"},
    {"name": "put", "args": {"item": "tea"}, "id": "2", "type": "tool_call"},
    {"name": "prize", "args": {}, "id": "3", "type": "tool_call"},
]
model = GenericFakeChatModel(messages=iter([AIMessage("", tool_calls=calls), AIMessage("Done.")]))


def agent(state: State) -> dict[str, Any]:
    return {"messages": [model.invoke(state["messages"])]}


builder = StateGraph(State)
builder.add_node("agent", agent)
builder.add_node("tools", ToolNode([price, put]))
builder.add_edge(START, "agent")
builder.add_conditional_edges("agent", tools_condition)
builder.add_edge("tools", "agent")

end: Any = builder.compile().invoke({"messages": [("user", "Tea, please.")], "customer": "Ann"})
for message in end["messages"][2:]:
    print(message.content)
print(end["basket"])

# prints: tea costs 12 EUR
# prints: tea is in the basket of Ann
# prints: There is no tool 'prize'. Did you mean 'price'? Tools: price, put.
# prints: Done.
# prints: tea
