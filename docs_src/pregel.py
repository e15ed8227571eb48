"""A graph of channels: who subscribes to one runs when it was written."""

from __future__ import annotations

import operator

from lawful import BinaryOperatorAggregate, EphemeralValue, NodeBuilder, Pregel, Topic


def split(text: str) -> list[str]:
    return text.split()


def count(words: list[str]) -> int:
    return len(words)


graph = Pregel(
    nodes={
        "split": NodeBuilder().subscribe_only("text").do(split).write_to("words", "all"),
        "count": NodeBuilder().subscribe_only("words").do(count).write_to("total"),
    },
    channels={
        "text": EphemeralValue(str),
        "words": EphemeralValue(list[str]),
        "all": Topic(str, accumulate=True),
        "total": BinaryOperatorAggregate(int, operator.add),
    },
    input_channels="text",
    output_channels=["all", "total"],
)
print(graph.invoke("who hears runs"))

# prints: {'all': ['who', 'hears', 'runs'], 'total': 3}
