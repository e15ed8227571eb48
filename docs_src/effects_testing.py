"""A provider that loses its reply, and the proof that nothing was done twice."""

from __future__ import annotations

from lawful import Ledger, MemoryJournal
from lawful.testing import FakeCommand, FakeProvider, assert_effects

provider = FakeProvider(lookup="strong", lose_reply=1)
pay = provider.effect("pay")
ledger = Ledger(MemoryJournal(), effects=[pay])
print(ledger.execute_sync(pay.plan(FakeCommand("order-1", "paid"))))
assert_effects(provider, {"order-1": 1})
print([type(event).__name__ for event in ledger.events("pay:order-1")])

# prints: Succeeded(receipt='paid', op_id='pay:order-1', recorded=True)
# prints: ['Planned', 'Authorized', 'Claimed', 'OutcomeLost', 'LookupNoted', 'Confirmed']
