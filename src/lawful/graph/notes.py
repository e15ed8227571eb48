"""Pure: what the world told node code (clock, ids, chance, a model, a tool, a call), kept by the place that asked.

A note is an answer under the checkpoint that the task runs from. So a node that runs again after a question, a failure or a
crash gets the same again, live time travel asks anew, and a replay from the record finds all of them. Notes are written with
the next record of their step: alone they are worth no commit.
"""

from __future__ import annotations

import builtins
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from lawful.core.context import Slot, here
from lawful.core.errors import Failure, from_json
from lawful.core.replay import IntendedCall, gap, recorded_in
from lawful.core.secret import redact
from lawful.graph.handling import remembered
from lawful.graph.persist import told_error
from lawful.graph.restored import Saved
from lawful.graph.step_task import Base, Task
from lawful.journal.records import Answer, PutAnswer

T = TypeVar("T")
NOTHING: Any = object()


def note_id(slot: Slot, what: str) -> str:
    """32 hex digits of lineage, place, visit and what was asked: equal over resumes, and in a replay."""
    text = f"{slot.run.lineage}\x1f{slot.step_key}\x1f{slot.visit}\x1fnote:{what}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def noted(task: Task, what: str, make: Callable[[], T]) -> T:
    """What ``make`` gave when this place of the run asked for its k-th ``what`` first. Raises: ReplayGap, NotInRun."""
    if task.closed:
        here(what)
    key = f"{what}:{task.count(f'note:{what}')}"
    found = known(task, key)
    if found is not NOTHING:
        return found
    value = make()
    keep(task, key, value)
    return value


def known(task: Task, what: str) -> Any:
    """The note of that name, or NOTHING. Raises: ReplayGap, in a replay whose record has none."""
    qid = note_id(task, what)
    held = task.base.answers.get(qid)
    if held is None and (record := recorded_in(task.run)) is not None:
        held = record.answers.get(qid)
        if held is None:
            raise gap(task, f"the record does not say what node {task.node!r} was told: {what}")
    return NOTHING if held is None else task.program.registry.decode(held[0], where=f"note {what!r}")


async def anoted(
    slot: Slot | None,
    what: str,
    digest: Callable[[], str],
    ask: Callable[[], Awaitable[T]],
    dump: Callable[[T], Any],
    load: Callable[[Any], T],
    *,
    again: bool = True,
    call: IntendedCall | None = None,
) -> T:
    """What somebody answered when this place of the run asked its k-th ``what``; ``digest`` gives a digest of the request,
    and is not asked where nothing is kept.

    With ``again`` a node that runs again gets that too, unless it asks something else; a replay always does, failures
    included. ``call`` is what a dry run tells of it. Raises: ReplayGap, in a replay whose record has no answer, or one to
    another request.
    """
    if not isinstance(slot, Task) or slot.base.recorder is None:
        return await ask()
    asked = digest()
    key = f"{what}:{slot.count(f'note:{what}')}"
    if recorded_in(slot.run) is not None:
        return load(_replayed(slot, key, asked, call))
    held = slot.base.answers.get(note_id(slot, key)) if again else None
    if held is not None and held[1] == asked:
        return load(slot.program.registry.decode(held[0], where=f"note {what!r}"))
    try:
        answer = await ask()
    except Failure as error:
        keep(slot, f"{key}:failed", error.to_json(), asked)
        raise
    if held is None:
        keep(slot, key, dump(answer), asked)
    return answer


def _replayed(task: Task, key: str, asked: str, call: IntendedCall | None) -> Any:
    record = recorded_in(task.run)
    assert record is not None
    held = record.answers.get(note_id(task, key))
    failed = record.answers.get(note_id(task, f"{key}:failed")) if held is None else None
    found = held or failed
    if found is None:
        why = f"the record has no answer to what node {task.node!r} asks: {key}"
        raise gap(task, why, _told_by(call, task, why))
    if found[1] != asked:
        why = f"node {task.node!r} asks something else than is recorded: {key}"
        raise gap(task, why, _told_by(call, task, why))
    told = task.program.registry.decode(found[0], where=f"note {key!r}")
    if failed is not None:
        raise from_json(told)
    return told


