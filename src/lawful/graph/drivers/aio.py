"""Drive the machine in asyncio: one node awaited on the pump itself, several as tasks, sync nodes in lent threads."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextvars import copy_context
from typing import Any

from lawful.graph import orders as o
from lawful.graph.attempt import attempt, attempt_async
from lawful.graph.drivers.mailbox import Listening
from lawful.graph.drivers.pacing import held_back
from lawful.graph.drivers.recalling import recall, remember, remember_beside, waits
from lawful.graph.drivers.shared import POLL, WORKERS, Deal
from lawful.graph.drivers.stepping import Stepper
from lawful.graph.drivers.threads import Pool, lend
from lawful.graph.machine import Machine
from lawful.graph.outbox import Outbox
from lawful.graph.step_task import CANCELLED, Task
from lawful.graph.timing import limit_of


class AsyncDriver(Listening):
    """One coroutine owns the machine; tasks, threads and the journal post to its inbox."""

    __slots__ = (
        "_context", "alarms", "broken", "cancelling", "flying", "keeping", "pace", "pool", "queued", "quiet", "sleeping",
        "stepper",
    )  # fmt: skip

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
        me = asyncio.current_task()
        self.cancelling = me.cancelling() if me is not None else 0
        """How many cancellations our own asyncio task had been asked for before this run."""
        self.flying: dict[Task, asyncio.Task[None] | None] = {}
        """Tasks under way; None for those in a thread."""
        self.queued: deque[Task] = deque()
        """Tasks that max_concurrency keeps waiting."""
        self.sleeping: dict[Task, asyncio.TimerHandle] = {}
        self.alarms: dict[Task, asyncio.TimerHandle] = {}
        """When to look whether a running task is past a limit."""
        self.keeping: list[asyncio.Future[None]] = []
        """Results on their way into the cache; the run's end waits for them."""
        self.pool: Pool | None = None
        self.pace: Outbox | None = None
        """The stream's buffer that nodes are held back by, where chunks arise while they run."""
        self._context: Any = None
        self.stepper: Stepper | None = None
        self.broken: BaseException | None = None
        """What the running of a task raised, other than its node."""
        self.quiet = not (machine.recorder or machine.listener or self.timed or self.control or live)
        """Whether nothing has to be done between two steps: no journal, nobody who listens, no time to be kept, no drain."""

    async def run(self, orders: Sequence[o.Order]) -> o.Outcome:
        """Carry out the first orders and all that follow, to the end; never leaves a task behind."""
        try:
            await self.carry(orders)
            while self.outcome is None:
                await self.turn()
            return self.outcome
        finally:
            if self.flying or self.keeping:
                await self._reap()
            self._part()

    async def stream(self, orders: Sequence[o.Order]) -> AsyncGenerator[Any, None]:
        """The same, giving chunks as they come."""
        chunks = self.chunks
        try:
            await self.carry(orders)
            while True:
                while chunks:
                    yield chunks.popleft()
                if self.outcome is not None:
                    return
                await self.turn()
        finally:
            chunks.clear()  # nobody takes them any more, and nobody need wait for room
            if self.outcome is None:
                await self._abandon(GeneratorExit("the stream was closed"))
            if self.flying or self.keeping:
                await self._reap()
            self._part()

    def _part(self) -> None:
        """Part from what knows this driver: a run that is over is let go at once, not by the collector of cycles."""
        self.stepper = self.pool = None

    async def turn(self) -> None:
        """Feed what has come, waiting for it if need be; a cancellation of the caller becomes an event too."""
        try:
            self._look()
            if self.pace is not None or not (self.local or self.inbox):
                await self._rest()
            advance = self.feed
            while self.outcome is None and not self.chunks:
                if self.local:
                    event = self.local.popleft()
                elif self.inbox:
                    event = self._arrived(self.inbox.popleft())
                    if event is None:
                        continue
                else:
                    return
                orders = advance(event)
                if orders:
                    await self.carry(orders)
                if self.watchful:
                    return
        except asyncio.CancelledError as error:
            if self.machine.cancelled is None:  # else told already; what is under way is being stopped
                await self.carry(self.machine.advance(o.Cancelled(error)))

    def _look(self) -> None:
        """Notice a step that is overdue and a request to stop."""
        if self.broken is not None:
            raise self.broken
        if self.step_deadline is not None and (late := self.overdue()) is not None:
            self.local.append(late)
        if self.deal is not None and (stop := self.deal.asked_to_stop()) is not None:
            self.local.append(o.Cancelled(stop))

    async def _rest(self) -> None:
        """Wait for the reader where it is far behind, and for something to do."""
        if self.pace is not None and self.pace.full:
            await self.pace.room()
        if not self.local and not self.inbox:
            await self._sleep()

    async def _sleep(self) -> None:
        self.sleeper = self.loop.create_future()
        if self.outbox is not None and not self.outbox.await_one():
            self.sleeper = None
            return
        timer = self._alarm()
        try:
            await self.sleeper
        finally:
            self.sleeper = None
            if timer is not None:
                timer.cancel()

    def _arrived(self, item: Any) -> Any:
        """An event from outside, or None for one that nobody waits for any more."""
        if not isinstance(item, Task):
            return item
        if self.flying.pop(item, self) is self:
            return None  # abandoned: what a stopped task does later is not recorded
        if self.alarms and (alarm := self.alarms.pop(item, None)) is not None:
            alarm.cancel()
        if self.queued:
            self._fly(self.queued.popleft())
        return o.TaskEnded(item)

    def _alarm(self) -> asyncio.TimerHandle | None:
        wait: float | None = None
        if self.step_deadline is not None:
            wait = max(0.0, self.step_deadline - self.machine.run.clock.monotonic())
        if self.deal is not None and self.deal.owns_lease:
            wait = POLL if wait is None else min(wait, POLL)
        return self.loop.call_later(wait, self.wake) if wait is not None else None

    async def carry(self, orders: Sequence[o.Order]) -> None:
        """Carry out orders; what they cause at once waits in ``local``."""
        for order in orders:
            match order:
                case o.Start(tasks):
                    await self._start(tasks)
                case o.Commit():
                    await self._commit(order)
                case o.Finish(outcome):
                    self.outcome = outcome
                case o.Sleep(task, seconds):
                    self.sleeping[task] = self.loop.call_later(seconds, self._rise, task)
                case o.Cancel(tasks):
                    self._cancel(tasks)
                case o.Alarm(task, seconds):
                    self.alarms[task] = self.loop.call_later(seconds, self._ring, task)
                case o.Recall():
                    self._recall(order)
                case o.Remember(task, key):
                    self._remember(task, key)

    def _rise(self, task: Task) -> None:
        self.sleeping.pop(task, None)
        self.post(o.TimerFired(task))

    def _recall(self, order: o.Recall) -> None:
        cache, recorder = self.machine.run.cache, self.machine.recorder
        if not waits(cache, order.tasks):
            self.local.append(recall(order.tasks, cache, recorder))
            return
        lend(lambda: self.post_from_thread(recall(order.tasks, cache, recorder)))

    def _remember(self, task: Task, key: Any) -> None:
        cache = self.machine.run.cache
        if not waits(cache, (task,)):
            remember(task, key, cache)
            return
        self.keeping.append(remember_beside(self.loop, task, key, cache))

    def _ring(self, task: Task) -> None:
        if self.alarms.pop(task, None) is not None:
            self.post(o.Rang(task, self.machine.run.clock.monotonic()))

    async def _start(self, tasks: Sequence[Task]) -> None:
        self.arm()
        # A run that holds a lease may be asked to stop at any time, so its pump stays free to hear of it.
        hearing = self.deal is not None and self.deal.owns_lease
        if len(tasks) == 1 and not self.flying and not hearing and not self.live and not self.timed:
            task = tasks[0]
            if task.task_node.is_async and (not self.machine.timed or limit_of(task) is None):
                await (self._straight(task) if self.quiet else self._inline(task))
                return
        if self.limit is None and self.pace is None and tasks[0].task_node.is_async:
            flying, recorder, landed = self.flying, self.machine.recorder, self._landed
            with self._stepper() as stepper:
                for task in tasks:
                    if task.task_node.is_async:
                        flying[task] = stepper.start(attempt_async(task, recorder, 0, landed))
                    else:
                        self._fly(task)
            return
        for task in tasks:
            if self.limit is not None and len(self.flying) >= self.limit:
                self.queued.append(task)
            else:
                self._fly(task)

    async def _straight(self, task: Task) -> None:
        """Step after step of one async task each, as long as nothing else is to be done between them."""
        me, advance = asyncio.current_task(), self.machine.advance
        while True:
            try:
                await attempt_async(task, None, self.cancelling)
            except asyncio.CancelledError as error:
                task.status = CANCELLED
                self.local.append(o.Cancelled(error))
                self.local.append(o.TaskEnded(task))
                return
            if me is not None and me.cancelling() > self.cancelling:
                self._obey(me)
                self.local.append(o.TaskEnded(task))
                return
            orders = advance(o.TaskEnded(task))
            first = orders[0] if len(orders) == 1 else None
            if type(first) is not o.Start or len(first.tasks) != 1 or not first.tasks[0].task_node.is_async:
                await self.carry(orders)
                return
            task = first.tasks[0]

    def _obey(self, me: asyncio.Task[Any]) -> None:
        """A node swallowed a cancellation that was ours to obey."""
        self.cancelling = me.cancelling()
        self.local.append(o.Cancelled(asyncio.CancelledError()))

    async def _inline(self, task: Task) -> None:
        try:
            await attempt_async(task, self.machine.recorder, self.cancelling)
        except asyncio.CancelledError as error:
            task.status = CANCELLED
            self.local.append(o.Cancelled(error))
        else:
            me = asyncio.current_task()
            if me is not None and me.cancelling() > self.cancelling:
                self._obey(me)
        self.local.append(o.TaskEnded(task))

    def _fly(self, task: Task) -> None:
        if not task.task_node.is_async:
            if self.pool is None:
                self._context = copy_context()
                self.pool = Pool(self._work, self.limit or WORKERS)
            self.flying[task] = None
            self.pool.give((task,))
            return
        if self.pace is not None:
            self.flying[task] = self.loop.create_task(self._paced(task))
            return
        with self._stepper() as stepper:
            self.flying[task] = stepper.start(attempt_async(task, self.machine.recorder, 0, self._landed))

    def _stepper(self) -> Stepper:
        if self.stepper is None:
            # A graph inside a node does not step its own on the stack of all that are around it.
            self.stepper = Stepper(self.loop, eager=self.machine.run.parent is None, broken=self._broke)
        return self.stepper

    def _paced(self, task: Task) -> Coroutine[Any, Any, None]:
        assert self.pace is not None
        return held_back(self.pace, lambda: attempt_async(task, self.machine.recorder, 0, self._landed))

    def _broke(self, error: BaseException) -> None:
        self.broken = error
        self.wake()

    def _landed(self, task: Task) -> None:
        # Called from within the task: a done callback would cost another turn of the loop for each.
        self.inbox.append(task)
        sleeper = self.sleeper
        if sleeper is not None and not sleeper.done():
            sleeper.set_result(None)

    def _work(self, task: Task) -> None:
        """One sync task in a lent thread."""
        self._context.copy().run(attempt, task, self.machine.recorder)
        self.post_from_thread(task)

    async def _commit(self, order: o.Commit) -> None:
        deal = self.deal
        assert deal is not None
        batch = deal.batch(order)
        if not deal.journal.blocking:
            try:
                deal.journal.commit(batch)
            except BaseException as error:  # noqa: BLE001 - the seam: whatever a journal raises, nothing was written
                self.local.append(o.CommitRefused(error))
            else:
                self.local.append(o.Committed())
            return
        try:
            deal.journal.submit(batch, self._committed)
        except BaseException as error:  # noqa: BLE001 - the seam again: what was not even taken will never be told
            self.local.append(o.CommitRefused(error))

    def _committed(self, error: BaseException | None) -> None:
        self.post_from_thread(o.Committed() if error is None else o.CommitRefused(error))

    def _cancel(self, tasks: Sequence[Task]) -> None:
        """Coroutines are cancelled; threads cannot be stopped and are left behind, their slots closed."""
        for task in tasks:
            timer = self.sleeping.pop(task, None)
            if timer is not None:
                timer.cancel()
                self.local.append(o.TimerFired(task))
                continue
            if task in self.queued:
                self.queued.remove(task)
                self._left(task)
                continue
            if task not in self.flying:
                continue
            flight = self.flying[task]
            if flight is not None:
                flight.cancel()
            if flight is None or not task.begun:  # a thread, or a coroutine that was never entered
                del self.flying[task]
                task.error = None if flight is None else asyncio.CancelledError()
                self._left(task)

    def _left(self, task: Task) -> None:
        task.closed = True
        task.status = CANCELLED
        self.local.append(o.TaskEnded(task))

    async def _abandon(self, why: BaseException) -> None:
        await self.carry(self.machine.advance(o.Cancelled(why)))
        while self.outcome is None:
            self.chunks.clear()  # nobody takes them any more
            await self.turn()

    async def _reap(self) -> None:
        """Wait for whatever is still under way; a second cancellation does not cut it short."""
        flights = [f for f in self.flying.values() if f is not None]
        for flight in flights:
            flight.cancel()
        for flight in (*flights, *self.keeping):
            while not flight.done():
                try:
                    await asyncio.wait((flight,))
                except asyncio.CancelledError:
                    continue
        self.flying.clear()
        for alarm in self.alarms.values():
            alarm.cancel()
