"""Run one tool call that the gates let through: ask a person where they said so, run it once, give its one closing result."""

from __future__ import annotations

import hashlib
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from lawful.core.cassettes import NotRecorded
from lawful.core.context import current_task
from lawful.core.errors import Failure, ToolError, ValidationError
from lawful.core.events import ToolEnded, ToolFailed
from lawful.core.lazy import late
from lawful.core.messages import Message, Text, ToolCall
from lawful.core.replay import IntendedCall
from lawful.core.telling import listened, tell, tool_call
from lawful.graph.asking import interrupt
from lawful.graph.notes import anoted
from lawful.tools.answers import Approve, Edit, Reject, Respond, Verdict, verdict_of
from lawful.tools.definition import AnyTool
from lawful.tools.facts import NOTHING, Facts, add_facts, learnt
from lawful.tools.gates import Ask, Refuse, Rules, Ruling, Run, rule_all
from lawful.tools.members import MemberFailed
from lawful.tools.sources import Given, Source, marked, taken
from lawful.tools.toolset import Toolset
from lawful.tools.traits import Reliability

OnError: TypeAlias = Literal["tell", "stop"]
"""Of a tool that fails: tell the model, or end the run with the error (what the other calls gave is kept)."""


class Outcome(Struct, frozen=True):
    """What came of one call."""

    call: ToolCall
    """Settled: ok, error or denied."""
    facts: Facts = NOTHING
    ends_turn: bool = False
    artifact: Any = None
    """What the tool returned, before it was made text."""
    source: str | None = None
    """Where it came from, if outsiders wrote it."""
    reliability: Reliability | None = None
    """How far it can be relied on, as the tool's code says."""
    beside: Any = None
    """What the tool returned beside what the model is told (`lawful.tools.sources.Beside`)."""

    @property
    def message(self) -> Message:
        """The closing result, as the transcript has it."""
        call = self.call
        made = Message("tool", (Text(as_text(call.output)),), name=call.name, tool_call_id=call.id)
        if self.source is None and self.reliability is None:
            return made
        return marked(made, Source(call.name, call.id, self.reliability, self.source))


def refused(call: ToolCall, ruling: Refuse) -> Outcome:
    """The result of a call that a gate refused."""
    return Outcome(call.settled("error", ruling.message), ends_turn=ruling.ends_turn)


async def dispatch(
    call: ToolCall, ruling: Ruling, tools: Toolset, rules: Rules, facts: Facts = NOTHING, on_error: OnError = "tell"
) -> Outcome:
    """Carry out one ruling, inside a node of its own: a kill or a pause in one call does not touch another.

    Raises: the tool's error as a ToolError under ``on_error="stop"``; the signals of a question or an unknown outcome.
    """
    match ruling:
        case Refuse():
            with tool_call(call.name, call.id or "") as told:
                told.failed("tool_refused", ruling.message)
            return refused(call, ruling)
        case Ask():
            return await _asked(call, ruling, tools, rules, facts, on_error)
        case Run():
            return await _run(call, tools[call.name], on_error)


async def _asked(call: ToolCall, ruling: Ask, tools: Toolset, rules: Rules, facts: Facts, on_error: OnError) -> Outcome:
    """Ask, and do as the answer says. The question holds the arguments and their digest: a yes is a yes to these."""
    match _verdict(call, ruling):
        case Approve():
            return await _run(call, tools[call.name], on_error)
        case Reject(reason):
            said = f"A person refused this call{': ' + reason if reason else ''}. It was not run."
            return _told(call.settled("denied", said))
        case Respond(content):
            return _told(call.settled("ok", plain(content)))
        case Edit(args, tool):
            edited = msgspec.structs.replace(call, args=args, name=tool or call.name)
            [again] = rule_all([edited], tools, facts, rules)
            if isinstance(again, Refuse):
                return _told(call.settled("error", again.message))
            if edited.name != call.name and isinstance(again, Run):
                again = Ask(again.args_digest, (f"it was edited from a call of {call.name!r}",))
            if edited.name != call.name:
                return _named(await dispatch(edited, again, tools, rules, facts, on_error), call)
            return _named(await _run(edited, tools[edited.name], on_error), call)


def _told(call: ToolCall) -> Outcome:
    """The outcome of a call that was settled without being run."""
    with tool_call(call.name, call.id or ""):
        closed(call)
    return Outcome(call)


def closed(call: ToolCall) -> None:
    """Tell what came of a settled call, unless that was told: by a gate, by a middleware, whoever settled it."""
    if not listened():
        return
    if call.state == "ok":
        tell(ToolEnded(call.id or "", call.output))
    else:
        tell(ToolFailed(call.id or "", f"tool_{call.state}", str(call.output)))


