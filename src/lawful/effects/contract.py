"""What the ledger and an effect owe each other: the intent, the context of one attempt, the performer's port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, final

from lawful.core.clock import Clock
from lawful.core.errors import EffectRefused, NetworkError
from lawful.effects.capability import Capability, Seen
from lawful.effects.intents import IntentRecord
from lawful.effects.policy import Decision, Policy

C = TypeVar("C")
R = TypeVar("R")


@final
class EffectContext:
    """What ``perform`` and ``lookup`` are told about the attempt they serve."""

    __slots__ = (
        "_current", "_refused", "_sent", "cancelled", "clock", "fence", "idempotency_key", "op_id", "revision",
        "send_deadline",
    )  # fmt: skip

    def __init__(
        self,
        record: IntentRecord,
        *,
        fence: int,
        send_deadline: float,
        clock: Clock,
        current: Callable[[], str | None],
    ) -> None:
        self.idempotency_key = record.idempotency_key
        """Give it to the provider; equal over all attempts."""
        self.op_id = record.op_id
        self.revision = record.revision
        """What evidence and approvals name: a provider that takes conditions (``If-Match``) should be given it."""
        self.fence = fence
        """Grows with every attempt; 0 in a look-up, the newest attempt's where attempts are fenced off."""
        self.send_deadline = send_deadline
        """On the clock's monotonic scale."""
        self.clock = clock
        self.cancelled = False
        self._current = current
        self._sent = False
        self._refused: BaseException | None = None

    def before_send(self) -> None:
        """Call it right before the request leaves.

        Raises: EffectRefused, retryable, where this attempt may no longer send: past its deadline, cancelled, or another
        attempt has taken over. Where a request of this attempt has left already it raises NetworkError instead, since
        then nobody knows.
        """
        why = self._barrier()
        if why is None:
            self._sent = True
            return
        told = {"op_id": self.op_id, "fence": str(self.fence)}
        if self._sent:
            raise NetworkError(f"no further request may leave: {why}", component="effects", details=told)
        self._refused = EffectRefused(f"nothing was sent: {why}", component="effects", details=told, retryable=True)
        raise self._refused

    def _barrier(self) -> str | None:
        if self.cancelled:
            return "the work was cancelled"
        if self.clock.monotonic() > self.send_deadline:
            return "the send deadline has passed"
        return self._current()


class Performer(Protocol[C, R]):
    """An effect, as far as the ledger cares."""

    tool: str

    @property
    def promised(self) -> Capability: ...
    @property
    def rules(self) -> Policy | None: ...
    @property
    def looks(self) -> bool:
        """Whether ``seek`` can see anything."""
        ...

    @property
    def needs_loop(self) -> bool:
        """Whether performing it needs an event loop."""
        ...

    def judge(self, command: C) -> Decision:
        """The effect's own rule about this command; pure."""
        ...

    def attempt(self, command: C, ctx: EffectContext) -> R | Awaitable[R]: ...
    def seek(self, command: C, ctx: EffectContext) -> Seen[R] | Awaitable[Seen[R]]: ...
    def bar(self, command: C, ctx: EffectContext) -> Seen[R] | Awaitable[Seen[R]]:
        """For a provider that promises `Fence`: make it impossible that attempts up to ``ctx.fence`` still happen."""
        ...

    @property
    def reads_revision(self) -> bool:
        """Whether ``present`` reads anything."""
        ...

    def present(self, command: C, ctx: EffectContext) -> str | None | Awaitable[str | None]:
        """The revision that the target stands at now."""
        ...

    def identify(self, receipt: R) -> str:
        """What tells one effect from another at the provider."""
        ...

    def told_receipt(self, receipt: R) -> Any:
        """The receipt as JSON. Raises: ValidationError."""
        ...

    def read_receipt(self, told: Any) -> R: ...
    def read_command(self, told: Any) -> C: ...


@final
@dataclass(frozen=True)
class Intent(Generic[C, R]):
    """A planned effect: the record that is written down, and what can perform it. Making one does nothing."""

    record: IntentRecord
    effect: Performer[C, R]
    command: C

    @property
    def op_id(self) -> str:
        return self.record.op_id

    @property
    def revision(self) -> str | None:
        return self.record.revision

    @property
    def args_hash(self) -> str:
        return self.record.args_hash
