"""A daily limit for each customer and two people's approval, read in the transaction that claims the refund."""

from __future__ import annotations

from lawful import Ledger, MemoryJournal, Natural, Principal, effect
from lawful.effects import Limit, Policy, RequireApproval, days, spent

refunds = Policy(
    "refunds",
    (
        Limit(spent(by="customer", window=days(1)), at_most=10_000),
        RequireApproval("finance", count=2, exclude_requester=True),
    ),
)


@effect("charge", capability=Natural(), policy=refunds, labels=["customer"], amount="cents")
def refund(charge: str, customer: str, cents: int) -> str:
    return f"refunded {charge}"


ann, bob, cat = (Principal(name, ("finance",)) for name in ("ann", "bob", "cat"))
ledger = Ledger(MemoryJournal(), effects=[refund])
for charge, cents in (("ch_1", 7_000), ("ch_2", 4_000)):
    intent = refund.plan(charge, "customer-9", cents)
    ledger.plan(intent, requester=ann)
    for question in ledger.questions(role="finance"):
        for person in (bob, cat):
            ledger.answer(question, True, by=person)
    outcome = ledger.execute_sync(intent)
    print(type(outcome).__name__, getattr(outcome, "reason", "sent"))

# prints: Succeeded sent
# prints: Denied 7000 + 4000 is above 10000 (sum of amount within 86400 s by customer)
