"""What is served: tools, agents and graphs as one list of things to call, and how each is called for a client."""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, cast

import msgspec
from msgspec import Struct

from lawful.agents.agent import Agent
from lawful.core.errors import ConfigurationError, Failure, ValidationError, nearest
from lawful.core.messages import ToolCall
from lawful.core.questions import Principal
from lawful.effects.capability import Natural, promise
from lawful.graph.builder import StateGraph
from lawful.graph.command import END, START
from lawful.graph.compiled import CompiledStateGraph
from lawful.graph.outcome import Done, Failed, Paused
from lawful.journal.memory import MemoryJournal
from lawful.tools.definition import AnyTool, as_tool
from lawful.tools.dispatch import dispatch
from lawful.tools.dispatch import plain as as_json
from lawful.tools.facts import NOTHING
from lawful.tools.gates import Rules, rule_all
from lawful.tools.toolset import Toolset

LOCAL = Principal("local")
"""Who asks where no tokens are told apart."""

_log = logging.getLogger("lawful.mcp")


class Said(Struct, frozen=True):
    """What a client is told: text, and a JSON value where there is one."""

    text: str
    value: Any = None
    error: bool = False


class Offer(Struct, frozen=True):
    """One thing that a client may call."""

    name: str
    description: str
    schema: dict[str, Any]
    does: Any
    """A Tool, an Agent or a compiled graph."""
    hints: dict[str, bool] = {}


class _Call(TypedDict, total=False):
    call: ToolCall
    ok: bool
    output: Any


def offers_of(things: Iterable[Any], journal: Any) -> dict[str, Offer]:
    """By name. Raises: ConfigurationError, for what cannot be served, and for two of one name."""
    found: dict[str, Offer] = {}
    for thing in _flat(things):
        offer = _offer(thing, journal)
        if offer.name in found:
            raise _wrong(f"two things are called {offer.name!r}: rename one")
        found[offer.name] = offer
    if not found:
        raise _wrong("there is nothing to serve")
    return found


def _flat(things: Iterable[Any]) -> Iterable[Any]:
    for thing in things:
        if isinstance(thing, Toolset | list | tuple):
            yield from _flat(cast("Iterable[Any]", thing))
        else:
            yield thing


def _offer(thing: Any, journal: Any) -> Offer:
    if isinstance(thing, Agent):
        agent = cast("Agent[Any]", thing)
        told = f"Ask the agent {agent.name}. Give a thread to go on with a conversation."
        return Offer(agent.name, told, _TASK if agent.journal is not None else _ONCE, agent)
    if isinstance(thing, StateGraph):
        thing = cast("StateGraph[Any]", thing).compile(checkpointer=journal)
    if isinstance(thing, CompiledStateGraph):
        graph = cast("CompiledStateGraph[Any]", thing)
        return Offer(graph.name, f"Run the graph {graph.name}.", graph.get_input_jsonschema(), graph)
    tool = as_tool(thing)
    return Offer(tool.name, tool.description, tool.parameters, tool, _hints(tool))


_ONCE: dict[str, Any] = {
    "type": "object",
    "properties": {"task": {"type": "string", "description": "What it is to do, in words."}},
    "required": ["task"],
    "additionalProperties": False,
}
_TASK: dict[str, Any] = {
    **_ONCE,
    "properties": {
        **_ONCE["properties"],
        "thread": {"type": "string", "maxLength": 100, "description": "A conversation of yours to go on with."},
    },
}


def _hints(tool: AnyTool) -> dict[str, bool]:
    """Only what was declared: the protocol takes the worst for granted of the rest."""
    if tool.effect is not None:
        natural = promise(tool.effect.promised, Natural) is not None
        return {"readOnlyHint": False, **({"idempotentHint": True} if natural else {})}
    return {"readOnlyHint": True} if tool.traits.pure_read else {}


