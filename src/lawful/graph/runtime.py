"""What a node may ask for beside its state, by parameter name or type: runtime, config, writer, store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar, get_origin

from msgspec import Struct

from lawful.core.context import here
from lawful.core.errors import GraphBuildError, nearest
from lawful.core.events import Custom
from lawful.core.neighbours import bridge
from lawful.graph.control import RunControl
from lawful.graph.notes import noted
from lawful.graph.signature import hints, name_of, parameters
from lawful.graph.step_task import Task
from lawful.graph.timing import heeded

C = TypeVar("C")
PREVIOUS: Final = "__previous__"
"""The channel of what an entrypoint saves for its thread's next run."""


class StreamWriter(Protocol):
    """Sends one chunk to the ``custom`` stream, at once; does nothing where nobody listens."""

    def __call__(self, chunk: Any, /) -> None: ...


class ExecutionInfo(Struct, frozen=True):
    """Which task of which run this is."""

    checkpoint_id: str
    checkpoint_ns: str
    task_id: str
    thread_id: str | None
    run_id: str
    node_attempt: int
    """1 for the first try."""
    node_first_attempt_time: float | None
    """Seconds since 1970 UTC."""


class Runtime(Generic[C]):
    """What a run gives its nodes: declare a parameter of type ``Runtime[Context]`` to get it."""

    __slots__ = ("__orig_class__", "_task", "context")

    def __init__(self, task: Task) -> None:
        self._task = task
        self.context: C = task.run.context
        """The value that the caller passed as ``context=``."""

    @property
    def store(self) -> Any:
        return self._task.run.store

    @property
    def previous(self) -> Any:
        """In an entrypoint and its tasks: what the thread's last finished run saved; else None."""
        return previous_of(self._task)

    @property
    def stream_writer(self) -> StreamWriter:
        return writer_of(self._task)

    @property
    def config(self) -> dict[str, Any]:
        return config_of(self._task)

    @property
    def node(self) -> str:
        return self._task.node

    @property
    def attempt(self) -> int:
        """1 for the first try of this task."""
        return self._task.attempt

    def now(self) -> float:
        """The time, in seconds since 1970 UTC; the same again where the node runs again, and in a replay from the record."""
        return noted(self._task, "now", self._task.run.clock.now)

    def new_id(self) -> str:
        """A fresh id of 32 hex digits, under the same promise."""
        return noted(self._task, "new_id", self._task.run.clock.token)

    def random(self) -> float:
        """A number in [0, 1), under the same promise."""
        return noted(self._task, "random", self._task.run.clock.random)

    def heartbeat(self) -> None:
        """Say that the node is at work: its idle limit runs anew. Raises: NotInRun once the attempt is over."""
        if self._task.closed:
            here("heartbeat")
        self._task.touch(beat=True)

    @property
    def control(self) -> RunControl | None:
        """What the caller passed as ``control=``."""
        return self._task.run.shared.get("control")

    @property
    def drain_requested(self) -> bool:
        """Whether the run was asked to stop once its step has ended."""
        return self.drain_reason is not None

    @property
    def drain_reason(self) -> str | None:
        """Why it was."""
        return None if self.control is None else self.control.drain_reason

    @property
    def execution_info(self) -> ExecutionInfo:
        """Which task, checkpoint and attempt this is."""
        task = self._task
        return ExecutionInfo(
            checkpoint_id=task.base.checkpoint,
            checkpoint_ns=task.ns,
            task_id=task.id,
            thread_id=task.run.thread,
            run_id=task.run.root.run_id,
            node_attempt=task.attempt,
            node_first_attempt_time=task.began(),
        )

    @property
    def run_id(self) -> str:
        return self._task.run.root.run_id

    @property
    def thread_id(self) -> str | None:
        return self._task.run.thread


def writer_of(task: Task) -> StreamWriter:
    """The task's writer to the custom stream."""
    run = task.run
    teller, touch = run.teller, task.touch if heeded(task) else None
    show = run.hub.writer(task) if run.hub is not None else None

    def write(chunk: Any, /) -> None:
        if task.closed:
            here("stream writer")
        if touch is not None:
            touch()
        if teller is not None:
            teller.tell(run, Custom(chunk, task.node))
        if show is not None:
            show(chunk)

    return write


