"""A model in a node streams to the graph's ``messages`` mode by itself."""

from __future__ import annotations

from typing import Annotated, TypedDict

from lawful import START, StateGraph, add_messages
from lawful.core.messages import Message
from lawful.models.fake import Scripted

model = Scripted("Laws hold.", chunks=5)


class Talk(TypedDict):
    messages: Annotated[list[Message], add_messages]


def answer(talk: Talk) -> Talk:
    return {"messages": [model.invoke(talk["messages"]).message]}


graph = StateGraph(Talk).add_node(answer).add_edge(START, "answer").compile()
for piece, about in graph.stream({"messages": ["Do they?"]}, stream_mode="messages"):
    print(about["langgraph_node"], repr(piece.text))

# prints: answer 'Laws '
# prints: answer 'hold.'
