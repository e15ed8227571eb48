"""A program with a langchain model, whose lines are LangGraph's but for the names of the packages."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from lawful.checkpoint.memory import InMemorySaver
from lawful.graph import END, START, StateGraph
from lawful.graph.message import add_messages

model = GenericFakeChatModel(messages=iter([AIMessage("Tea costs 12 EUR.")]))


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]


def agent(state: State) -> dict[str, Any]:
    return {"messages": [model.invoke(state["messages"])]}


builder = StateGraph(State)
builder.add_node("agent", agent)
builder.add_edge(START, "agent")
builder.add_edge("agent", END)
graph = builder.compile(checkpointer=InMemorySaver())

config = {"configurable": {"thread_id": "1"}}
end: Any = graph.invoke({"messages": [{"role": "user", "content": "What is tea?"}]}, config)
print([type(message).__name__ for message in end["messages"]])
print(end["messages"][-1].content)
# prints: ['HumanMessage', 'AIMessage']
# prints: Tea costs 12 EUR.
