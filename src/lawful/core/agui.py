"""Each event under its AG-UI 1.0 name, for front ends that speak that protocol; what it has no name for is CUSTOM.

Source: the AG-UI protocol, version 1.0 (docs.ag-ui.com, "Events"). An error that closes a bracket has the name of the end,
for AG-UI knows no failed step, message or tool call; ``metadata.event`` always tells our own kind. A run inside a run is a
subagent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from lawful.core import events as ev
from lawful.core.plain import plain

Fields: TypeAlias = dict[str, Any]

_BORNE: Final = ("event", "run_id", "parent_run_id", "seq")


def _run_started(event: ev.RunStarted) -> Fields:
    return {"threadId": event.thread or event.run_id, "runId": event.run_id, "protocolVersion": "1.0"}


def _run_finished(event: ev.RunFinished) -> Fields:
    fields: Fields = {"threadId": event.thread or event.run_id, "runId": event.run_id}
    if event.outcome == "interrupt":
        asked = [{"id": question, "reason": "interrupt"} for question in event.questions]
        return {**fields, "outcome": {"type": "interrupt", "interrupts": asked}}
    return {**fields, "outcome": {"type": "cancelled" if event.outcome == "drained" else "success"}}


def _failed(event: ev.RunFailed) -> Fields:
    return {"message": event.message, "code": event.code}


def _step(event: ev.NodeStarted | ev.NodeEnded | ev.NodeFailed) -> Fields:
    # Two tasks of one node may run at once, and AG-UI tells open steps apart by their names only.
    return {"stepName": f"{event.node}/{event.span}"}


def _message(event: ev.LLMEnded | ev.LLMFailed) -> Fields:
    return {"messageId": event.span}


def _call(event: ev.ToolCalled) -> Fields:
    return {"toolCallId": event.span}


def _result(span: str, content: str) -> Fields:
    return {"messageId": f"{span}:result", "toolCallId": span, "content": content, "role": "tool"}


def _output(event: ev.ToolEnded) -> Fields:
    shown = event.output
    return _result(event.span, shown if isinstance(shown, str) else msgspec.json.encode(plain(shown)).decode())


_FORMS: Final[dict[type[ev.Base], tuple[str, Callable[[Any], Fields]]]] = {
    ev.RunStarted: ("RUN_STARTED", _run_started),
    ev.RunFinished: ("RUN_FINISHED", _run_finished),
    ev.RunFailed: ("RUN_ERROR", _failed),
    ev.NodeStarted: ("STEP_STARTED", _step),
    ev.NodeEnded: ("STEP_FINISHED", _step),
    ev.NodeFailed: ("STEP_FINISHED", _step),
    ev.LLMStarted: ("TEXT_MESSAGE_START", lambda e: {"messageId": e.span, "role": "assistant"}),
    ev.LLMChunk: ("TEXT_MESSAGE_CONTENT", lambda e: {"messageId": e.span, "delta": e.text}),
    ev.LLMReasoning: ("REASONING_MESSAGE_CHUNK", lambda e: {"messageId": f"{e.span}:reasoning", "delta": e.text}),
    ev.LLMEnded: ("TEXT_MESSAGE_END", _message),
    ev.LLMFailed: ("TEXT_MESSAGE_END", _message),
    ev.ToolStarted: ("TOOL_CALL_START", lambda e: {"toolCallId": e.span, "toolCallName": e.tool}),
    ev.ToolArguments: ("TOOL_CALL_ARGS", lambda e: {"toolCallId": e.span, "delta": e.text}),
    ev.ToolCalled: ("TOOL_CALL_END", _call),
    ev.ToolEnded: ("TOOL_CALL_RESULT", _output),
    ev.ToolFailed: ("TOOL_CALL_RESULT", lambda e: _result(e.span, e.message or e.code)),
    ev.StateUpdated: ("STATE_SNAPSHOT", lambda e: {"snapshot": plain(e.values)}),
    ev.Custom: ("CUSTOM", lambda e: {"name": e.name, "value": plain(e.value)}),
}


def agui_name(kind: type[ev.Base]) -> str:
    """The AG-UI name of an event class, as a root run bears it."""
    return _FORMS[kind][0] if kind in _FORMS else "CUSTOM"


def agui(event: ev.Event) -> dict[str, Any]:
    """The event as AG-UI 1.0 JSON: ``type``, the fields that type needs, and in ``metadata`` our kind and seq."""
    kind = str(type(event).__struct_config__.tag)
    metadata: Fields = {"event": kind, "seq": event.seq}
    if isinstance(event, ev.NodeFailed | ev.LLMFailed | ev.ToolFailed):
        metadata |= {"code": event.code, "message": event.message}
    if event.parent_run_id is not None and isinstance(event, ev.RunStarted | ev.RunFinished | ev.RunFailed):
        return {**_subagent(event), "metadata": metadata}
    name, form = _FORMS.get(type(event), ("CUSTOM", None))
    if form is None:
        own = {key: value for key, value in ev.event_json(event).items() if key not in _BORNE}
        fields: Fields = {"name": f"lawful.{kind}", "value": own}
    else:
        fields = form(event)
    if event.parent_run_id is not None:
        fields["subagentRunId"] = event.run_id
    return {"type": name, **fields, "metadata": metadata}


def _subagent(event: ev.RunStarted | ev.RunFinished | ev.RunFailed) -> Fields:
    match event:
        case ev.RunStarted():
            # The root itself is no subagent, and one event does not tell whether its parent is the root.
            return {"type": "SUBAGENT_STARTED", "subagentRunId": event.run_id, "name": event.graph or event.run_id}
        case ev.RunFinished():
            finished: Fields = {"type": "SUBAGENT_FINISHED", "subagentRunId": event.run_id}
            if event.outcome == "success":
                return {**finished, "outcome": {"type": "success"}}
            return {**finished, "outcome": {"type": "suspended", "interruptIds": list(event.questions)}}
        case ev.RunFailed():
            return {"type": "SUBAGENT_ERROR", "subagentRunId": event.run_id, **_failed(event)}
