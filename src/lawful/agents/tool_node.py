"""`ToolNode` and `tools_condition`: a graph's own node that carries out a model's calls, under LangGraph's names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, Final, Literal

import msgspec

from lawful.agents.tool_calls import Asked, as_call, asked_of, calls_of, conversation_of, is_their
from lawful.agents.tool_errors import HandleErrors, handled_text, handles, told_of_arguments, unfit
from lawful.agents.tool_replies import ABSENT, combined, keeping, replies, reply
from lawful.core.context import Slot, current_task
from lawful.core.errors import ReplayGap, ToolError
from lawful.core.messages import ToolCall
from lawful.core.neighbours import bridge
from lawful.graph.notes import anoted
from lawful.models.portal import no_loop_here
from lawful.tools.definition import AnyTool
from lawful.tools.dispatch import Outcome, dispatch
from lawful.tools.facts import NOTHING, Facts, add_facts, learnt
from lawful.tools.gates import Refuse, Rules, Ruling, rule_all
from lawful.tools.injected import FromState
from lawful.tools.signature import Injector
from lawful.tools.sources import source_of
from lawful.tools.toolset import Toolset

MANY: Final = 1_000_000
NODE_RULES: Final = Rules(budget=MANY, repeats=(MANY, MANY, MANY))
"""A node knows no turn of an agent, so it counts no calls; what a person has to say yes to is asked all the same."""


class ToolNode:
    """Carries out the calls of the last answer in the conversation, all at once, and gives their results in their order.

    ``tools`` are tools, effects and functions of ours, and tools of langchain's. Each call passes the gates of
    `lawful.tools.gates`: an unknown tool, and arguments that do not fit, are told to the model with the nearest names, and a
    call that needs a person's yes asks for it. An effect stays one, with its key and its lookup.

    The node takes a state with a conversation under ``messages_key``, a list of messages, or a list of calls
    (``Send("tools", [call])``); it gives ``{messages_key: [...]}``, and for a list of messages a list. The results are of
    langchain's messages where the answer is, else ours. A tool may return a `Command`, a message, or a list of these with
    exactly one message that closes its call. Parameters marked `InjectedState` or `InjectedStore` are filled here.

    Args:
        handle_tool_errors: What a failing tool is answered with. By default only arguments that do not fit are told to the
            model, and what a tool raises is raised. True tells every error, a text is told in its place, a class or
            a tuple of classes tells errors of these, a function is given the error (of the class that its annotation names)
            and returns the text, False tells none.
        rules: The thresholds of the gates; by default calls are neither budgeted nor counted.

    Raises: ConfigurationError, for what is no tool, two of one name, or a handler of a class that is no Exception.
    """

    def __init__(
        self,
        tools: Sequence[Any],
        *,
        name: str = "tools",
        tags: list[str] | None = None,
        handle_tool_errors: HandleErrors = told_of_arguments,
        messages_key: str = "messages",
        rules: Rules = NODE_RULES,
    ) -> None:
        self.name = self.__name__ = name
        self.tags = tags
        self.messages_key = messages_key
        self.rules = rules
        self.handles = handles(handle_tool_errors)
        self._handler: HandleErrors = handle_tool_errors
        self.neighbour: Any = next((each for each in tools if _theirs(each)), None)
        """One of langchain's tools, if there is one: its graph then keeps its conversation in langchain's messages."""
        own = Toolset(bridge().as_node_tool(each) if _theirs(each) else each for each in tools)
        self._given = {str(each.name): each for each in tools if _theirs(each)}
        self.tools = Toolset(keeping(each, messages_key) for each in own)
        self._stateful = any(isinstance(fill, FromState) for each in own for fill in each.arguments.injected.values())
        self._guarded = any(each.traits.outward for each in own)

    @property
    def tools_by_name(self) -> dict[str, Any]:
        """Each tool by its name; those of langchain's as they were given."""
        return {each.name: self._given.get(each.name, each) for each in self.tools}

    def __repr__(self) -> str:
        return f"ToolNode({', '.join(self.tools.names)})"

    async def __call__(self, state: Any) -> Any:
        asked = asked_of(state, self.messages_key, self.neighbour is not None)
        tools = self._bound(asked) if self._stateful else self.tools
        facts = self._seen(asked.messages) if self._guarded else NOTHING
        rulings = rule_all(asked.calls, tools, facts, self.rules)
        work = [
            self._one(as_call(call), ruling, tools, facts, asked.at(n))
            for n, (call, ruling) in enumerate(zip(asked.calls, rulings, strict=True))
        ]
        return combined(await _all(work), asked, self.messages_key)

    async def ainvoke(self, input: Any, config: Any = None, **more: Any) -> Any:
        """The node's result for this input, inside another node or outside a graph; ``config`` is that of the run around."""
        return await self(input)

    def invoke(self, input: Any, config: Any = None, **more: Any) -> Any:
        """The same from sync code. Raises: ConfigurationError, where an event loop runs in this thread."""
        no_loop_here("invoke", "ainvoke")
        return asyncio.run(self(input))

    async def _one(self, call: ToolCall, ruling: Ruling, tools: Toolset, facts: Facts, asked: Asked) -> list[Any]:
        """What one call gives: messages and Commands."""
        try:
            outcome = await dispatch(call, ruling, tools, self.rules, facts, "stop")
            if isinstance(ruling, Refuse) and ruling.gate == "arguments":
                raise unfit(call, ruling.message)
            return replies(outcome, asked, self.messages_key)
        except ToolError as error:
            text = await self._told(call, error)
            return [reply(Outcome(call.settled("error", text)), asked)]

    async def _told(self, call: ToolCall, error: ToolError) -> str:
        """What the model is told of an error: noted, since a replay has its text alone. Raises: the tool's own error."""
        cause, inner = error, error.__cause__
        if error.context.operation == "call" and isinstance(inner, Exception):
            cause = inner

        async def ask() -> str:
            return handled_text(self._handler, self.handles, cause)

        try:
            return await anoted(
                current_task.get(), f"tool error {call.id}", lambda: call.name, ask, str, str, again=False
            )
        except ReplayGap:
            raise cause from None  # it was not told then either

    def _bound(self, asked: Asked) -> Toolset:
        """The tools with what they are given of the state."""
        return Toolset(_filled(each, asked, self.messages_key) for each in self.tools)

    def _seen(self, messages: Sequence[Any]) -> Facts:
        """What this conversation has seen, by the results in it and the tools that gave them."""
        facts = NOTHING
        for each in messages:
            message: Any = each
            if getattr(message, "tool_call_id", None) is None:
                continue
            tool = self.tools.get(str(getattr(message, "name", "")))
            facts = add_facts(facts, learnt(tool.traits)) if tool is not None else facts
            source = None if is_their(message) else source_of(message)
            if source is not None and source.outside is not None:
                facts = add_facts(facts, Facts(external_seen=True))
        return facts


