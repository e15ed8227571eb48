"""`CompiledStateGraph`: the frozen graph and every way to run, stream, inspect and change a thread of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Generic, Self, TypeVar, cast

from lawful.core.clock import Clock
from lawful.core.context import current_task
from lawful.core.errors import ConfigurationError, Failure, GraphBuildError, RunnableError
from lawful.core.events import Event
from lawful.core.lazy import late
from lawful.core.questions import Principal, Question, Reply
from lawful.core.signals import ControlSignal, GraphDrained
from lawful.graph import orders as o
from lawful.graph.answers import answers_of
from lawful.graph.changes import Changes, config_at
from lawful.graph.command import UNSET
from lawful.graph.component import AsComponent
from lawful.graph.config import names
from lawful.graph.draw import Drawing
from lawful.graph.effects_in import effects_of
from lawful.graph.explain import explained
from lawful.graph.inbox import inbox
from lawful.graph.jsonschema import json_schema
from lawful.graph.likeness import Likeness
from lawful.graph.narrowing import outputs_alone
from lawful.graph.nesting import input_view, nested
from lawful.graph.options import UnknownOption, options_of
from lawful.graph.outcome import Done, Failed, Paused, RunResult
from lawful.graph.parts import Blueprint
from lawful.graph.policies import NO_LIMITS, Limits
from lawful.graph.program import Program
from lawful.graph.running import (
    AsyncStream,
    adrive,
    astream,
    drained,
    drive,
    settled,
    stream,
    stream_loop,
    told,
    told_v2,
)
from lawful.graph.session import Session
from lawful.graph.snapshot import StateSnapshot
from lawful.graph.state import kind_of
from lawful.graph.step_task import Task
from lawful.graph.streams import Hub, shape_of
from lawful.graph.validate import check_breakpoints

S = TypeVar("S")


class CompiledStateGraph(Changes, Likeness, AsComponent[S], Generic[S]):
    """A graph ready to run. Made by `StateGraph.compile`; immutable but for ``step_timeout``."""

    def __init__(
        self,
        blueprint: Blueprint,
        program: Program,
        *,
        checkpointer: Any = None,
        store: Any = None,
        cache: Any = None,
        interrupt_before: tuple[str, ...] = (),
        interrupt_after: tuple[str, ...] = (),
        debug: bool = False,
        limits: Limits = NO_LIMITS,
        config: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.blueprint = blueprint
        self.program = program
        self.checkpointer = checkpointer
        self.store = store
        self.cache = cache
        self.interrupt_before = interrupt_before
        self.interrupt_after = interrupt_after
        self.debug = debug
        self.limits = limits
        self.config: Mapping[str, Any] = config or {}
        self.clock = clock
        self.step_timeout: float | None = None
        """Seconds of wall time that one step may take, time that a stream's consumer takes included; None: no limit."""
        self._breaks = frozenset(interrupt_before), frozenset(interrupt_after)
        self.is_async = any(n.is_async for n in program.nodes.values())
        self.async_node = next((n.name for n in program.nodes.values() if n.is_async), "")

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def nodes(self) -> Mapping[str, Any]:
        return {k: v for k, v in self.program.nodes.items() if not v.hidden}

    def with_config(self, config: Mapping[str, Any] | None = None, **more: Any) -> Self:
        """The same graph with defaults for its config."""
        made = copy(self)
        made.config = {**self.config, **(config or {}), **more}
        return made

    def merged(self, config: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """The call's config over the graph's defaults."""
        if not self.config:
            return config or {}
        told = config or {}
        inner: dict[str, Any] = {**(self.config.get("configurable") or {}), **(told.get("configurable") or {})}
        return {**self.config, **told, "configurable": inner}

    def breakpoints(self, before: Any, after: Any) -> tuple[frozenset[str], frozenset[str]]:
        """The breakpoints of one call. Raises: ValueError (a GraphBuildError) for an unknown node."""
        if before is None and after is None:
            return self._breaks
        found = names(before, self.interrupt_before), names(after, self.interrupt_after)
        check_breakpoints(set(self.nodes), tuple(found[0] | found[1]))
        return found

    def context_of(self, given: Any) -> Any:
        """A dict becomes an instance of the context's class, if that is one."""
        schema = self.program.context_schema
        if given is None or schema is None or not isinstance(given, Mapping):
            return cast("Any", given)
        if kind_of(schema) in ("dataclass", "pydantic"):
            return schema(**cast("Mapping[str, Any]", given))
        return cast("Any", given)

    # Running

    def invoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """Run to the end or a pause and return the output keys as a dict (``__interrupt__`` lists open questions).

        ``config`` is LangGraph's dict; keywords: ``context``, ``thread``, ``interrupt_before``, ``interrupt_after``,
        ``durability``, ``busy`` ("queue", "reject", "cancel", "fork"), ``busy_timeout`` (seconds), ``control`` (a
        `RunControl`), ``limits`` (a `Limits`), ``on_event`` (a function, or several, that hears every event),
        ``output_keys`` (a key, whose bare value is the output, or several, in the place of the graph's own).
        ``version="v2"`` returns a `GraphOutput` instead. ``config["listeners"]`` are listeners too,
        ``config["callbacks"]`` lifecycle handlers.

        Raises: what a node raised, unchanged; the errors of core/errors.py for everything else.
        """
        mode = options.pop("stream_mode", None)
        if mode not in (None, "values"):
            return list(self.stream(input, config, stream_mode=mode, **outputs_alone(self.program, options)))
        hub, version = self._printing(options)
        session, outcome = drive(self, input, config, options_of(options), hub)
        return told_v2(outcome, session) if version == "v2" else told(outcome, session)

    def _printing(self, options: dict[str, Any]) -> tuple[Hub | None, str]:
        """What of an invocation's options is about showing, taken out of them."""
        version, printed = options.pop("version", None), options.pop("print_mode", ())
        debug = options.pop("debug", self.debug)
        if version is None and not printed and not debug:
            return None, "v1"
        shape = shape_of(None, None, version=version, print_mode=printed, debug=debug)
        return (Hub(shape) if shape.printed else None), shape.version

    async def ainvoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """As `invoke`, in the running event loop; sync nodes run in threads."""
        mode = options.pop("stream_mode", None)
        if mode not in (None, "values"):
            chunks = self.astream(input, config, stream_mode=mode, **outputs_alone(self.program, options))
            return [chunk async for chunk in chunks]
        hub, version = self._printing(options)
        session, outcome = await adrive(self, input, config, options_of(options), hub)
        return told_v2(outcome, session) if version == "v2" else told(outcome, session)

    def stream(
        self,
        input: Any,
        config: Any = None,
        *,
        stream_mode: str | Sequence[str] | None = None,
        subgraphs: bool = False,
        version: str | None = None,
        print_mode: str | Sequence[str] = (),
        debug: bool | None = None,
        **options: Any,
    ) -> Iterator[Any]:
        """Run, giving chunks as they come; closing the iterator stops the run.

        ``stream_mode`` is one of values, updates (default), messages, custom, tasks, checkpoints, debug, events, or a list
        of them: then each chunk is (mode, payload). ``subgraphs`` puts the namespace, a tuple, first. ``version="v2"`` gives
        dicts with type, ns and data instead. ``print_mode`` writes modes to standard output beside; ``debug=True`` is
        that for updates and values. Further options are those of `invoke`.
        """
        debug = self.debug if debug is None else debug
        shape = shape_of(
            stream_mode,
            self._default_mode(),
            subgraphs=subgraphs,
            version=version,
            print_mode=print_mode,
            debug=debug,
        )
        if self.is_async:
            shown = {"stream_mode": stream_mode, "subgraphs": subgraphs, "version": version}
            return stream_loop(self, input, config, **shown, print_mode=print_mode, debug=debug, **options)
        return stream(self, input, config, Hub(shape), options_of(options))

    def _default_mode(self) -> str:
        return "values" if current_task.get() is not None else "updates"

    def astream(
        self,
        input: Any,
        config: Any = None,
        *,
        stream_mode: str | Sequence[str] | None = None,
        subgraphs: bool = False,
        version: str | None = None,
        print_mode: str | Sequence[str] = (),
        debug: bool | None = None,
        **options: Any,
    ) -> AsyncStream:
        """As `stream`, async. The run advances only as chunks are taken; leave early by ``async with`` to stop it."""
        shape = shape_of(
            stream_mode,
            self._default_mode(),
            subgraphs=subgraphs,
            version=version,
            print_mode=print_mode,
            debug=self.debug if debug is None else debug,
        )
        return AsyncStream(astream(self, input, config, Hub(shape), options_of(options)))

    def stream_events(self, input: Any, config: Any = None, **options: Any) -> Iterator[Event]:
        """Run, giving each `Event` of the run and of all graphs in it; each start has exactly one end."""
        return self.stream(input, config, stream_mode="events", **_eventful(options))

    def astream_events(self, input: Any, config: Any = None, **options: Any) -> AsyncStream:
        """As `stream_events`, async."""
        return self.astream(input, config, stream_mode="events", **_eventful(options))

    def batch(self, inputs: Sequence[Any], config: Any = None, **options: Any) -> list[Any]:
        """`invoke` for each input, in order; ``config`` may be a list of as many."""
        return [self.invoke(given, told, **options) for given, told in _paired(inputs, config)]

    async def abatch(self, inputs: Sequence[Any], config: Any = None, **options: Any) -> list[Any]:
        """`ainvoke` for all inputs at once; results in the order of the inputs."""
        return list(await late("asyncio").gather(*(self.ainvoke(g, c, **options) for g, c in _paired(inputs, config))))

    # Typed runs

    async def run(self, input: Any, config: Any = None, **options: Any) -> RunResult[S]:
        """Run and return `Done`, `Paused` or `Failed` instead of raising; bugs (other exceptions) still pass through."""
        try:
            session, outcome = await adrive(self, input, config, options_of(options))
        except UnknownOption:
            raise  # a mistake in the program, as it is for any function
        except Failure as error:
            return Failed(error)
        return self._typed(outcome, session)

    def run_sync(self, input: Any, config: Any = None, **options: Any) -> RunResult[S]:
        """As `run`, in this thread."""
        try:
            session, outcome = drive(self, input, config, options_of(options))
        except UnknownOption:
            raise  # a mistake in the program, as it is for any function
        except Failure as error:
            return Failed(error)
        return self._typed(outcome, session)

    async def resume(
        self, thread: Any, *replies: Reply, by: Principal | str | None = None, **options: Any
    ) -> RunResult[S]:
        """Answer open questions (``question.answer(value)``) and go on; without replies only go on.

        ``by`` is who answers, as the host authenticated them. `Failed` carries UnknownQuestion or AlreadyAnswered.
        """
        return await self.run(answers_of(replies), thread=thread, by=_who(by), **options)

    def resume_sync(
        self, thread: Any, *replies: Reply, by: Principal | str | None = None, **options: Any
    ) -> RunResult[S]:
        """As `resume`, in this thread."""
        return self.run_sync(answers_of(replies), thread=thread, by=_who(by), **options)

    async def replay(self, at: Any, **options: Any) -> RunResult[S]:
        """Run again, on a new branch, everything after a checkpoint (its config or `StateSnapshot`), and nothing before.

        Questions are asked again; effects that were performed are told again by the ledger, not performed.
        """
        return await self.run(None, config_at(at), **options)

    def replay_sync(self, at: Any, **options: Any) -> RunResult[S]:
        """As `replay`, in this thread."""
        return self.run_sync(None, config_at(at), **options)

    def _typed(self, outcome: o.Outcome, session: Session) -> RunResult[S]:
        thread = session.run.thread
        signals = isinstance(outcome, o.Halted) or (
            isinstance(outcome, o.Broke) and isinstance(outcome.error, ControlSignal)
        )
        if session.nested and signals:
            settled(outcome, session)  # inside a node a pause is a signal, however the graph was called
        match outcome:
            case o.Ended(output):
                return Done(self._instance(session, output), thread)
            case o.Halted(output, questions):
                return Paused(questions, output, thread)
            case o.Broke(error, output):
                if output is None:
                    output = session.machine.output(partial=True)
                if isinstance(error, GraphDrained):
                    error = drained(error, session)
                if isinstance(error, Failure):
                    return Failed(error, output, thread)
                if isinstance(error, ControlSignal):
                    wrong = RunnableError(
                        f"The run left by {type(error).__name__}: {error}", component="graph", cause=error
                    )
                    return Failed(wrong, output, thread)
                raise error

    def _instance(self, session: Session, output: Any) -> S:
        """An instance of the state's class from the channels' values: the one cast of this floor."""
        schema = self.program.schema
        if schema is None or schema.kind in ("dict", "root") or not isinstance(output, dict):
            return output
        values: Any = self.program.state_view(session.machine.values)
        missing = {k: UNSET for k in schema.required if k not in values} if schema.kind == "dataclass" else {}
        return schema.make({k: v for k, v in {**missing, **values}.items() if k in schema.keys})

    # As a node of another graph

    def nested(self, strict: bool) -> Callable[[Any, Task], Any]:
        """How a graph that holds this one as a node calls it; strict parents get a delta, lenient ones the output."""
        return nested(self, strict)

    def input_view(self, channels: Mapping[str, Any], whole: Callable[[Mapping[str, Any]], Any]) -> Any:
        """What of a parent's values this graph gets as its input."""
        return input_view(self, channels, whole)

    # Looking

    def questions(self, thread: Any = None, *, role: str | None = None) -> tuple[Question, ...]:
        """The open questions of a thread, or (the inbox) of all threads of this graph; with ``role``, approvals in it."""
        found = inbox(self, self.name) if thread is None else self.get_state(thread).interrupts
        return tuple(each for each in found if role is None or each.details.get("role") == role)

    def explain(self) -> str:
        """The graph in words: nodes, edges, joins, effects, what may run together, what is only known at run time."""
        return explained(self.blueprint, self.name, effects_of(self.program))

    def draw_mermaid(self) -> str:
        """The graph as a Mermaid flowchart."""
        return self.get_graph().draw_mermaid()

    def get_graph(self, config: Any = None, *, xray: Any = False) -> Drawing:
        """Nodes and arrows; with ``xray`` those of the graphs inside its nodes too."""
        return Drawing(self.blueprint, bool(xray))

    def get_input_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """JSON Schema of the input."""
        return json_schema(self.blueprint.input_schema)

    def get_output_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """JSON Schema of the output."""
        return json_schema(self.blueprint.output_schema)

    async def aget_state(self, config: Any, *, subgraphs: bool = False) -> StateSnapshot:
        return await late("asyncio").to_thread(lambda: self.get_state(config, subgraphs=subgraphs))

    async def aget_state_history(self, config: Any, **options: Any) -> AsyncIterator[StateSnapshot]:
        for entry in await late("asyncio").to_thread(lambda: list(self.get_state_history(config, **options))):
            yield entry


def _eventful(options: dict[str, Any]) -> dict[str, Any]:
    wrong = [name for name in ("version", "stream_mode", "subgraphs") if name in options]
    if wrong:
        raise ConfigurationError(
            f"{wrong[0]!r} is no option of an event stream: its events are of one typed form, and of all graphs",
            component="graph",
            operation="stream_events",
        )
    return options


def _who(by: Principal | str | None) -> Principal | str:
    return by if by is not None else ""


def _paired(inputs: Sequence[Any], config: Any) -> list[tuple[Any, Any]]:
    if isinstance(config, (list, tuple)):
        if len(config) != len(inputs):  # pyright: ignore[reportUnknownArgumentType]
            raise GraphBuildError(f"batch got {len(inputs)} inputs and {len(config)} configs", component="graph")  # pyright: ignore[reportUnknownArgumentType]
        return list(zip(inputs, config, strict=True))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return [(given, config) for given in inputs]
