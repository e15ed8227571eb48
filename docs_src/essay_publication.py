"""The dependency update's publication: lost replies, look-ups that settle nothing, and events that fold to a state."""

from __future__ import annotations

from lawful import Found, Ledger, Lookup, MemoryJournal, NotFound, effect
from lawful.core.errors import NetworkError
from lawful.effects import Seen, Unavailable
from lawful.effects.publication import Confirmed, Started, TimedOut, recover_publication, replay

pulls: list[str] = []
trouble: list[str] = []
shows: list[Seen[str]] = []


@effect("repository", "revision", capability=Lookup("eventual"))
def open_pull_request(repository: str, revision: str, title: str) -> str:
    if "cut" in trouble:
        raise NetworkError("the request was lost on its way")
    pulls.append(f"{repository}@{revision}")
    if "lose" in trouble:
        raise NetworkError("the reply was lost on its way")
    return pulls[-1]


@open_pull_request.lookup
def find_pull_request(repository: str, revision: str, title: str) -> Seen[str] | str | None:
    wanted = f"{repository}@{revision}"
    return shows[-1] if shows else (wanted if wanted in pulls else None)


def publish(revision: str) -> str:
    ledger = Ledger(MemoryJournal(), effects=[open_pull_request])
    intent = open_pull_request.plan("acme/shop", revision, "Update left-pad")
    ledger.execute_sync(intent)
    outcome = ledger.execute_sync(intent)  # asking again is never sending again
    return f"{type(outcome).__name__}, {pulls.count(f'acme/shop@{revision}')} at the forge"


if __name__ == "__main__":
    print("published:", publish("a1"))
    trouble[:] = ["lose"]
    print("reply lost:", publish("a2"))
    for look in (NotFound(), Unavailable("the forge is down")):
        shows[:] = [look]
        print(f"reply lost, {type(look).__name__}:", publish(f"a3-{type(look).__name__}"))
    trouble[:], shows[:] = ["cut"], []
    print("request lost:", publish("a4"))

    # The same, as the essay's own small functions.
    events = [Started("op-1"), TimedOut("op-1"), Confirmed("op-1", "pr-7")]
    print(replay(events).unwrap())
    print(replay([Started("op-1"), Confirmed("op-2", "pr-7")]).is_ok())
    for seen in (Found("pr-7"), NotFound(), Unavailable("down")):
        print(recover_publication("op-1", seen))

# prints: published: Succeeded, 1 at the forge
# prints: reply lost: Succeeded, 1 at the forge
# prints: reply lost, NotFound: Unknown, 1 at the forge
# prints: reply lost, Unavailable: Unknown, 1 at the forge
# prints: request lost: Unknown, 0 at the forge
# prints: Complete(op='op-1', pull_request='pr-7')
# prints: False
# prints: Resolved(pull_request='pr-7')
# prints: NeedsReconciliation(op='op-1')
# prints: NeedsReconciliation(op='op-1')
