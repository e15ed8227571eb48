"""What several processes do to one journal, whichever store it is: they step threads on, are killed, fork, and let go."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from lawful.journal.port import Journal
from lawful.journal.records import Batch, PutCheckpoint
from lawful.testing.conformance_kit import Ids, checkpoint, fold, grow, later, put
from support.forks import Line, ended, fork, kill


def step_on(journal: Journal, thread: str, *, durable: bool = False) -> int:
    """Add the next checkpoint, with a snapshot every five; its step, once the commit is acknowledged."""
    chain = journal.chain(thread)
    tip = chain.tip if chain else None
    step = tip.step + 1 if tip else 0
    delta = f"<{step}>".encode()
    row = checkpoint(
        later(tip.id if tip else None),
        tip.id if tip else None,
        step=step,
        delta=delta,
        snapshot=(fold(chain) if chain else b"") + delta if step % 5 == 0 else None,
    )
    journal.commit(Batch(thread, (PutCheckpoint(row, tip.id if tip else None),), durable=durable))
    return step


def reached(journal: Journal, thread: str) -> int:
    """The newest step, whose state is checked."""
    chain = journal.chain(thread)
    if chain is None:
        return -1
    assert fold(chain) == b"".join(b"<%d>" % n for n in range(chain.tip.step + 1))
    return chain.tip.step


def killed_while_stepping(opened: Callable[[], Journal], *, kills: int, within: float) -> None:
    """Kill the writer of one thread, over and over, within so many seconds; check what it had acknowledged."""
    chance = random.Random(7)
    opened().close()
    for _ in range(kills):
        line = Line()

        def work(line: Line = line) -> None:
            journal = opened()
            while True:
                line.tell(step_on(journal, "t", durable=chance.random() < 0.2))

        child = fork(work)
        first = line.listen()
        time.sleep(chance.random() * within)
        kill(child)
        acknowledged = (line.rest() or [first])[-1]
        journal = opened()
        assert reached(journal, "t") in (acknowledged, acknowledged + 1)
        assert step_on(journal, "t") > acknowledged
        journal.close()


def warm_parent_and_children(journal: Journal, children: int) -> None:
    """Fork a process that has used the journal, and write on both sides, also by the queue."""
    grow(journal, "t", 5)
    for n in range(children):

        def work(n: int = n) -> None:
            assert len(journal.history("t")) in (5 + n, 6 + n)  # the parent may have gone on
            step_on(journal, f"child{n}")
            heard: list[BaseException | None] = []
            journal.submit(Batch(f"queued{n}", (PutCheckpoint(checkpoint(Ids()())),)), heard.append)
            while not heard:
                time.sleep(0.001)
            assert heard == [None]
            if n % 2:
                journal.close()

        child = fork(work)
        tip = journal.history("t")[0]
        put(journal, "t", checkpoint(later(tip.id), tip.id, delta=b"<x>"))
        assert ended(child) == 0
        assert reached(journal, f"child{n}") == 0
        assert len(journal.history(f"queued{n}")) == 1
    assert len(journal.history("t")) == 5 + children


def forks_while_a_thread_commits(journal: Journal, children: int) -> None:
    """Fork beside a thread that commits all the while."""
    stop = threading.Event()
    wrote: list[int] = []

    def busy() -> None:
        while not stop.is_set():
            wrote.append(step_on(journal, "busy"))

    writer = threading.Thread(target=busy)
    writer.start()
    forked: list[int] = []
    for n in range(children):
        forked.append(fork(lambda n=n: step_on(journal, f"child{n}")))
        time.sleep(0.007)
    codes = [ended(child) for child in forked]
    stop.set()
    writer.join(20)
    assert codes == [0] * children
    assert reached(journal, "busy") == wrote[-1]
    assert [reached(journal, f"child{n}") for n in range(children)] == [0] * children


def child_that_outlives_the_parents_handle(opened: Callable[[], Journal]) -> None:
    """The parent closes its handle, opens another and closes that too, while its child still writes."""
    journal = opened()
    grow(journal, "t", 2)
    ready, go = Line(), Line()

    def work() -> None:
        step_on(journal, "early")
        ready.tell(1)
        go.listen()
        for _ in range(5):
            step_on(journal, "late")

    child = fork(work)
    ready.listen()
    step_on(journal, "parent")
    journal.close()
    again = opened()
    step_on(again, "parent")
    again.close()
    go.tell(1)
    assert ended(child) == 0
    again = opened()
    assert [reached(again, thread) for thread in ("early", "late", "parent")] == [0, 4, 1]
    again.close()
