"""`interrupt`: a node asks and the run stops there, for days if need be; when answered the node runs again with the answer."""

from __future__ import annotations

import hashlib
import sys
import threading
from contextlib import suppress
from typing import Any, TypeVar, overload

from lawful.core.context import here
from lawful.core.errors import InvalidUpdateError, NotInRun, QuestionChanged, ValidationError
from lawful.core.questions import Approved, Question
from lawful.core.replay import recorded_in
from lawful.core.signals import GraphInterrupt, latch
from lawful.graph.answers import ANSWERS, fits
from lawful.graph.asking_form import Form
from lawful.graph.step_task import Task
from lawful.journal.records import Answer, Batch, PutAnswer

A = TypeVar("A")

Interrupt = Question
"""LangGraph's name for the record of a question."""


@overload
def interrupt(value: Any, *, name: str | None = None) -> Any: ...
@overload
def interrupt(value: Any, *, name: str | None = None, answer: type[A]) -> A: ...
@overload
def interrupt(value: Any, *, name: str | None = None, response_schema: type[A]) -> A: ...
@overload
def interrupt(value: Any, *, name: str | None = None, response_schema: dict[str, Any] | None) -> Any: ...
def interrupt(value: Any, *, name: str | None = None, answer: Any = None, response_schema: Any = None) -> Any:
    """Ask ``value`` and stop, or, once it is answered, return the answer.

    The node runs again from its start when the run is resumed; the k-th unnamed question of a visit gets its own answer.
    ``name`` gives the question a name, needed where several are asked at once in one node. ``answer=Approved`` types the
    answer: a yes or no becomes an `Approved`, true in a condition and knowing who answered.
    ``response_schema`` is LangGraph's: a JSON Schema that is shown with the question (``question.response_schema``), or a class
    that has one, of which the node gets the answer; a plain answer that does not fit fails the node and is not taken.

    Raises: GraphInterrupt (a control signal, recorded before it is raised, so that no handler can swallow the pause);
    NotInRun outside a node; QuestionChanged (strict) where a re-entered node asks something else under an answered id;
    InvalidUpdateError where two unnamed questions are asked at once.
    """
    if answer is not None and answer is not Approved and answer not in ANSWERS.values():
        raise InvalidUpdateError(
            f"interrupt(answer=...) takes Approved or one of {', '.join(ANSWERS)}: what a person's answer can be held to"
            " before it is accepted",
            component="graph",
            operation="interrupt",
        )
    form = Form(response_schema) if response_schema is not None else None
    slot = here("interrupt")
    if not isinstance(slot, Task):
        raise NotInRun("interrupt works only inside a node of a graph", component="run", operation="interrupt")
    slot.asks()
    index = "" if name is not None else str(_turn(slot))
    qid = question_id(slot, f"name:{name}" if name is not None else f"index:{index}")
    held = slot.base.answers.get(qid)
    if held is None and (record := recorded_in(slot.run)) is not None:
        held = record.answers.get(qid)
    offered = None if held is not None or recorded_in(slot.run) is not None else _offered(slot, qid, value)
    told = held if held is not None else offered
    if told is not None:
        given = _answered(slot, qid, value, told, answer)
        made = given if form is None else form.take(given, qid)
        if offered is not None:
            _accept(slot, qid, offered)
        return made
    question = Question(
        value=value,
        id=qid,
        node=slot.node,
        name=name or "",
        answer_type="approved" if answer is Approved else answer.__name__ if answer is not None else "",
        digest=digest(slot, value),
        ns=slot.base.ns,
        checkpoint=slot.base.checkpoint,
        task=slot.id,
        details={"response_schema": form.schema} if form is not None else {},
    )
    signal = GraphInterrupt((question,))
    latch(slot, signal)
    raise signal


def question_id(task: Task, what: str) -> str:
    """32 hex digits of lineage, namespace path, visit and the question's name or call index; never of its payload."""
    text = f"{task.run.lineage}\x1f{task.step_key}\x1f{task.visit}\x1f{what}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def digest(task: Task, value: Any) -> str:
    """Of what is asked, to notice a change; empty where it cannot be stored anyway."""
    try:
        return hashlib.blake2b(task.program.registry.encode_sorted(value), digest_size=16).hexdigest()
    except ValidationError:
        return ""


def _turn(task: Task) -> int:
    """The call index of an unnamed question; all unnamed ones of a visit must come from one thread and one coroutine."""
    asyncio = sys.modules.get("asyncio")
    who: tuple[int, int] = (threading.get_ident(), 0)
    if asyncio is not None:
        with suppress(RuntimeError):  # no loop runs in this thread
            who = (who[0], id(asyncio.current_task()))
    n = task.count("question")
    counts = task.counts
    assert counts is not None
    first = counts.setdefault("question:who", hash(who))
    if first != hash(who):
        task.fault = InvalidUpdateError(
            f"Node {task.node!r} asks several unnamed questions at once, so answers could reach the wrong one:"
            " give each a name, interrupt(value, name=...)",
            component="graph",
            operation=f"node {task.node!r}",
            details={"node": task.node},
        )
        raise task.fault
    return n


def _offered(task: Task, qid: str, value: Any) -> list[Any] | None:
    """An answer that is accepted only here: one to this question, whose form the node alone can tell, or a plain resume
    value that was given before anybody asked, which the first question that needs it takes, once."""
    proposed: dict[str, list[Any]] = task.run.shared.get("proposed") or {}
    if qid in proposed:
        return proposed.pop(qid)
    waiting = task.run.shared.get("resume")
    if not waiting:
        return None
    try:
        return [waiting.pop(), digest(task, value), ""]
    except IndexError:
        return None


def _accept(task: Task, qid: str, held: list[Any]) -> None:
    run = task.run
    if run.journal is not None and run.thread is not None:
        blob = task.program.registry.encode(held, where=f"answer to {qid}")
        record = PutAnswer(Answer(task.base.ns, task.base.checkpoint, qid, blob, held[2], run.clock.now()))
        run.journal.commit(Batch(run.thread, (record,), run.root.lease))
    task.base.answers[qid] = held


def _answered(task: Task, qid: str, value: Any, held: list[Any], answer: Any) -> Any:
    given, asked = held[0], held[1]
    if task.program.strict and asked and asked != digest(task, value):
        task.fault = QuestionChanged(
            f"Node {task.node!r} now asks {value!r:.100} under question {qid}, which was answered when it asked something else."
            " Give each question a name, or ask in the same order every time.",
            component="graph",
            operation=f"node {task.node!r}",
            details={"node": task.node, "question": qid},
        )
        raise task.fault
    if answer is None:
        return given
    if answer is Approved:
        if isinstance(given, Approved):
            return given
        return Approved(given, held[2] if len(held) > 2 else "")
    if not fits(given, answer.__name__):
        raise ValidationError(
            f"Question {qid} of node {task.node!r} wants an answer of type {answer.__name__}, got {type(given).__name__}",
            component="graph",
            operation="interrupt",
            details={"question": qid},
        )
    return given
