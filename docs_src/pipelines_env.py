"""The environment of a program is a value that its caller passes; a step says which it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from lawful import Err
from lawful.pipeline import Run, run_sync, step


class HasCatalogue(Protocol):
    catalogue: dict[str, int]


@dataclass
class Shop:
    catalogue: dict[str, int]
    currency: str = "EUR"


@step
def price(name: str, run: Run[HasCatalogue]) -> int:
    return run.env.catalogue[name]


@step
async def label(cents: int, run: Run[Shop]) -> str:
    await run.write({"priced": cents})
    return f"{cents / 100:.2f} {run.env.currency}"


shown = price >> label
print(run_sync(shown, "tea", env=Shop({"tea": 250})).unwrap())
end = run_sync(shown, "tea")
if isinstance(end, Err):
    print(end.error.message)
# prints: 2.50 EUR
# prints: step 'price' needs an environment of HasCatalogue: none: run(..., env=...) has no 'catalogue'.