def _told_by(call: IntendedCall | None, task: Task, why: str) -> IntendedCall | None:
    return None if call is None else replace(call, node=task.node, why=why)


def keep(task: Task, what: str, value: Any, asked: str = "") -> None:
    """Keep a note, where the run has a journal. Raises: ValidationError for what cannot be stored."""
    recorder, qid = task.base.recorder, note_id(task, what)
    if recorder is None or (asked and qid in task.base.answers):
        return
    held = [task.program.registry.encode(value, where=f"note {what!r} of node {task.node!r}"), asked]
    task.base.answers[qid] = held
    if task.run.durability != "exit":
        recorder.notes.append(_put(task.base, qid, held))


def _put(base: Base, qid: str, held: list[Any]) -> PutAnswer:
    blob = base.program.registry.encode(held, where=f"note {qid}")
    return PutAnswer(Answer(base.ns, base.checkpoint, qid, blob, "", base.run.clock.now()))


# Calls of tasks


def close_call(task: Task, inner: bytes, digest: str) -> str:
    """Let the end of the step keep a call's result, whose own record ends with the step; gives what it is kept under."""
    qid = note_id(task, "result")
    if task.run.durability != "exit":
        task.base.recorder.closing[qid] = _put(task.base, qid, [inner, digest])
    return qid


def close_failed(task: Task, error: Exception, digest: str) -> None:
    """The same for a call that failed, whose caller may have gone on all the same; a resume runs it again."""
    recorder = task.base.recorder
    if recorder is None or task.run.durability == "exit":
        return
    told: dict[str, Any] = told_error(error)
    if _BUILTIN.get(told["type"]) is type(error):
        args = (
            [*error.args, error.filename] if isinstance(error, OSError) and error.filename is not None else error.args
        )
        if all(_plain(each) for each in args):
            told["args"] = [redact(each) if isinstance(each, str) else each for each in args]
    qid = note_id(task, "failed")
    held = [task.program.registry.encode(told, where=f"error of task {task.node!r}"), digest]
    recorder.closing[qid] = _put(task.base, qid, held)


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))


def _raised(told: Mapping[str, Any]) -> Exception:
    """The error that was kept: one of ours or of Python's own again, of any other its type's name and its text."""
    kind = _BUILTIN.get(told["type"]) if "args" in told else None
    return kind(*told["args"]) if kind is not None else remembered(told)


_BUILTIN: Mapping[str, type[Exception]] = {
    name: kind for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, Exception)
}


def stored_calls(saved: Iterable[Saved]) -> dict[str, list[Any]]:
    """Results of calls of an unfinished step, as an earlier run stored them, by what they are kept under."""
    bodies = [each.done for each in saved if each.done is not None and len(each.done) == 4]
    return {body[2]: [body[0], body[1]] for body in bodies}


def close_stored(base: Base, saved: Iterable[Saved]) -> None:
    """The same for calls of an unfinished step that an earlier run made."""
    if base.recorder is None or base.run.durability == "exit":
        return
    for qid, held in stored_calls(saved).items():
        base.recorder.closing[qid] = _put(base, qid, held)


def _called(task: Task, why: str) -> IntendedCall:
    return IntendedCall("task", task.node, node=task.node, args=list(task.given or ()), why=why)


def replayed_call(task: Task, digest: str) -> tuple[Any, Exception | None]:
    """What a call gave or failed with, by the record.

    Raises: ReplayGap, where it has no such call or one of other arguments.
    """
    record = recorded_in(task.run)
    assert record is not None
    given = record.answers.get(note_id(task, "result"))
    held = given or record.answers.get(note_id(task, "failed"))
    if held is None:
        why = f"the record has no result of task {task.node!r} ({task.step_key})"
        raise gap(task, why, _called(task, why))
    if held[1] and held[1] != digest:
        why = f"task {task.node!r} ({task.step_key}) is recorded with other arguments than it has now"
        raise gap(task, why, _called(task, why))
    told = task.program.registry.decode(held[0], where=f"result of task {task.node!r}")
    return (told, None) if given is not None else (None, _raised(told))
