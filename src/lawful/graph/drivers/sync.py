"""Drive the machine in the caller's thread: one task inline, several in lent threads; every commit before what follows it."""

from __future__ import annotations

import heapq
from _queue import Empty, SimpleQueue
from collections import deque
from collections.abc import Generator, Sequence
from contextvars import copy_context
from typing import Any

from lawful.graph import orders as o
from lawful.graph.attempt import attempt
from lawful.graph.drivers.recalling import recall, remember
from lawful.graph.drivers.shared import POLL, WORKERS, Deal, Driver
from lawful.graph.drivers.threads import Pool
from lawful.graph.machine import Machine
from lawful.graph.step_task import CANCELLED, PENDING, Task


class SyncDriver(Driver):
    """Exactly one pump owns the machine: the caller's thread. All others post to its inbox."""

    __slots__ = ("_clock", "_context", "flying", "helps", "inbox", "pool", "quiet", "timers", "woken")

    def __init__(
        self,
        machine: Machine,
        deal: Deal | None,
        chunks: deque[Any],
        *,
        live: bool = False,
        limit: int | None = None,
        step_timeout: float | None = None,
    ) -> None:
        super().__init__(machine, deal, chunks, live=live, limit=limit, step_timeout=step_timeout)
        self.inbox: SimpleQueue[Any] = SimpleQueue()
        self.flying: set[Task] = set()
        self.pool: Pool | None = None
        self.timers: list[tuple[float, int, Task]] = []
        self.helps = machine.recorder is None and machine.listener is None and not self.timed
        """Whether the pump itself may take tasks of a wide step."""
        self.quiet = self.helps and self.control is None
        """Whether nothing has to be done between two steps: no journal, nobody who listens, no time to be kept, no drain."""
        self.woken = False
        """Whether the inbox holds a None that says: look at the chunks."""
        self._clock = machine.run.clock
        self._context: Any = None

    def run(self, orders: Sequence[o.Order]) -> o.Outcome:
        """Carry out the first orders and all that follow, to the end."""
        try:
            self.carry(orders)
            while self.outcome is None:
                self.turn()
            return self.outcome
        finally:
            for task in self.flying:  # only after an interruption of the pump itself
                task.closed = True
            self.pool = None  # it knows this driver: what is over is let go at once, not by the collector of cycles

    def stream(self, orders: Sequence[o.Order]) -> Generator[Any, None, None]:
        """The same, giving chunks as they come; the outcome is in ``outcome`` at the end."""
        chunks = self.chunks
        try:
            self.carry(orders)
            while True:
                while chunks:
                    yield chunks.popleft()
                if self.outcome is not None:
                    return
                self.turn()
        finally:
            chunks.clear()  # nobody takes them any more, and nobody need wait for room
            if self.outcome is None:
                self._abandon(GeneratorExit("the stream was closed"))
            self.pool = None

    def turn(self) -> None:
        """Feed what has come, waiting for it if need be."""
        self._look()
        advance, local = self.feed, self.local
        event = None
        if not local or (self.machine.committing and not self.inbox.empty()):
            event = self._wait()
        while True:
            if event is None:
                if not local or self.outcome is not None or self.chunks:
                    return
                event = local.popleft()
            orders = advance(event)
            event = None
            if orders:
                self.carry(orders)
            if self.watchful:
                return

    def _look(self) -> None:
        """Notice a step that is overdue and a request to stop."""
        if self.step_deadline is not None and (late := self.overdue()) is not None:
            self.local.append(late)
        if self.deal is not None and (stop := self.deal.asked_to_stop()) is not None:
            self.local.append(o.Cancelled(stop))

    def _wait(self) -> Any:
        """The next event from outside, or None: something was streamed, or it is time to look around."""
        if self.helps and self.pool is not None:
            # Without a journal nothing waits for the pump, so it takes tasks like any worker.
            while (task := self.pool.take()) is not None:
                self._context.copy().run(attempt, task, None)
                self.flying.discard(task)
                self.local.append(o.TaskEnded(task))
                if not self.inbox.empty():
                    break
            if self.local:
                return None
        try:
            item = self._heard()
        except Empty:
            return self._due()
        if item is None:
            self.woken = False
        elif type(item) is o.TaskEnded:
            if item.task not in self.flying:
                return None  # abandoned: what a stopped task does later is not recorded
            self.flying.discard(item.task)
        return item

    def _heard(self) -> Any:
        """What comes next into the inbox; None where something is streamed already. Raises: Empty, when it is time."""
        outbox = self.outbox
        if outbox is None:
            return self.inbox.get(timeout=self._patience())
        if not outbox.await_one():
            return None
        try:
            return self.inbox.get(timeout=self._patience())
        finally:
            outbox.awaited = False

    def _patience(self) -> float | None:
        until = [self.timers[0][0]] if self.timers else []
        if self.step_deadline is not None:
            until.append(self.step_deadline)
        if self.deal is not None and self.deal.owns_lease:
            until.append(self._clock.monotonic() + POLL)
        return max(0.0, min(until) - self._clock.monotonic()) if until else None

    def _due(self) -> Any:
        if self.timers and self.timers[0][0] <= self._clock.monotonic():
            return o.TimerFired(heapq.heappop(self.timers)[2])
        return None

    def carry(self, orders: Sequence[o.Order]) -> None:
        """Carry out orders; what they cause at once waits in ``local``."""
        for order in orders:
            kind = type(order)
            if kind is o.Start:
                self._start(order.tasks)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]
            elif kind is o.Finish:
                self.outcome = order.outcome  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            else:
                self._carry_other(order)

    def _carry_other(self, order: o.Order) -> None:
        match order:
            case o.Commit():
                self._commit(order)
            case o.Finish(outcome):
                self.outcome = outcome
            case o.Sleep(task, seconds):
                heapq.heappush(self.timers, (self._clock.monotonic() + seconds, id(task), task))
            case o.Cancel(tasks):
                self._cancel(tasks)
            case o.Recall(tasks):
                self.local.append(recall(tasks, self.machine.run.cache, self.machine.recorder))
            case o.Remember(task, key):
                remember(task, key, self.machine.run.cache)
            case o.Alarm():
                pass  # only async nodes have limits, and those run under the other driver
            case o.Start(tasks):
                self._start(tasks)

    def _start(self, tasks: Sequence[Task]) -> None:
        self.arm()
        recorder = self.machine.recorder
        alone = len(tasks) == 1 and not self.flying and not self.live and not self.timed
        if alone:
            task = tasks[0]
            if not task.task_node.is_async:
                attempt(task, recorder)
                if self.quiet:
                    self._straight(o.TaskEnded(task))
                else:
                    self.local.append(o.TaskEnded(task))
                return
        if self.pool is None:
            self._context = copy_context()
            self.pool = Pool(self._work, (self.limit or WORKERS) - self.helps)
        self.flying.update(tasks)
        self.pool.give(tasks)

    def _straight(self, event: o.TaskEnded) -> None:
        """Step after step of one sync task each, as long as nothing else is to be done between them."""
        advance = self.machine.advance
        while True:
            orders = advance(event)
            first = orders[0] if len(orders) == 1 else None
            if type(first) is not o.Start or len(first.tasks) != 1 or first.tasks[0].task_node.is_async:
                self.carry(orders)
                return
            task = first.tasks[0]
            attempt(task, None)
            event = o.TaskEnded(task)

    def _work(self, task: Task) -> None:
        """One task in a lent thread."""
        self._context.copy().run(attempt, task, self.machine.recorder)
        self.inbox.put(o.TaskEnded(task))

    def wake(self) -> None:
        """Something was streamed from another thread."""
        if not self.woken:
            self.woken = True
            self.inbox.put(None)

    def _commit(self, order: o.Commit) -> None:
        deal = self.deal
        assert deal is not None
        batch = deal.batch(order)
        if self.flying or (order.background and deal.journal.blocking):
            deal.journal.submit(batch, self._committed)
            return
        try:
            deal.journal.commit(batch)
        except BaseException as error:  # noqa: BLE001 - the seam: whatever a journal raises, nothing was written
            self.local.append(o.CommitRefused(error))
        else:
            self.local.append(o.Committed())

    def _committed(self, error: BaseException | None) -> None:
        self.inbox.put(o.Committed() if error is None else o.CommitRefused(error))

    def _cancel(self, tasks: Sequence[Task]) -> None:
        """Threads cannot be stopped: what has begun runs to its end, unless the run itself was cancelled."""
        wanted = set(tasks)
        stopped = self.pool.drop(tasks) if self.pool is not None else []
        if self.machine.cancelled is not None:
            stopped = [t for t in tasks if t in self.flying]
        for task in stopped:
            task.closed = True
            task.status = CANCELLED
            self.flying.discard(task)
            self.local.append(o.TaskEnded(task))
        sleeping = [t for t in self.timers if t[2] in wanted or t[2].status != PENDING]
        self.timers = [t for t in self.timers if t not in sleeping]
        heapq.heapify(self.timers)
        for _, _, task in sleeping:
            self.local.append(o.TimerFired(task))

    def _abandon(self, why: BaseException) -> None:
        """The consumer has left: stop as soon as can be, keeping what is finished."""
        self.carry(self.machine.advance(o.Cancelled(why)))
        while self.outcome is None:
            self.chunks.clear()  # nobody takes them any more
            self.turn()
