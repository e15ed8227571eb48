"""A provider that keeps its promises and can be told to misbehave, and a clock that moves only when told."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Literal

from msgspec import Struct

from lawful.core.clock import SYSTEM, Clock, FixedClock
from lawful.core.errors import EffectConflicted, EffectRefused, NetworkError
from lawful.effects.capability import (
    Capability,
    Found,
    Keyed,
    Lookup,
    Natural,
    NotFound,
    Opaque,
    Promise,
    Seen,
    Unavailable,
)
from lawful.effects.contract import EffectContext
from lawful.effects.effect import Effect
from lawful.effects.policy import Policy

_TABLE = """CREATE TABLE IF NOT EXISTS applied(
  row INTEGER PRIMARY KEY, key TEXT NOT NULL, idem TEXT NOT NULL, value TEXT NOT NULL, at REAL NOT NULL)"""


class VirtualClock(FixedClock):
    """As `FixedClock`; and ``sleep`` makes the time pass at once."""

    __slots__ = ()

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        self.advance(seconds)


class FakeProvider:
    """Applies what it is asked to and remembers it: in a file that several processes share, or in memory.

    ``keyed``: for how many seconds it recognises an idempotency key (None: not at all). ``lookup``: "strong", "eventual"
    or None, and ``lag``: by how many seconds an eventual answer is behind. ``natural``: applying the same key again changes
    nothing. Of the next calls ``refuse`` are refused, and of those it applies ``lose_reply`` end without a reply; -1 means
    all. ``delay``: seconds from the request's arrival to its being applied.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        keyed: float | None = None,
        lookup: Literal["strong", "eventual"] | None = None,
        lag: float = 0.0,
        natural: bool = False,
        refuse: int = 0,
        lose_reply: int = 0,
        delay: float = 0.0,
        max_in_flight: float | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        self.keyed = keyed
        self.lookup: Literal["strong", "eventual"] | None = lookup
        self.lag = lag
        self.natural = natural
        self.refuse = refuse
        self.lose_reply = lose_reply
        self.delay = delay
        self.max_in_flight = max_in_flight
        self.calls = 0
        """Requests that arrived in this process."""
        self.looks = 0
        """Look-ups in this process."""
        self._clock = clock
        self._path = os.fspath(path) if path is not None else None
        self._lock = threading.Lock()
        self._memory = self._opened(":memory:") if path is None else None

    @staticmethod
    def _opened(path: str) -> sqlite3.Connection:
        con = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)
        con.execute(_TABLE)
        return con

    @contextmanager
    def _alone(self) -> Generator[sqlite3.Connection]:
        """A connection in a transaction that nobody else writes beside."""
        with self._lock, ExitStack() as stack:
            con = self._memory
            if con is None:
                assert self._path is not None
                con = stack.enter_context(closing(self._opened(self._path)))  # anew, so that a fork shares none
            con.execute("BEGIN IMMEDIATE")
            try:
                yield con
            finally:
                con.execute("COMMIT")

    def _read(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._alone() as con:
            return con.execute(statement, values).fetchall()

    # What it promises

    @property
    def capability(self) -> Promise | Capability:
        """What an effect on it may declare: no more than it keeps."""
        flight = self.max_in_flight if self.max_in_flight is not None else self.delay
        told: list[Promise] = []
        if self.natural:
            told.append(Natural())
        if self.keyed is not None:
            told.append(Keyed(self.keyed, flight))
        if self.lookup is not None:
            told.append(Lookup(self.lookup, lag=self.lag, max_in_flight=flight))
        return Capability(tuple(told)) if told else Opaque()

    def effect(self, tool: str = "fake", *, policy: Policy | None = None, **fields: Any) -> FakeEffect:
        """An effect on it, with the capability that it keeps; ``fields`` are those of `Effect`."""
        return FakeEffect(self, tool, policy, fields)

    # What it does

    def apply(self, key: str, value: str, idempotency_key: str = "") -> str:
        """Take a request. Raises: EffectRefused, EffectConflicted, and NetworkError where the reply is lost."""
        self.calls += 1
        if self.refuse:
            self.refuse -= 1
            raise EffectRefused(f"the provider refuses {key}", component="provider")
        self._sleep(self.delay)
        with self._alone() as con:
            if not self._known(con, key, value, idempotency_key):
                row = (key, idempotency_key, value, self._clock.now())
                con.execute("INSERT INTO applied(key, idem, value, at) VALUES (?,?,?,?)", row)
        if self.lose_reply:
            self.lose_reply -= 1
            raise NetworkError(f"the reply about {key} was lost", component="provider")
        return value

    def _known(self, con: sqlite3.Connection, key: str, value: str, idem: str) -> bool:
        if self.natural:
            held = con.execute("SELECT 1 FROM applied WHERE key=? AND value=?", (key, value)).fetchone()
            return held is not None
        if self.keyed is None or not idem:
            return False
        since = self._clock.now() - self.keyed
        held = con.execute("SELECT value FROM applied WHERE idem=? AND at>?", (idem, since)).fetchone()
        if held is not None and held[0] != value:
            raise EffectConflicted(f"key {idem} was used with other parameters", component="provider")
        return held is not None

    def find(self, key: str) -> Seen[str]:
        """What it shows of ``key``."""
        self.looks += 1
        if self.lookup is None:
            return Unavailable("this provider cannot be asked")
        until = self._clock.now() - (self.lag if self.lookup == "eventual" else 0.0)
        rows = self._read("SELECT value FROM applied WHERE key=? AND at<=? ORDER BY row", (key, until))
        found = [str(value) for (value,) in rows]
        return Found(found[0], tuple(found[1:])) if found else NotFound()

    def _sleep(self, seconds: float) -> None:
        if seconds > 0:
            sleep = getattr(self._clock, "sleep", time.sleep)
            sleep(seconds)

    @property
    def applied(self) -> dict[str, int]:
        """How often each key was applied, over all processes."""
        return {str(key): int(n) for key, n in self._read("SELECT key, count(*) FROM applied GROUP BY key")}


class FakeCommand(Struct, frozen=True):
    """What a `FakeProvider` is asked to do."""

    key: str
    value: str = "done"


class FakeEffect(Effect[FakeCommand, str]):
    """An effect on a `FakeProvider`."""

    def __init__(self, provider: FakeProvider, tool: str, policy: Policy | None, fields: Mapping[str, Any]) -> None:
        self.provider = provider
        self.tool = tool
        self.capability = provider.capability
        self.policy = policy
        for name, value in fields.items():
            setattr(self, name, value)

    capability: Promise | Capability = Opaque()

    @property
    def looks(self) -> bool:
        return self.provider.lookup is not None

    def key(self, command: FakeCommand) -> str:
        return command.key

    async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
        ctx.before_send()
        return self.provider.apply(command.key, command.value, ctx.idempotency_key)

    async def lookup(self, command: FakeCommand, ctx: EffectContext) -> Seen[str]:
        return self.provider.find(command.key)


def assert_effects(provider: FakeProvider, expected: int | Mapping[str, int]) -> None:
    """The provider has applied so many effects, all told or for each key. Raises: AssertionError, listing them."""
    found = provider.applied
    if isinstance(expected, int):
        assert sum(found.values()) == expected, f"{sum(found.values())} effects instead of {expected}: {found}"
    else:
        assert found == dict(expected), f"the provider has applied {found}, not {dict(expected)}"
