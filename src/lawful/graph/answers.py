"""Answers on their way to questions: each accepted once, each for a question that is open."""

from __future__ import annotations

import re
from typing import Any, cast

from lawful.core.errors import AlreadyAnswered, UnknownQuestion, ValidationError, nearest
from lawful.core.questions import Approved, Question, Reply
from lawful.graph.standing import Standing
from lawful.journal.records import Answer, PutAnswer

_ID = re.compile(r"[0-9a-f]{32}")

UNDECIDED = (
    "When there are multiple pending interrupts, you must specify the interrupt id when resuming."
    " Docs: docs/human-in-the-loop.md"
)


ANSWERS: dict[str, type] = {t.__name__: t for t in (bool, int, float, str, list, dict)}
"""The types that an answer can be held to."""


def fits(value: Any, answer_type: str) -> bool:
    """Whether an answer is of the type that its question asked for; "" takes anything."""
    if answer_type == "approved":
        return isinstance(value, (bool, Approved))
    wanted = ANSWERS.get(answer_type)
    if wanted is None:
        return True
    if wanted is float:
        return type(value) in (int, float)
    return isinstance(value, wanted) and not (wanted is int and isinstance(value, bool))


def answer(m: Standing, resume: Any, asked: dict[str, Question], by: str) -> None:
    """Note the answers that ``resume`` gives, and let tasks sleep on whose questions have none.

    Raises, before anything is noted: UnknownQuestion (strict), AlreadyAnswered, ValidationError, RuntimeError.
    """
    given = _by_id(m, resume, asked)
    if given is None:
        m.run.shared["resume"] = [resume]
        return
    taken = {qid: value for qid, value in given.items() if _open(m, qid, value, asked)}
    for qid, value in taken.items():
        _take(m, asked[qid], value, by)
    for task in m.tasks if taken else ():
        if task.questions and not any(q.id in taken or q.kind == "effect_recovery" for q in task.questions):
            task.sleep_on()


def _open(m: Standing, qid: str, value: Any, asked: dict[str, Question]) -> bool:
    """Whether the question may be answered so; False for an unknown one, leniently."""
    question = asked.get(qid)
    if qid in m.answers and (question is None or question.ns == m.ns):
        raise AlreadyAnswered(
            f"Question {qid} of thread {m.run.thread!r} has its answer already",
            component="graph",
            operation="resume",
            details={"thread": m.run.thread or "", "question": qid},
        )
    if question is None:
        if not m.program.strict:
            return False
        raise UnknownQuestion(
            f"Thread {m.run.thread!r} has no open question {qid!r}.{nearest(qid, asked)}",
            component="graph",
            operation="resume",
            details={"thread": m.run.thread or "", "question": qid},
        )
    if not fits(value, question.answer_type):
        wanted = "True or False" if question.answer_type == "approved" else f"a value of type {question.answer_type}"
        raise ValidationError(
            f"Question {qid} is answered by {wanted}, not by {value!r:.100}",
            component="graph",
            operation="resume",
            details={"question": qid},
        )
    return True


def _take(m: Standing, question: Question, value: Any, by: str) -> None:
    if question.kind == "effect_recovery":
        return  # it only wakes the run: what happened is the ledger's to say, and it may have to be asked again
    assert m.recorder is not None
    own = question.ns == m.ns
    held = [value, question.digest, by]
    done = m.recorder.encode(held, f"answer to {question.id}")
    m.recorder.put_chunks(m.dirty, done.new)
    checkpoint = m.checkpoint if own else question.checkpoint
    m.dirty.append(PutAnswer(Answer(question.ns, checkpoint, question.id, done.blob, by, m.run.clock.now())))
    if own:
        m.answers[question.id] = held


def _by_id(m: Standing, resume: Any, asked: dict[str, Question]) -> dict[str, Any] | None:
    """The answers by question id, or None for a plain value that nothing waits for yet."""
    if isinstance(resume, Reply):
        return {resume.question: resume.value}
    if isinstance(resume, (list, tuple)):
        items = cast("list[Any]", resume)
        if items and all(isinstance(r, Reply) for r in items):
            return {r.question: r.value for r in items}
    if isinstance(resume, dict):
        told = cast("dict[Any, Any]", resume)
        if told and all(isinstance(k, str) and _ID.fullmatch(k) for k in told):
            return told
    waiting = [q for q in asked if q not in m.answers]
    if len(waiting) > 1:
        raise RuntimeError(UNDECIDED)
    return {waiting[0]: resume} if waiting else None