def previous_of(task: Task) -> Any:
    """What the last finished run of an entrypoint on this thread saved, or None."""
    return task.values.get(PREVIOUS)


def config_of(task: Task) -> dict[str, Any]:
    """The config that the task runs under, as LangGraph shapes it; give it to a graph called inside to nest it."""
    given = task.run.config
    configurable = {
        **dict(given.get("configurable") or {}),
        "thread_id": task.run.thread,
        "checkpoint_ns": task.ns,
        "checkpoint_id": task.base.checkpoint if task.run.thread is not None else None,
    }
    metadata = {
        **dict(given.get("metadata") or {}),
        **dict(task.task_node.metadata),
        "langgraph_step": task.base.step,
        "langgraph_node": task.node,
        "langgraph_triggers": task.triggers,
        "langgraph_path": task.path,
        "langgraph_checkpoint_ns": task.ns,
    }
    made = {**given, "configurable": configurable, "metadata": metadata, "tags": list(given.get("tags") or ())}
    if task.program.bridged:
        made["callbacks"] = bridge().callbacks(task)
    return made


def get_stream_writer() -> StreamWriter:
    """The running node's writer to the custom stream. Raises: NotInRun outside a node."""
    return writer_of(_task("get_stream_writer"))


def get_config() -> dict[str, Any]:
    """The running node's config. Raises: NotInRun outside a node."""
    return config_of(_task("get_config"))


def get_runtime(context_schema: type[C] | None = None) -> Runtime[C]:
    """The running node's runtime. Raises: NotInRun outside a node."""
    return Runtime(_task("get_runtime"))


def get_store() -> Any:
    """The store that the graph was compiled with. Raises: NotInRun outside a node."""
    return _task("get_store").run.store


def _task(what: str) -> Task:
    slot = here(what)
    assert isinstance(slot, Task)
    return slot


Getter = Callable[[Task], Any]
_BY_NAME: dict[str, Getter] = {
    "config": config_of,
    "writer": writer_of,
    "store": lambda task: task.run.store,
    "runtime": Runtime,
    "previous": previous_of,
}


def injections(fn: Any, what: str, more: Mapping[str, tuple[Any, Getter]] | None = None) -> dict[str, Getter]:
    """The parameters after the first that the engine fills, each with how.

    ``more``: further ones by name, each with the type that asks for it too and its getter.

    Raises: GraphBuildError, for a parameter that nothing can fill.
    """
    found: dict[str, Getter] = {}
    wanted = parameters(fn)
    if len(wanted) <= 1 and not any(p.keyword_only for p in wanted):
        return found
    types = hints(fn)
    told = more or {}
    by_name = {**_BY_NAME, **{name: getter for name, (_, getter) in told.items()}}
    for place, parameter in enumerate(wanted):
        if place == 0 and not parameter.keyword_only:
            continue
        hint = types.get(parameter.name)
        asked = next((getter for typ, getter in told.values() if hint is typ), None)
        getter = asked or injectable(parameter.name, hint) or by_name.get(parameter.name)
        if getter is not None:
            found[parameter.name] = getter
        elif not parameter.has_default:
            raise GraphBuildError(
                f"{what} {name_of(fn)!r} has a parameter {parameter.name!r} that nothing can fill."
                f"{nearest(parameter.name, by_name)}",
                component="graph",
                operation="add_node",
                details={"parameter": parameter.name},
            )
    return found


def injectable(name: str, hint: Any) -> Getter | None:
    """How the engine fills a parameter of this name and type; None where it does not."""
    origin = get_origin(hint) or hint
    if origin is Runtime:
        return Runtime
    if origin is StreamWriter:
        return writer_of
    if getattr(origin, "__name__", "") == "RunnableConfig":
        return config_of
    return _BY_NAME.get(name)


def caller(fn: Any, what: str, more: Mapping[str, tuple[Any, Getter]] | None = None) -> Callable[[Any, Task], Any]:
    """How to call ``fn`` with the state and whatever it asks for."""
    extra = injections(fn, what, more)
    if not extra:
        return lambda given, task: fn(given)

    def call(given: Any, task: Task) -> Any:
        return fn(given, **{name: getter(task) for name, getter in extra.items()})

    return call
