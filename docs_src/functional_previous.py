"""What a thread's last run saved is handed to the next one."""

from __future__ import annotations

from lawful import MemoryJournal, entrypoint


@entrypoint(checkpointer=MemoryJournal())
def tally(amount: int, *, previous: int | None = None) -> entrypoint.final[str, int]:
    total = amount + (previous or 0)
    return entrypoint.final(value=f"{amount} more", save=total)


print(tally.invoke(2, thread="t"))
print(tally.invoke(3, thread="t"))
tally.update_state("t", entrypoint.final(value="set by hand", save=100))
print(tally.get_state("t").values, tally.invoke(4, thread="t"))

# prints: 2 more
# prints: 3 more
# prints: set by hand 4 more
