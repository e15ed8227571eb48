"""Answers on their way to questions: each accepted once, each for a question that is open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct, to_builtins

from lawful.core.errors import (
    AlreadyAnswered,
    ConfigurationError,
    EffectDenied,
    UnknownQuestion,
    ValidationError,
    nearest,
)
from lawful.core.questions import Approved, Principal, Question, Reply
from lawful.graph.command import Command
from lawful.graph.standing import Standing
from lawful.journal.records import Answer, PutAnswer

_ID = re.compile(r"[0-9a-f]{32}")

UNDECIDED = (
    "When there are multiple pending interrupts, you must specify the interrupt id when resuming."
    " Docs: docs/human-in-the-loop.md"
)


ANSWERS: dict[str, type] = {t.__name__: t for t in (bool, int, float, str, list, dict)}
"""The types that an answer can be held to."""


def answers_of(replies: Sequence[Any]) -> Command[Any] | None:
    """The command that gives these answers; None without any.

    Raises: ConfigurationError for a bare value: an answer names its question, so that it reaches no other.
    """
    for reply in replies:
        if not isinstance(reply, Reply):
            got = "a Question" if isinstance(reply, Question) else f"{reply!r:.80}"
            raise ConfigurationError(
                f"resume takes answers to questions, not {got}: [question] = graph.questions(thread), then"
                " question.answer(value)",
                component="graph",
                operation="resume",
            )
    return Command(resume=list(replies)) if replies else None


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


def answer(m: Standing, resume: Any, asked: dict[str, Question], by: Principal | str, *, alone: bool = False) -> None:
    """Note the answers that ``resume`` gives, and let tasks sleep on whose questions have none.

    ``alone`` says that no update or goto comes with it.

    Raises, before anything is noted: UnknownQuestion (strict), AlreadyAnswered, ValidationError, RuntimeError; EffectDenied
    where an approval asks for a role that ``by`` has not.
    """
    who = by if isinstance(by, Principal) else Principal(by)
    given = _by_id(m, resume, asked)
    if given is None:
        if alone and m.program.strict:
            _expected(m)
        m.run.shared["resume"] = [resume]
        return
    taken = {qid: value for qid, value in given.items() if _open(m, qid, value, asked, who)}
    for qid, value in taken.items():
        if asked[qid].response_schema is None:
            _take(m, asked[qid], value, who)
        else:  # whether it is of the form is for the node to say, which then takes it
            m.run.shared.setdefault("proposed", {})[qid] = [value, asked[qid].digest, who.id]
    for task in m.tasks if taken else ():
        if task.questions and not any(q.id in taken or q.kind == "effect_recovery" for q in task.questions):
            task.sleep_on()


def _expected(m: Standing) -> None:
    """Raises: UnknownQuestion on a thread that has not begun; AlreadyAnswered, where what is pending has its answer."""
    thread = m.run.thread
    told: dict[str, Any] = {"component": "graph", "operation": "resume", "details": {"thread": thread or ""}}
    if not m.tasks and m.step < 0:
        raise UnknownQuestion(f"Thread {thread!r} asks nothing: nothing has run on it", **told)
    if m.tasks and m.answers:
        nodes = ", ".join(sorted({repr(task.node) for task in m.tasks}))
        raise AlreadyAnswered(
            f"Thread {thread!r} has no open question: {nodes} has its answer already{won([*m.answers.values()][-1])}, and"
            " is unfinished. invoke(None, ...) goes on with that answer; after fork(get_state(...), None) it asks again",
            **told,
        )


def _open(m: Standing, qid: str, value: Any, asked: dict[str, Question], who: Principal) -> bool:
    """Whether the question may be answered so; False for an unknown one, leniently."""
    question = asked.get(qid)
    if qid in m.answers and (question is None or question.ns == m.ns):
        raise AlreadyAnswered(
            f"Question {qid} of thread {m.run.thread!r} has its answer already{won(m.answers[qid])}",
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
    _may(question, who)
    if question.kind == "effect_recovery" and m.program.strict and not _wakes(value) and not _decides(value):
        raise ValidationError(
            f"Question {qid} is answered by 'reconcile', Happened(receipt), DidNotHappen(retry=True | False) or GiveUp(),"
            f" not by {value!r:.100}",
            component="graph",
            operation="resume",
            details={"question": qid},
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


def won(held: list[Any]) -> str:
    """Whose answer stands, and what it says."""
    return f": {held[2] or 'somebody'} answered {held[0]!r:.100}"


def _may(question: Question, who: Principal) -> None:
    """Raises: EffectDenied."""
    role = question.details.get("role", "")
    if question.kind == "approval" and role and role not in who.roles:
        raise EffectDenied(
            f"{who.id or 'Whoever answers'} has not the role {role!r} that question {question.id} asks for: answer it by"
            " graph.resume(..., by=Principal(id, roles))",
            component="graph",
            operation="resume",
            details={"question": question.id, "role": role, "by": who.id},
        )


def _wakes(value: Any) -> bool:
    """Whether an answer to an unknown outcome only asks to look again."""
    return value is None or value is True or value == "reconcile"


def _decides(value: Any) -> bool:
    """Whether an answer to an unknown outcome is a person's decision; what it means is the ledger's to say."""
    if isinstance(value, Struct):
        return type(value).__struct_config__.tag in RULINGS
    return isinstance(value, dict) and cast("dict[str, Any]", value).get("is") in RULINGS


RULINGS = ("happened", "did_not_happen", "give_up")
"""How decisions about an unknown outcome are tagged."""


def _take(m: Standing, question: Question, value: Any, who: Principal) -> None:
    if question.kind == "effect_recovery":
        if not _decides(value):
            return  # it only wakes the run: what happened is the ledger's to say, and it may have to be asked again
        value = to_builtins(value)
    assert m.recorder is not None
    own = question.ns == m.ns
    held = [value, question.digest, who.id, *([list(who.roles)] if who.roles else [])]
    done = m.recorder.encode(held, f"answer to {question.id}")
    m.recorder.put_chunks(m.dirty, done.new)
    checkpoint = m.checkpoint if own else question.checkpoint
    m.dirty.append(PutAnswer(Answer(question.ns, checkpoint, question.id, done.blob, who.id, m.run.clock.now())))
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
