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
from lawful.graph.step_task import Task
from lawful.journal.records import Answer, Batch, PutAnswer

A = TypeVar("A")

Interrupt = Question
"""LangGraph's name for the record of a question."""


@overload
def interrupt(value: Any, *, name: str | None = None) -> Any: ...
@overload
def interrupt(value: Any, *, name: str | None = None, answer: type[A]) -> A: ...
def interrupt(value: Any, *, name: str | None = None, answer: Any = None) -> Any:
    """Ask ``value`` and stop, or, once it is answered, return the answer.

    The node runs again from its start when the run is resumed; the k-th unnamed question of a visit gets its own answer.
    ``name`` gives the question a name, needed where several are asked at once in one node. ``answer=Approved`` types the
    answer: a yes or no becomes an `Approved`, true in a condition and knowing who answered.

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
    slot = here("interrupt")
    if not isinstance(slot, Task):
        raise NotInRun("interrupt works only inside a node of a graph", component="run", operation="interrupt")
    slot.asks()
    index = "" if name is not None else str(_turn(slot))
    qid = question_id(slot, f"name:{name}" if name is not None else f"index:{index}")
    held = slot.base.answers.get(qid)
    if held is None and (record := recorded_in(slot.run)) is not None:
        held = record.answers.get(qid)
    elif held is None:
        held = _plain_answer(slot, qid, value)
    if held is not None:
        return _answered(slot, qid, value, held, answer)
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


def _plain_answer(task: Task, qid: str, value: Any) -> list[Any] | None:
    """A plain resume value that was given before anybody asked: the first question that needs it takes it, once."""
    waiting = task.run.shared.get("resume")
    if not waiting:
        return None
    try:
        given = waiting.pop()
    except IndexError:
        return None
    held = [given, digest(task, value), ""]
    run = task.run
    if run.journal is not None and run.thread is not None:
        blob = task.program.registry.encode(held, where=f"answer to {qid}")
        record = PutAnswer(Answer(task.base.ns, task.base.checkpoint, qid, blob, "", run.clock.now()))
        run.journal.commit(Batch(run.thread, (record,), run.root.lease))
    task.base.answers[qid] = held
    return held


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