def _verdict(call: ToolCall, ruling: Ask) -> Verdict:
    """The answer, read; one that says none of the four things is told so, and the question asked anew."""
    problem, times = "", 0
    while True:
        name = f"tool:{call.id}:{ruling.args_digest}" + (f":{times}" if times else "")
        answer = interrupt(question_of(call, ruling, problem), name=name)
        try:
            return verdict_of(answer)
        except ValidationError as error:
            problem, times = error.message, times + 1


def _named(outcome: Outcome, call: ToolCall) -> Outcome:
    """The outcome of an edited call, closing the call that the model made."""
    settled = call.settled(outcome.call.state, outcome.call.output)
    return msgspec.structs.replace(outcome, call=settled)


def question_of(call: ToolCall, ruling: Ask, problem: str = "") -> dict[str, Any]:
    """What the person is shown; ``problem`` says what was wrong with the last answer."""
    told = {"problem": problem} if problem else {}
    return {
        **told,
        "tool": call.name,
        "args": call.args,
        "call": call.id,
        "digest": ruling.args_digest,
        "reasons": list(ruling.reasons),
        "actions": ["approve", "edit", "reject", "respond"],
    }


async def _run(call: ToolCall, tool: AnyTool, on_error: OnError) -> Outcome:
    """Run it once; in a replay from the record it is not run, an effect apart, whose receipt the ledger has."""
    if tool.effect is not None:
        return await _ran(call, tool, on_error)

    def load(kept: Any) -> Outcome:
        state, output, facts, source, *more = kept
        reliability, beside = (*more, None, None)[:2]
        settled = call.settled(state, output)
        return Outcome(settled, facts, artifact=output, source=source, reliability=reliability, beside=beside)

    def digest() -> str:
        told = msgspec.json.encode([call.name, call.args], order="sorted")
        return hashlib.blake2b(told, digest_size=16).hexdigest()

    what, slot = f"tool {call.id}", current_task.get()
    meant = IntendedCall("tool", call.name, args=call.args)
    return await anoted(slot, what, digest, lambda: _ran(call, tool, on_error), _kept, load, again=False, call=meant)


def _kept(outcome: Outcome) -> Any:
    kept = [outcome.call.state, outcome.call.output, outcome.facts, outcome.source, outcome.reliability]
    return kept if outcome.beside is None else [*kept, outcome.beside]


async def _ran(call: ToolCall, tool: AnyTool, on_error: OnError) -> Outcome:
    learns = learnt(tool.traits)
    with tool_call(call.name, call.id or "") as told:
        try:
            given = taken(await tool.acall(call))
            output = plain(given.value)
        except NotRecorded:
            raise  # a test's mistake, which no model is to make the best of
        except MemberFailed as error:
            text, code, cause, learns = error.message, error.inner.code, error.inner, add_facts(learns, error.seen)
        except Failure as error:
            text, code, cause = error.message, error.code, error
        except Exception as error:  # noqa: BLE001 - the seam: a tool may raise anything, and it is the call's outcome
            text, code, cause = f"{type(error).__name__}: {error}", "tool_raised", error
        else:
            told.end(output)
            return _ok(call, tool, output, given)
        told.failed(code, text)
    if on_error == "stop":
        raise ToolError(
            f"tool {call.name!r} failed: {text}",
            component=call.name,
            operation="call",
            details={"tool": call.name, "call": call.id or ""},
            cause=cause,
        ) from cause
    return Outcome(call.settled("error", text), learns)


def _ok(call: ToolCall, tool: AnyTool, output: Any, given: Given) -> Outcome:
    heard = tool.traits.ingests_external or given.facts.external_seen
    outside = given.outside if given.outside is not None else tool.name if heard else None
    rating = given.reliability or tool.traits.reliability
    learns = Facts(tool.traits.reads_private or given.facts.private_seen, outside is not None, rated=rating is not None)
    settled = call.settled("ok", output)
    return Outcome(settled, learns, artifact=given.value, source=outside, reliability=rating, beside=given.beside)


def plain(value: Any) -> Any:
    """A tool's value as JSON types. Raises: ToolError for what JSON cannot say."""
    dump = getattr(value, "model_dump", None)
    try:
        return dump(mode="json") if dump is not None else msgspec.to_builtins(value, str_keys=True)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        try:
            return late("pydantic_core", "to_jsonable_python")(value)
        except (TypeError, ValueError):
            raise ToolError(
                f"what it returned cannot be told to a model: {error}", component="tools", operation="result"
            ) from error


def as_text(output: Any) -> str:
    """An outcome as the model reads it: a text as it is, all else as JSON."""
    return output if isinstance(output, str) else msgspec.json.encode(output).decode()
