"""A client of one's own that streams into the run it is called in."""

from collections.abc import Iterator
from typing import Any

from lawful import START, MessagesState, StateGraph, push_message
from lawful.core.messages import assistant
from lawful.core.telling import model_call


def words() -> Iterator[str]:
    """Stands for a client that reads from the network."""
    yield from ("It ", "rains.")


def answer(state: MessagesState) -> dict[str, Any]:
    push_message(assistant("Looking out of the window").named("status"), state_key=None)
    said: list[str] = []
    with model_call("own:weather") as call:
        for word in words():
            call.text(word)
            said.append(word)
    return {"messages": [assistant("".join(said)).named(call.id)]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
for message, _ in graph.stream({"messages": ["How is the weather?"]}, stream_mode="messages"):
    print(repr(message.text))

# prints: 'Looking out of the window'
# prints: 'It '
# prints: 'rains.'
