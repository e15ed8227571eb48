"""`Agent`: a model with tools and instructions as a value; ask it, stream it, or put it into a graph or a pipeline."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar, cast, overload

from lawful.agents.answer import Answer
from lawful.agents.callbacks import TurnStats
from lawful.agents.flags import FLAGS, flagged
from lawful.agents.loop import Remember, build_agent_loop
from lawful.agents.members import ask_member, facts_of
from lawful.agents.middleware.base import Middleware
from lawful.agents.shape import shape_of
from lawful.agents.state import AgentState, this_turn
from lawful.core.clock import SYSTEM, Clock
from lawful.core.context import current_task
from lawful.core.errors import ConfigurationError, Failure
from lawful.core.events import Event, LLMChunk, Usage
from lawful.core.lazy import TYPE_CHECKING, late
from lawful.core.message_forms import conversation
from lawful.core.messages import Message
from lawful.core.questions import Principal, Reply
from lawful.core.result import Err, Ok, Result
from lawful.graph.compiled import CompiledStateGraph
from lawful.graph.outcome import Done, Failed, Paused
from lawful.graph.snapshot import StateSnapshot
from lawful.models.port import ChatModel, MessageLike
from lawful.tools.definition import AnyTool, Tool, tool
from lawful.tools.dispatch import OnError
from lawful.tools.facts import NOTHING, Facts, flowing
from lawful.tools.gates import Rules
from lawful.tools.sources import sources_in
from lawful.tools.tally import Tally
from lawful.tools.toolset import Toolset
from lawful.tools.traits import united

if TYPE_CHECKING:
    from lawful.pipeline.nodes import Pipeline

Out = TypeVar("Out")
_NONE = dict.fromkeys(FLAGS, False)
"""All off: for an agent made of another one, which has its middleware already."""

AgentPrompt: TypeAlias = str | Message | Sequence[MessageLike]
"""A text, a message, or a conversation."""


@dataclass(frozen=True, init=False)
class Agent(Generic[Out]):
    """A model that calls tools until it can answer.

    ``Agent("demo", tools=[weather]).invoke("Do I need a coat in Lyon?").text``

    ``model`` is a name such as "openai:gpt-5", "anthropic:...", "ollama:..." or "demo" (a stand-in without a key that says
    it is one), or a `ChatModel`. ``tools`` are functions, `@tool` and `@effect` functions, or a `Toolset`. ``output`` is
    the type of the answer. ``flags`` switches middleware of `FLAGS` on or off by name. ``journal`` keeps threads: a journal, or
    the path of a SQLite file. ``clock`` is where its runs take time and ids from.

    Raises: ConfigurationError, for a model, tool, output type or middleware that cannot be.
    """

    model: ChatModel[Any]
    tools: Toolset
    name: str
    graph: CompiledStateGraph[AgentState] = field(repr=False, compare=False)
    """The loop as a state graph, to draw or to hold in another graph, whose journal it then uses."""
    journal: Any = field(repr=False, compare=False)
    """Where its threads are kept; None where they are not."""

    built: Mapping[str, Any] = field(repr=False, compare=False)
    """What `build_agent_loop` was given beside model, tools and journal."""
    _own: CompiledStateGraph[AgentState] = field(repr=False, compare=False)
    """The loop on the agent's own journal."""
    _shape: Any = field(repr=False, compare=False)
    _kept: bool = field(repr=False, compare=False)
    """Whether the journal was the caller's."""

    @overload
    def __init__(
        self: Agent[str],
        model: str | ChatModel[Any],
        *,
        output: None = None,
        tools: Toolset | Sequence[Any] = ...,
        instructions: str = ...,
        name: str = ...,
        middleware: Sequence[Middleware] = ...,
        flags: Mapping[str, bool] | None = ...,
        journal: Any = ...,
        rules: Rules = ...,
        max_rounds: int = ...,
        output_attempts: int = ...,
        memory: Remember | None = ...,
        on_error: OnError = ...,
        store: Any = ...,
        context_schema: Any = ...,
        clock: Clock | None = ...,
    ) -> None: ...
    @overload
    def __init__(
        self,
        model: str | ChatModel[Any],
        *,
        output: type[Out],
        tools: Toolset | Sequence[Any] = ...,
        instructions: str = ...,
        name: str = ...,
        middleware: Sequence[Middleware] = ...,
        flags: Mapping[str, bool] | None = ...,
        journal: Any = ...,
        rules: Rules = ...,
        max_rounds: int = ...,
        output_attempts: int = ...,
        memory: Remember | None = ...,
        on_error: OnError = ...,
        store: Any = ...,
        context_schema: Any = ...,
        clock: Clock | None = ...,
    ) -> None: ...
    def __init__(
        self,
        model: str | ChatModel[Any],
        *,
        output: Any = None,
        tools: Toolset | Sequence[Any] = (),
        instructions: str = "",
        name: str = "agent",
        middleware: Sequence[Middleware] = (),
        flags: Mapping[str, bool] | None = None,
        journal: Any = None,
        rules: Rules = Rules(),
        max_rounds: int = 40,
        output_attempts: int = 3,
        memory: Remember | None = None,
        on_error: OnError = "tell",
        store: Any = None,
        context_schema: Any = None,
        clock: Clock | None = None,
    ) -> None:
        chosen = late("lawful.models.select", "model")(model)
        kit = tools if isinstance(tools, Toolset) else Toolset(tools)
        built: dict[str, Any] = {
            "extra_middleware": flagged(middleware, flags),
            "name": name,
            "instructions": instructions,
            "output": output,
            "rules": rules,
            "max_rounds": max_rounds,
            "output_attempts": output_attempts,
            "memory": memory,
            "on_error": on_error,
            "store": store,
            "context_schema": context_schema,
            "clock": clock,
        }
        kept = _journal(journal, kit)
        graph = build_agent_loop(chosen, kit, **built)
        own = graph if kept is None else build_agent_loop(chosen, kit, checkpointer=kept, **built)
        held = {
            "model": chosen,
            "tools": kit,
            "name": name,
            "graph": graph,
            "built": built,
            "journal": kept,
            "_own": own,
        }
        held |= {"_shape": shape_of(output, chosen.profile), "_kept": journal is not None}
        for key, value in held.items():
            object.__setattr__(self, key, value)

    # Ask

    def invoke(self, prompt: AgentPrompt, *, thread: Any = None, seen: Facts = NOTHING, **options: Any) -> Answer[Out]:
        """The answer, in sync code. ``thread`` goes on with a conversation that the journal keeps. ``seen`` is what those
        have seen whose words are in the prompt: the ``facts`` of another agent's answer.

        Raises: the errors of the model, of a tool under ``on_error="stop"``, AgentError when the turn's limits are used
        up, OutputInvalid when the answer never fits the output type.
        """
        clock = self._clock()
        begun = clock.monotonic()
        ended = self._loop(thread).run_sync(_input(prompt, seen), thread=self._thread(thread), **options)
        return self._answer(self._raised(ended), clock.monotonic() - begun, thread is not None)

    async def ainvoke(
        self, prompt: AgentPrompt, *, thread: Any = None, seen: Facts = NOTHING, **options: Any
    ) -> Answer[Out]:
        """As `invoke`, in asyncio."""
        clock = self._clock()
        begun = clock.monotonic()
        ended = await self._loop(thread).run(_input(prompt, seen), thread=self._thread(thread), **options)
        return self._answer(self._raised(ended), clock.monotonic() - begun, thread is not None)

    async def run(
        self, prompt: AgentPrompt, *, thread: Any = None, seen: Facts = NOTHING, **options: Any
    ) -> Done[Out] | Paused | Failed:
        """`Done` with the output, `Paused` with questions, or `Failed`, instead of raising."""
        return self._typed(await self._loop(thread).run(_input(prompt, seen), thread=self._thread(thread), **options))

    def run_sync(
        self, prompt: AgentPrompt, *, thread: Any = None, seen: Facts = NOTHING, **options: Any
    ) -> Done[Out] | Paused | Failed:
        """As `run`, in this thread."""
        return self._typed(self._loop(thread).run_sync(_input(prompt, seen), thread=self._thread(thread), **options))

    async def resume(
        self, thread: Any, *replies: Reply, by: Principal | str | None = None, **options: Any
    ) -> Done[Out] | Paused | Failed:
        """Answer what the agent asked and let it go on; without replies only go on."""
        return self._typed(await self._own.resume(thread, *replies, by=by, **options))

    def resume_sync(
        self, thread: Any, *replies: Reply, by: Principal | str | None = None, **options: Any
    ) -> Done[Out] | Paused | Failed:
        """As `resume`, in this thread."""
        return self._typed(self._own.resume_sync(thread, *replies, by=by, **options))

    # While it goes

    def stream(self, prompt: AgentPrompt, *, thread: Any = None, **options: Any) -> Iterator[Event]:
        """Each `Event` of the turn as it happens; closing the iterator stops the agent."""
        return self._loop(thread).stream_events(_input(prompt), thread=self._thread(thread), **options)

    def astream(self, prompt: AgentPrompt, *, thread: Any = None, **options: Any) -> Any:
        """As `stream`, async; leave early by ``async with`` to stop it at once."""
        return self._loop(thread).astream_events(_input(prompt), thread=self._thread(thread), **options)

    def stream_text(self, prompt: AgentPrompt, *, thread: Any = None, **options: Any) -> Iterator[str]:
        """The pieces of text as this agent's model says them; what agents that it asks say is not among them."""
        run = None
        for event in self.stream(prompt, thread=thread, **options):
            run = run or event.run_id
            if isinstance(event, LLMChunk) and event.text and event.run_id == run:
                yield event.text

    async def astream_text(self, prompt: AgentPrompt, *, thread: Any = None, **options: Any) -> AsyncIterator[str]:
        """As `stream_text`, async."""
        async with self.astream(prompt, thread=thread, **options) as events:
            run = None
            async for event in events:
                run = run or event.run_id
                if isinstance(event, LLMChunk) and event.text and event.run_id == run:
                    yield event.text

    # As a part of something else

    def as_tool(self, *, name: str | None = None, description: str = "") -> Tool[[str], Any]:
        """The agent as a tool of another: it is given a task in words and returns its answer.

        It counts as whatever its own tools are: one that reads private data makes it a tool that reads private data. What
        its caller has seen, it has seen too.
        """

        async def ask(task: str, seen: Facts) -> Any:
            return await ask_member(self.graph, task, seen, self._value)

        made: AnyTool = tool(
            name=name or self.name, description=description or f"Ask the agent {self.name}.", undeclared="allow"
        )(ask)
        return made.with_(traits=united(one.traits for one in self.tools))

    def as_pipeline(self) -> Pipeline[str, Out]:
        """The agent as a step: text in, output out, its errors as values."""

        async def ask(prompt: str) -> Result[Out, Failure]:
            match await self.run(prompt):
                case Done(state):
                    return Ok(state)
                case Failed(error):
                    return Err(error)
                case Paused():
                    return Err(
                        ConfigurationError(
                            f"agent {self.name!r} asks a question, which a pipeline outside a journaled run cannot wait for",
                            component=self.name,
                            operation="as_pipeline",
                        )
                    )

        ask.__name__ = self.name
        return late("lawful.pipeline", "step")(ask)

    def on(self, journal: Any) -> Agent[Out]:
        """The same agent with its threads kept in another journal, or at the path of a SQLite file."""
        given = dict(self.built)
        middleware = given.pop("extra_middleware")
        made: Any = Agent(self.model, tools=self.tools, middleware=middleware, flags=_NONE, journal=journal, **given)
        return made

    # Looking

    @property
    def loop(self) -> CompiledStateGraph[AgentState]:
        """The loop on the agent's own journal: its questions, its history, its forks."""
        return self._own

    def explain(self) -> str:
        """The agent in words: its loop, its tools and what each declares; the opaque and the undeclared are named."""
        return late("lawful.agents.explain", "explained")(self)

    def get_state(self, thread: Any) -> StateSnapshot:
        """Where a thread of the agent's journal stands: ``values["messages"]``, open questions, history."""
        return self._own.get_state(thread)

    # Inside

    def _thread(self, thread: Any) -> Any:
        """A journaled run needs a thread: one of its own, where none is named."""
        if thread is None and self._loop(thread).checkpointer is not None:
            return uuid.uuid4().hex
        return thread

    def _loop(self, thread: Any) -> CompiledStateGraph[AgentState]:
        """Inside a running node, without a thread of its own, the agent is a part of that run."""
        return self.graph if thread is None and current_task.get() is not None else self._own

    def _clock(self) -> Clock:
        """The run's around it, the agent's own, or the machine's."""
        slot = current_task.get()
        return slot.run.clock if slot is not None else self._own.clock or SYSTEM

    def _raised(self, ended: Any) -> Any:
        if isinstance(ended, Failed):
            raise ended.error
        return ended

    def _answer(self, ended: Done[Any] | Paused, seconds: float, named: bool) -> Answer[Out]:
        state = ended.state
        messages: tuple[Message, ...] = tuple(state["messages"])
        usage: Usage = state.get("usage", Usage())
        tally: Tally = state.get("tally", Tally())
        more: dict[str, Any] = {
            "stats": TurnStats(tally.rounds, tally.calls, seconds, isinstance(ended, Done)),
            "facts": facts_of(state),
            "sources": sources_in(this_turn(messages)),
        }
        if isinstance(ended, Paused):
            return Answer("", messages, usage, ended.thread, ended.questions, **more)
        if not named:
            self._forget(ended.thread)
        return Answer(messages[-1].text, messages, usage, ended.thread, (), self._value(messages), **more)

    def _typed(self, ended: Any) -> Done[Out] | Paused | Failed:
        if not isinstance(ended, Done):
            return ended
        state = cast("Any", ended).state
        try:
            return Done(self._value(state["messages"]), cast("Any", ended).thread)
        except Failure as error:
            return Failed(error, state, cast("Any", ended).thread)

    def _value(self, messages: Sequence[Message]) -> Any:
        shape = self._shape
        text = messages[-1].text
        return text if shape is None else shape.read(text)

    def _forget(self, thread: str | None) -> None:
        """A thread of a journal that nobody gave is over with its turn."""
        if not self._kept and thread is not None and self.journal is not None:
            self.journal.delete_thread(thread)


def _input(prompt: AgentPrompt, seen: Facts = NOTHING) -> dict[str, Any]:
    """Raises: ParsingError, for what is no message."""
    told: dict[str, Any] = {"messages": conversation(prompt)}
    return told if seen == NOTHING else {**told, "facts": flowing(seen)}


def _journal(given: Any, tools: Toolset) -> Any:
    """The journal that was given or named; one in memory where a tool may pause the run or is an effect."""
    if isinstance(given, str | Path):
        return late("lawful.stores.sqlite", "SQLiteJournal")(given)
    if given is None and any(_may_pause(one) for one in tools):
        return late("lawful.journal.memory", "MemoryJournal")()
    return given


def _may_pause(one: AnyTool) -> bool:
    return one.approval or one.traits.effect or one.traits.risk == "high" or one.traits.outward
