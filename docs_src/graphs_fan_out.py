"""One node sends a task for each word; the results are merged in the order of the Sends, not of their ends."""

from __future__ import annotations

from typing import Annotated, TypedDict

from lawful import START, Send, StateGraph, append


class Text(TypedDict, total=False):
    text: str
    lengths: Annotated[list[int], append]


def each_word(text: Text) -> list[Send]:
    return [Send("measure", word) for word in text.get("text", "").split()]


def measure(word: str) -> Text:
    return {"lengths": [len(word)]}


graph = StateGraph(Text).add_node(measure).add_conditional_edges(START, each_word, ["measure"]).compile()
print(graph.invoke({"text": "merge in a fixed order"})["lengths"])

# prints: [5, 2, 1, 5, 5]
