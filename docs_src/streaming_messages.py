"""A model's answer as it comes, out of the node that asked it."""

from typing import Any

from lawful import START, MessagesState, StateGraph
from lawful.models.fake import Scripted

model = Scripted("Three oxen pull a cart.", chunks=9)


def answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [model.invoke(state["messages"]).message]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
for message, told in graph.stream({"messages": ["Tell me of oxen"]}, stream_mode="messages"):
    print(told["langgraph_node"], repr(message.text))

# prints: answer 'Three oxe'
# prints: answer 'n pull a '
# prints: answer 'cart.'
