"""A channel of one's own, and one key made of several channels."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from lawful import START, BinaryOperatorAggregate, LastValue, StateGraph, compose
from lawful.channels import Channel


class Latest(Channel):
    """The last two writes: it holds nothing, what is stored is handed in and handed back."""

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        return [*(stored or ()), *writes][-2:]

    def accepts(self, typ: Any) -> Any:
        return str  # one write is a str, though the value is a list


class Order(TypedDict, total=False):
    seen: Annotated[list[str], Latest]
    bill: Annotated[dict[str, Any], compose(cents=BinaryOperatorAggregate(int, operator.add), payer=LastValue(str))]


def tea(order: Order) -> Any:
    return {"seen": "tea", "bill": {"cents": 200, "payer": "Ada"}}


def cake(order: Order) -> Any:
    return {"seen": "cake", "bill": {"cents": 300}}


shop = StateGraph(Order).add_node(tea).add_node(cake).add_edge(START, "tea").add_edge(START, "cake").compile()
print(shop.invoke({"seen": "menu"}))

# prints: {'seen': ['cake', 'tea'], 'bill': {'cents': 500, 'payer': 'Ada'}}
