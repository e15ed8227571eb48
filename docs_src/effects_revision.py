"""An effect that reads its target's present revision: what has moved on since the approval is not sent."""

from lawful import Ledger, MemoryJournal, Natural, effect
from lawful.effects import HERE, EffectContext, RevisionMoved

branch = {"tip": "a1b2"}


@effect("revision", revision="revision", capability=Natural())
def release(revision: str, ctx: EffectContext = HERE) -> str:
    ctx.before_send()
    return (
        f"released {ctx.revision}"  # a provider that takes conditions is given it: If-Match, a lease on the old value
    )


@release.current_revision
def tip(revision: str) -> str | None:
    return branch["tip"]


ledger = Ledger(MemoryJournal())
print(ledger.execute_sync(release.plan("a1b2")))
branch["tip"] = "c3d4"
match ledger.execute_sync(release.plan("e5f6")):
    case RevisionMoved(_, approved, present):
        print(f"approved at {approved}, now at {present}: nothing was sent")
    case other:
        print(other)

# prints: Succeeded(receipt='released a1b2', op_id='release:a1b2', recorded=False)
# prints: approved at e5f6, now at c3d4: nothing was sent
