"""A secret is used by a node and refused by what would keep it."""

from typing import Annotated, Any, TypedDict

from lawful import START, MemoryJournal, Runtime, Secret, StateGraph, untracked
from lawful.core.errors import ValidationError


class State(TypedDict, total=False):
    said: str
    client: Annotated[Any, untracked()]


def connect(state: State, runtime: Runtime[dict[str, Secret]]) -> State:
    key = runtime.context["key"]
    print("connecting with", key)
    return {"client": {"key": key}}


def careless(state: State, runtime: Runtime[dict[str, Secret]]) -> State:
    return {"said": "my key is " + runtime.context["key"].reveal()}


builder = StateGraph(State).add_node(connect).add_node(careless)
graph = builder.add_edge(START, "connect").add_edge("connect", "careless").compile(checkpointer=MemoryJournal())
try:
    graph.invoke({"said": ""}, thread="t", context={"key": Secret("a-providers-key")})
except ValidationError as error:
    print(error.message)
# prints: connecting with ***
# prints: node 'careless', key 'said' cannot be stored: it holds the text of a Secret
