"""The one place that builds an agent's graph: a model node, a task for each tool call, and back until it has answered."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from lawful.agents.aside import spent
from lawful.agents.middleware.base import Middleware, ModelAsk, ToolAsk, Turn, around, checked, hooked
from lawful.agents.shape import Shape, shape_of
from lawful.agents.state import CHECK, AgentState, ToolTask, last_answer, this_turn, turn_at
from lawful.core.clock import Clock
from lawful.core.context import current_task
from lawful.core.errors import AgentError, ConfigurationError, EmptyInputError, ParsingError
from lawful.core.llm_errors import OutputInvalid
from lawful.core.messages import InvalidToolCall, Message, Text, ToolCall, fresh_id, system
from lawful.core.replay import IntendedCall
from lawful.graph.builder import StateGraph
from lawful.graph.command import END, START, Send
from lawful.graph.compiled import CompiledStateGraph
from lawful.graph.notes import anoted
from lawful.models.port import ChatModel
from lawful.models.recording import Recorded, reply_of, stored
from lawful.models.values import Reply, Request, ToolSpec, Usage
from lawful.tools.dispatch import OnError, Outcome, closed, dispatch
from lawful.tools.facts import NOTHING, Facts
from lawful.tools.gates import Refuse, Rules, Ruling, rule_all
from lawful.tools.sources import EXPLAINED, rated_view
from lawful.tools.tally import Before, Tally, args_digest, before, counted
from lawful.tools.toolset import Toolset

_CALLS: Final = (ToolCall, InvalidToolCall)
Remember = Callable[[Sequence[Message]], Awaitable[Sequence[Message]]]
"""Of the whole conversation, what the model is shown."""


def build_agent_loop(
    llm: ChatModel[Any],
    tools: Toolset | Sequence[Any] = (),
    *,
    checkpointer: Any = None,
    extra_middleware: Sequence[Middleware] | None = None,
    name: str = "agent",
    instructions: str = "",
    output: Any = None,
    rules: Rules = Rules(),
    max_rounds: int = 40,
    output_attempts: int = 3,
    memory: Remember | None = None,
    on_error: OnError = "tell",
    store: Any = None,
    context_schema: Any = None,
    clock: Clock | None = None,
) -> CompiledStateGraph[AgentState]:
    """The loop of an agent as a compiled graph over `AgentState`.

    The model answers; each tool call of its answer becomes a task of its own, ruled by the gates beforehand, so that a
    pause, a failure or a kill in one touches no other; the results go back to the model until it calls nothing. Hooks of
    middleware run inside these two nodes: they add no step, and without any the graph is the same.

    Args:
        rules: The governor's thresholds.
        max_rounds: How often the model may answer in one turn; the graph's recursion limit is another matter.
        output_attempts: How often an answer may fail to fit ``output`` before the run fails with OutputInvalid.

    Raises: ConfigurationError.
    """
    if max_rounds < 1 or output_attempts < 1:
        raise ConfigurationError(
            f"max_rounds and output_attempts are at least 1, not {max_rounds} and {output_attempts}",
            component=name,
            operation="build",
        )
    loop = Loop(
        llm,
        tools if isinstance(tools, Toolset) else Toolset(tools),
        checked(extra_middleware or ()),
        name,
        instructions,
        shape_of(output, llm.profile),
        rules,
        max_rounds,
        output_attempts,
        memory,
        on_error,
    )
    made = _graph(loop, context_schema).compile(checkpointer=checkpointer, store=store, name=name)
    made.clock = clock
    return made


def _graph(loop: Loop, context_schema: Any) -> StateGraph[AgentState]:
    graph = StateGraph(AgentState, context_schema=context_schema, name=loop.name)
    graph.add_node("model", loop.model_node)
    graph.add_edge(START, "model")
    if len(loop.tools):
        graph.add_node("tool", loop.tool_node, input_schema=ToolTask, spares_siblings=True)
        if any(one.ends_turn for one in loop.tools):
            graph.add_conditional_edges("tool", loop.after_tool, ["model", END])
        else:
            graph.add_edge("tool", "model")
    graph.add_conditional_edges(
        "model", loop.after_model, ["model", "tool", END] if len(loop.tools) else ["model", END]
    )
    return graph


class Loop:
    """What the two nodes need; made once, shared by all runs, never changed."""

    def __init__(
        self,
        llm: ChatModel[Any],
        tools: Toolset,
        middleware: tuple[Middleware, ...],
        name: str,
        instructions: str,
        shape: Shape | None,
        rules: Rules,
        max_rounds: int,
        output_attempts: int,
        memory: Remember | None,
        on_error: OnError,
    ) -> None:
        self.llm = llm
        self.tools = tools
        self.middleware = middleware
        self.name = name
        self.shape = shape
        self.rules = rules
        self.max_rounds = max_rounds
        self.output_attempts = output_attempts
        self.memory = memory
        self.on_error: OnError = on_error
        self.specs = tuple(ToolSpec(one.name, one.description, one.parameters) for one in tools)
        self.head = (system(instructions),) if instructions else ()
        self.rates = any(one.traits.reliability is not None for one in tools)
        self.ask_model = around(middleware, "wrap_model", _call_model)
        self.ask_tool = around(middleware, "wrap_tool", self._call_tool)

    # The model

    async def model_node(self, state: AgentState) -> dict[str, Any]:
        """One answer of the model."""
        messages, facts = state["messages"], state.get("facts", Facts())
        if not messages:
            raise EmptyInputError("an agent needs a message to answer", component=self.name, operation="model")
        begin = turn_at(messages, state.get("tally", Tally()))
        tally = _tally_of(state, messages, begin)
        self._stop_if_over(messages, facts, tally)
        turn = Turn(messages, facts, self.name, tally.rounds + 1)
        added = await self._before(turn) if self.middleware else []
        reply = await self.ask_model(await self._ask(grown(turn, added), state.get("usage", Usage())))
        message = reply.message if reply.message.id is not None else reply.message.named(fresh_id())
        seen = grown(turn, [*added, message]) if self.middleware or self.shape is not None else turn
        calls = bool(message.calls) or _broken(message)
        told = None if calls else self._told_unfit(message, seen.messages)
        after = await self._after(seen, reply, calls or told is not None) if self.middleware else []
        counts = counted([message], messages[begin].id or "", begin, len(messages))
        out = [*added, message, *after, *([told] if told else [])]
        more = spent()
        return {"messages": out, "usage": reply.usage if more is None else reply.usage + more, "tally": counts}

    async def _before(self, turn: Turn) -> list[Message]:
        added = await hooked(self.middleware, "before_agent", turn) if turn.round == 1 else []
        return added + await hooked(self.middleware, "before_model", grown(turn, added))

    async def _after(self, seen: Turn, reply: Reply, more: bool) -> list[Message]:
        """``more``: the turn does not end with this reply."""
        added = await hooked(self.middleware, "after_model", seen, reply)
        return added if more else added + await hooked(self.middleware, "after_agent", seen, reply)

    async def _ask(self, turn: Turn, usage: Usage) -> ModelAsk:
        shown = turn.messages if self.memory is None else await self.memory(turn.messages)
        head = self.head
        if self.rates or turn.facts.rated:
            head, shown = (*head, EXPLAINED), rated_view(shown)
        request = Request((*head, *shown), tools=self.specs)
        if self.shape is not None:
            request = self.shape.ask(request)
        return ModelAsk(self.llm, request, turn.messages, turn.facts, self.name, turn.round, usage)

    def _stop_if_over(self, messages: Sequence[Message], facts: Facts, tally: Tally) -> None:
        """Raises: AgentError, when the turn's rounds are used up or the model went in circles to the end."""
        done = tally.rounds
        if done >= self.max_rounds:
            raise _over(
                self.name, "agent_rounds", f"{done} answers without coming to an end: the limit is {self.max_rounds}"
            )
        if tally.most < self.rules.repeats[2]:
            return  # only a circle ends a turn, and none can have gone round so often
        at = last_answer(messages) if done else None
        if at is None:
            return
        for ruling in self._rulings(messages[at], tally, facts)[0]:
            if isinstance(ruling, Refuse) and ruling.ends_turn:
                raise _over(self.name, "agent_loop", ruling.message)

    def _told_unfit(self, message: Message, messages: Sequence[Message]) -> Message | None:
        """What the model is told of an answer that does not fit. Raises: OutputInvalid, when it had its last try."""
        if self.shape is None:
            return None
        try:
            self.shape.read(message.text)
        except ParsingError as error:
            tries = 1 + sum(one.name == CHECK for one in this_turn(messages))
            if tries >= self.output_attempts:
                raise OutputInvalid(
                    f"agent {self.name!r} gave no {self.shape.form.name} in {tries} answers; the last: {error.message}",
                    component=self.name,
                    operation="output",
                    details={**error.details, "errors": error.message, "attempts": str(tries)},
                    cause=error,
                ) from error
            return Message(
                "user",
                (Text(f"{error.message}. Answer again, with nothing but what fits."),),
                name=CHECK,
                id=fresh_id(),
            )
        return None

    # What follows an answer

    def after_model(self, state: AgentState) -> Any:
        """A task for each call, another answer, or the end."""
        messages = state["messages"]
        at = last_answer(messages)
        if at is None:
            return END
        if messages[-1].name == CHECK:
            return "model"
        calls = all_calls(messages[at])
        if not calls:
            return END
        facts, tally = state.get("facts", Facts()), state.get("tally", Tally())
        rulings, past = self._rulings(messages[at], tally, facts)
        if not len(self.tools):
            raise ConfigurationError(
                f"the model called {calls[0].name!r}, but this agent has no tools",
                component=self.name,
                operation="model",
            )
        made: Counter[str] = Counter()
        own = messages[at].id or ""
        all_made = past.calls
        sends: list[Send] = []
        for call, ruling in zip(calls, rulings, strict=True):
            made[call.name] += 1
            all_made += 1
            nth = past.of(call.name) + made[call.name]
            task = ToolTask(call=call, ruling=ruling, facts=facts, nth=nth, nth_of_all=all_made, answer=own)
            sends.append(Send("tool", task))
        return sends

    def after_tool(self, state: AgentState) -> str:
        """Back to the model, unless one of the calls was of a tool whose result is the answer."""
        at = last_answer(state["messages"])
        calls = state["messages"][at].calls if at is not None else ()
        ends = any(one is not None and one.ends_turn for one in (self.tools.get(call.name) for call in calls))
        return END if ends else "model"

    def _rulings(self, answer: Message, tally: Tally, facts: Facts) -> tuple[list[Ruling], Before]:
        """What the gates say of the newest answer's calls, and the counts before it; ``tally`` counts it too."""
        blocks = [block for block in answer.content if isinstance(block, _CALLS)]
        digests = [args_digest(block) if isinstance(block, ToolCall) else "" for block in blocks]
        past = before(tally, blocks, digests)
        return rule_all(blocks, self.tools, facts, self.rules, past, digests), past

    # A tool

    async def tool_node(self, state: ToolTask) -> dict[str, Any]:
        """One call, to its one closing result."""
        call = state["call"]
        outcome = await self.ask_tool(
            ToolAsk(
                call,
                self.tools.get(call.name),
                state["ruling"],
                state["facts"],
                self.name,
                state["nth"],
                state["nth_of_all"],
            )
        )
        closed(outcome.call)
        told = [outcome.message.named(f"{state.get('answer', '')}:{state['nth_of_all']}:{call.id}:result")]
        made: dict[str, Any] = {"messages": told}
        if outcome.facts != NOTHING:
            made["facts"] = outcome.facts
        if (more := spent()) is not None:
            made["usage"] = more
        return made

    async def _call_tool(self, ask: ToolAsk) -> Outcome:
        return await dispatch(ask.call, ask.ruling, self.tools, self.rules, ask.facts, self.on_error)


