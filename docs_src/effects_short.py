"""The short form: a function whose named arguments are the key, and a second one that looks."""

from __future__ import annotations

from lawful import Ledger, Lookup, MemoryJournal, effect

bank: dict[str, int] = {}


@effect("charge", capability=Lookup("strong"))
def refund(charge: str, cents: int) -> str:
    """Refund a charge."""
    bank[charge] = bank.get(charge, 0) + cents
    return f"refund of {charge}"


@refund.lookup
def find_refund(charge: str, cents: int) -> str | None:
    return f"refund of {charge}" if charge in bank else None


ledger = Ledger(MemoryJournal(), effects=[refund])
for _ in range(2):
    outcome = ledger.execute_sync(refund.plan("ch_1", 500))
    print(type(outcome).__name__, bank)

# prints: Succeeded {'ch_1': 500}
# prints: Succeeded {'ch_1': 500}
