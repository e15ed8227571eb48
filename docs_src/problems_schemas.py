"""Shapes are classes: what does not fit is refused by the checker, or by `check` for those without one, and at the edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from lawful import Err
from lawful.pipeline import Pipeline, check, pure, run_sync
from lawful.pipeline.parsers import structured


@dataclass(frozen=True)
class Order:
    sku: str
    count: int


def total(order: Order) -> int:
    return order.count * 3


def label(text: str) -> str:
    return text.upper()


price = structured(Order) >> pure(total)
print(run_sync(price, '{"sku": "a1", "count": 2}').unwrap())
end = run_sync(price, '{"sku": "a1", "cuont": 2}')
if isinstance(end, Err):
    print(end.error.message)

untyped = cast("Pipeline[Any, Any]", pure(label))  # a program that no type checker has read
for wrong in check(pure(total) >> untyped):
    print(wrong)
# prints: 6
# prints: structured Order: count: Field required
# prints: label takes str, but total gives int
