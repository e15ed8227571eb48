"""A payment of one's own, killed at every write of its journal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from lawful import START, Effect, Found, Lookup, NotFound, StateGraph
from lawful.effects import EffectContext, Seen
from lawful.testing import crash_everywhere
from lawful.testing.crash import Life, run_to_end


@dataclass(frozen=True)
class Pay:
    order: str
    cents: int


class Payment(Effect[Pay, str]):
    capability = Lookup("strong", max_in_flight=0.0)

    def __init__(self, bank: Path) -> None:
        self.bank = bank

    def key(self, command: Pay) -> str:
        return command.order

    async def perform(self, command: Pay, ctx: EffectContext) -> str:
        ctx.before_send()
        with self.bank.open("a") as bank:
            bank.write(f"{command.order}\n")
        return f"paid {command.order}"

    async def lookup(self, command: Pay, ctx: EffectContext) -> Seen[str]:
        return Found(f"paid {command.order}") if command.order in paid(self.bank.parent) else NotFound()


class Order(TypedDict):
    number: str
    receipt: str


def paid(folder: Path) -> Counter[str]:
    """How often each order was paid, as the bank has it."""
    bank = folder / "bank.txt"
    return Counter(bank.read_text().split() if bank.exists() else [])


def program(life: Life) -> object:
    """Begins, or goes on: each process of a case is given the same journal and folder."""
    payment = Payment(life.folder / "bank.txt")

    async def pay(order: Order) -> dict[str, str]:
        return {"receipt": await payment(Pay(order["number"], 500))}

    graph = StateGraph(Order).add_node(pay).add_edge(START, "pay").compile(checkpointer=life.journal)
    return run_to_end(graph, {"number": "7"})


if __name__ == "__main__":
    print(crash_everywhere(program, effects=paid, places=("after",)))

# prints: 6 crash points, 0 duplicates, 0 lost, 1 to a person