class Caller:
    """Calls what is offered, on behalf of a principal; a principal never reaches another's threads."""

    def __init__(self, offers: Mapping[str, Offer], journal: Any, rules: Rules) -> None:
        self._offers = offers
        self._own = journal is None
        self._journal = journal if journal is not None else MemoryJournal()
        self._rules = rules

    async def call(self, name: str, arguments: Mapping[str, Any], by: Principal) -> Said:
        """What came of it; errors that a client may be told of are said, not raised.

        Raises: ConfigurationError, with the nearest name; whatever a bug raises.
        """
        offer = self._offers.get(name)
        if offer is None:
            raise ConfigurationError(
                f"there is no tool {name!r}.{nearest(name, self._offers)}", component="mcp", operation="call"
            )
        try:
            does: Any = offer.does
            if isinstance(does, Agent):
                return await self._agent(cast("Agent[Any]", does), arguments, by)
            if isinstance(does, CompiledStateGraph):
                return await self._graph(cast("CompiledStateGraph[Any]", does), arguments, by)
            return await self._tool(does, arguments, by)
        except Failure as error:
            return Said(error.message, error=True)

    async def _agent(self, agent: Agent[Any], arguments: Mapping[str, Any], by: Principal) -> Said:
        task, thread = arguments.get("task"), arguments.get("thread")
        if not isinstance(task, str) or not isinstance(thread, str | None) or set(arguments) - {"task", "thread"}:
            raise ValidationError(f"{agent.name} takes a task (text) and a thread (text)", component="mcp")
        if thread is not None and agent.journal is None:
            raise ValidationError(f"{agent.name} keeps no threads", component="mcp")
        own = own_thread(by, thread) if thread is not None else None
        ended: Any = await agent.run(task, thread=own, config=asked_by(by))
        return _said(ended)

    async def _graph(self, graph: CompiledStateGraph[Any], arguments: Mapping[str, Any], by: Principal) -> Said:
        named = {"thread": own_thread(by, uuid.uuid4().hex)} if graph.checkpointer is not None else {}
        return _said(await graph.run(dict(arguments), **named, config=asked_by(by)))

    async def _tool(self, tool: AnyTool, arguments: Mapping[str, Any], by: Principal) -> Said:
        """In a run of its own, so that an effect is claimed, a gate asked, and a person's yes waited for."""
        thread = own_thread(by, uuid.uuid4().hex)
        call = ToolCall(id=uuid.uuid4().hex, name=tool.name, args=dict(arguments))
        graph = _one(tool, self._rules).compile(checkpointer=self._journal, name=f"mcp {tool.name}")
        ended = await graph.run(_Call(call=call), thread=thread, config=asked_by(by))
        if not isinstance(ended, Done):
            return _said(ended)
        if self._own:
            self._journal.delete_thread(thread)
        return _settled(ended.state.get("output"), ended.state.get("ok", False))


def _one(tool: AnyTool, rules: Rules) -> StateGraph[_Call]:
    kit = Toolset([tool])

    async def call(state: _Call) -> _Call:
        asked = state.get("call")
        assert asked is not None
        [ruling] = rule_all([asked], kit, NOTHING, rules)
        settled = (await dispatch(asked, ruling, kit, rules, NOTHING, "tell")).call
        return _Call(ok=settled.state == "ok", output=settled.output)

    return StateGraph(_Call).add_node("call", call).add_edge(START, "call").add_edge("call", END)


def _settled(output: Any, ok: bool) -> Said:
    text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
    return Said(text, _object(output), error=not ok)


def _object(value: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _said(ended: Any) -> Said:
    match ended:
        case Done():
            value = as_json(_plain_state(cast("Any", ended).state))
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            return Said(text, _object(value))
        case Paused(thread=thread, questions=questions):
            asked = ", ".join(question.id for question in questions)
            return Said(f"It waits for a person's answer: thread {thread}, questions {asked}.", error=True)
        case Failed(error):
            return Said(error.message, error=True)
        case _:
            return Said(str(ended), error=True)


def _plain_state(state: Any) -> Any:
    return dict(cast("Mapping[str, Any]", state)) if isinstance(state, Mapping) else state


def own_thread(by: Principal, thread: str) -> str:
    """A thread's name within a principal's own ones: no name that one may choose is a name of another."""
    return f"mcp-{hashlib.sha256(by.id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}-{thread}"


def asked_by(by: Principal) -> dict[str, Any]:
    """The run's config, in which effects find who asked for it."""
    return {"configurable": {"requester": by}}


def _wrong(why: str) -> ConfigurationError:
    return ConfigurationError(why, component="mcp", operation="serve")