def tools_condition(state: Any, messages_key: str = "messages") -> Literal["tools", "__end__"]:
    """Where to go after a model has answered: to the node "tools" if its answer calls some, else to the end.

    Takes a state (a mapping or an instance) with a conversation under ``messages_key``, or a list of messages.

    Raises: ValidationError, which is a ValueError too, where there is no message.
    """
    return "tools" if calls_of(conversation_of(state, messages_key)[-1]) else "__end__"


def _theirs(tool: Any) -> bool:
    return not isinstance(tool, type) and is_their(tool) and hasattr(tool, "ainvoke")


def _filled(tool: AnyTool, asked: Asked, key: str) -> AnyTool:
    """The tool whose marked parameters get what this state has."""

    def filling(fill: FromState) -> Injector:
        wanted = fill if tool.effect is None else FromState(fill.field)

        def get(slot: Slot, call: ToolCall) -> Any:
            found = wanted.of(asked.state, key, tool.name)
            return found[0] if found else ABSENT

        return get

    given = tool.arguments.injected
    injected = {name: filling(fill) if isinstance(fill, FromState) else fill for name, fill in given.items()}
    return tool.with_(arguments=msgspec.structs.replace(tool.arguments, injected=injected))


async def _all(work: Sequence[Awaitable[list[Any]]]) -> list[list[Any]]:
    """What all calls give. None is left running: a signal is raised, else the first error, when the last has ended."""
    if len(work) == 1:
        return [await work[0]]
    found = await asyncio.gather(*work, return_exceptions=True)
    failed = [each for each in found if isinstance(each, BaseException)]
    if failed:
        raise next((each for each in failed if not isinstance(each, Exception)), failed[0])
    return [each for each in found if not isinstance(each, BaseException)]
