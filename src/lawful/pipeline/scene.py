"""What one run of a pipeline has beside its input: the environment, the clock, who listens, and how steps are done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeAlias, TypeVar, cast, final

from lawful.core import events as ev
from lawful.core.clock import SYSTEM, Clock
from lawful.core.context import current_task
from lawful.core.errors import ConfigurationError
from lawful.core.failure import Failure, nearest
from lawful.core.lazy import late
from lawful.core.signals import ControlSignal
from lawful.pipeline.nodes import Lambda, Pipeline, Prim, name_of
from lawful.pipeline.pipe import Pipe
from lawful.pipeline.walking import walk

Env = TypeVar("Env")
EnvT_co = TypeVar("EnvT_co", covariant=True)

Leaf: TypeAlias = Prim[Any, Any] | Lambda[Any, Any]
Perform: TypeAlias = Callable[[Leaf, Any, "Scene", str], Any]
"""How a step is done, given its input, the scene and its span: a value, a Result, or an awaitable of either."""


@final
class Run(Generic[EnvT_co]):
    """What a step that asks for it (``def f(value, run: Run[MyEnv])``) gets beside its input."""

    __slots__ = ("__orig_class__", "_scene", "_step", "env")

    def __init__(self, env: EnvT_co, scene: Scene, step: str) -> None:
        self.env = env
        """What the caller passed as ``env=``; inside a graph's node, the run's context."""
        self._scene = scene
        self._step = step

    @property
    def run_id(self) -> str:
        """The id that every event of this run bears."""
        return self._scene.run_id

    @property
    def clock(self) -> Clock:
        return self._scene.clock

    async def write(self, value: Any) -> None:
        """Send ``value`` (JSON) to who listens, as a `Custom` event; waits while he is 64 events behind."""
        await self._scene.tell(ev.Custom(value=value, node=self._step))

    def write_sync(self, value: Any) -> None:
        """The same from a step in a thread (``step(blocking=True)``), which waits likewise.

        Raises: ConfigurationError on the event loop, which must not be made to wait.
        """
        self._scene.tell_from_thread(ev.Custom(value=value, node=self._step))


class Adrift(ControlSignal):
    """The run ends in ``error``, and no fallback and no retry sees it.

    A step did what only a graph's run can do; or something was cancelled while effects were performed, and only the
    ledger knows what became of them.
    """

    def __init__(self, error: Failure) -> None:
        super().__init__(error)
        self.error = error


def operations() -> int:
    """How many operations of the ledger the running attempt has planned so far."""
    slot = current_task.get()
    return slot.counts.get("operations", 0) if slot is not None and slot.counts else 0


@final
class Scene:
    """One run; shared by all that runs in it."""

    __slots__ = (
        "_loop", "_seq", "_slot", "_spans", "_write", "asked", "clock", "env", "heard", "perform", "pipe", "run_id",
        "sleep",
    )  # fmt: skip

    def __init__(
        self,
        perform: Perform,
        env: Any = None,
        *,
        clock: Clock = SYSTEM,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
        pipe: Pipe | None = None,
        write: Callable[[Any], object] | None = None,
    ) -> None:
        self.perform = perform
        self.env = env
        self.clock = clock
        self.sleep = sleep
        self.pipe = pipe
        """Who listens to this run by itself, or None."""
        self._write = write
        """The stream writer of the node that this pipeline is, or None."""
        self.run_id = clock.token() if pipe is not None else ""
        self.asked: list[str] = []
        """The steps that asked a question."""
        self._slot = current_task.get()
        self.heard = pipe is not None or (
            self._slot is not None and (self._slot.run.teller is not None or self._slot.run.hub is not None)
        )
        """Whether anybody listens."""
        self._seq = self._spans = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def span(self) -> str:
        self._spans += 1
        slot = self._slot
        return f"s{self._spans}" if slot is None else f"{getattr(slot, 'id', slot.node)}/s{self._spans}"

    def say(self, event: Any) -> None:
        """Tell ``event`` without waiting."""
        slot = self._slot
        if self.pipe is not None:
            self._seq += 1
            parent = slot.run.run_id if slot is not None else None
            self.pipe.push(ev.stamp(event, self.run_id, self._seq, parent))
        elif isinstance(event, ev.Custom) and self._write is not None:
            self._write(event.value)
        elif slot is not None and slot.run.teller is not None and not slot.closed:
            slot.run.teller.tell(slot.run, event)

    async def tell(self, event: Any) -> None:
        """Tell ``event``, once there is room."""
        await self.room()
        self.say(event)

    async def room(self) -> None:
        """Wait while who listens is far behind."""
        if self.pipe is not None:
            if self.pipe.full:
                await self.pipe.room()
        elif self._slot is not None and self._slot.run.hub is not None:
            await self._slot.run.hub.room()

    def tell_from_thread(self, event: Any) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            raise ConfigurationError(
                "write_sync() would stop the event loop: await run.write(...), or make it a step(blocking=True)",
                component="pipeline",
                operation="write",
            )
        if self.heard and self._loop is not None:
            asyncio.run_coroutine_threadsafe(self.tell(event), self._loop).result()

    def on_loop(self) -> None:
        """Remember the loop, for threads that write."""
        self._loop = asyncio.get_running_loop()

    def run_of(self, leaf: Leaf) -> Run[Any]:
        return Run(self.env, self, name_of(leaf))

    def lacks(self, pipeline: Pipeline[Any, Any]) -> ConfigurationError | None:
        """What is wrong with the environment for this pipeline, found before anything runs."""
        for name, wanted in needs(pipeline):
            missing = unfit(self.env, wanted)
            if missing is not None:
                return ConfigurationError(
                    f"step {name!r} needs an environment of {getattr(wanted, '__name__', wanted)}: {missing}",
                    component="pipeline",
                    operation="run",
                    details={"step": name},
                )
        return None


def needs(pipeline: Pipeline[Any, Any]) -> tuple[tuple[str, Any], ...]:
    """The steps that ask for an environment, by name, with the type that each annotates; remembered in the pipeline."""
    held: dict[str, Any] = vars(pipeline)
    if "_needs" not in held:
        asking = ((name_of(node), run) for node in walk(pipeline) if (run := _asking(node)) is not None)
        held["_needs"] = tuple(
            {(name, id(kind)): (name, kind) for name, run in asking for kind in _env_of(run)}.values()
        )
    return held["_needs"]


def _asking(node: Pipeline[Any, Any]) -> Any:
    """The function of a leaf that takes the `Run`, else None."""
    part = node if isinstance(node, Lambda) else node.component if isinstance(node, Prim) else None
    return cast("Any", part).run if getattr(part, "wants_run", False) else None


def _env_of(function: Any) -> tuple[Any, ...]:
    plain = function if hasattr(function, "__code__") else type(function).__call__
    try:
        hints: dict[str, Any] = late("typing", "get_type_hints")(plain)
    except (NameError, TypeError, AttributeError):  # a type that is there for the checker only
        return ()
    hints.pop("return", None)
    return tuple(
        arg
        for hint in hints.values()
        if late("typing", "get_origin")(hint) is Run
        for arg in late("typing", "get_args")(hint)
        if arg is not Any and arg is not object and not isinstance(arg, TypeVar)
    )


def unfit(env: Any, wanted: Any) -> str | None:
    """Why ``env`` is no ``wanted``; None if it is one, or if that cannot be told while running."""
    if not isinstance(wanted, type):
        return None
    if not getattr(wanted, "_is_protocol", False):
        return None if isinstance(env, wanted) else f"it was given {_shown(env)}"
    members: frozenset[str] = late("typing_extensions", "get_protocol_members")(wanted)
    for member in sorted(members):
        if not hasattr(env, member):
            public = [name for name in dir(env) if not name.startswith("_")]
            return f"{_shown(env)} has no {member!r}.{nearest(member, public)}"
    return None


def _shown(env: Any) -> str:
    return "none: run(..., env=...)" if env is None else f"a {type(env).__name__}"
