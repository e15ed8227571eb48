"""What a run notes in a store, any later run of any thread can find."""

from __future__ import annotations

from typing import TypedDict

from lawful import START, StateGraph
from lawful.stores.sqlite_store import SQLiteStore
from lawful.stores.store_port import Store


class Said(TypedDict):
    user: str
    said: str


class Talk(Said, total=False):
    known: list[str]


def note(talk: Talk, store: Store) -> dict[str, list[str]]:
    mine = ("users", talk["user"], "notes")
    known = [item.value["text"] for item in store.search(mine, filter={"kind": "wish"})]
    store.put(mine, talk["said"], {"kind": "wish", "text": talk["said"]})
    return {"known": known}


store = SQLiteStore("notes.db")
graph = StateGraph(Talk).add_node(note).add_edge(START, "note").compile(store=store)
print(graph.invoke({"user": "ann", "said": "window seat"})["known"])
print(graph.invoke({"user": "ann", "said": "no nuts"})["known"])
print(graph.invoke({"user": "annabel", "said": "late check-in"})["known"])
print(store.list_namespaces(prefix=("users",), max_depth=2))

# prints: []
# prints: ['window seat']
# prints: []
# prints: [('users', 'ann'), ('users', 'annabel')]