def _tally_of(state: AgentState, messages: Sequence[Message], begin: int) -> Tally:
    """The counts of this turn so far; counted anew where the state has none for it."""
    tally = state.get("tally", Tally())
    if tally.turn == (messages[begin].id or ""):
        return tally
    return counted(messages[begin:], messages[begin].id or "", begin)


async def _call_model(ask: ModelAsk) -> Reply:
    """One answer, noted: a node that runs again after a pause is not billed again, and a replay asks no model."""
    model, request = ask.model, ask.request
    if isinstance(model, Recorded):
        return await model.ainvoke(request)

    def digest() -> str:
        last = request.messages[-1].text if request.messages else ""
        told = f"{model.component_id}\x1f{len(request.messages)}\x1f{last}\x1f{[tool.name for tool in request.tools]}"
        return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    call = IntendedCall("model", model.component_id)
    return await anoted(
        current_task.get(), "model", digest, lambda: model.ainvoke(request), stored, reply_of, call=call
    )


def all_calls(message: Message) -> list[ToolCall]:
    """The calls of a message, those with broken arguments as calls without any: each needs a closing result."""
    out: list[ToolCall] = []
    for block in message.content:
        if isinstance(block, ToolCall):
            out.append(block)
        elif isinstance(block, InvalidToolCall):
            out.append(ToolCall(id=block.id, name=block.name or "unknown", args={}))
    return out


def _broken(message: Message) -> bool:
    return any(type(block) is InvalidToolCall for block in message.content)


def grown(turn: Turn, added: Sequence[Message]) -> Turn:
    """The turn with further messages."""
    return Turn([*turn.messages, *added], turn.facts, turn.agent, turn.round) if added else turn


def _over(agent: str, code: str, why: str) -> AgentError:
    return AgentError(f"agent {agent!r}: {why}", component=agent, operation="turn", details={"why": code})
