"""Kills a program at each write to its journal, lets another process finish it, and compares with a run nobody killed.

The children die by SIGKILL: no handler, no ``finally``, no flush. Needs ``os.fork``.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from lawful.core.questions import Question
from lawful.effects.ledger import Ledger
from lawful.graph.outcome import Done, Failed, Paused
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.crash_server import (
    Ended,
    ForkServer,
    Life,
    Place,
    Point,
    Program,
    Write,
    die_at,
    watch_writes,
)

__all__ = [
    "TO_A_PERSON",
    "CrashFound",
    "Ended",
    "ForkServer",
    "Life",
    "Place",
    "Point",
    "Program",
    "Report",
    "Write",
    "check_file",
    "crash_everywhere",
    "die_at",
    "history_of",
    "run_to_end",
    "watch_writes",
]


class Report(Struct, frozen=True):
    """What `crash_everywhere` did: every case ended as the run that nobody killed."""

    points: tuple[Point, ...]
    """Where processes were killed."""
    value: str
    """What every case gave, as text."""
    duplicates: int = 0
    """Effects that were applied more often than once; CrashFound names the first, so 0 in a report."""
    lost: int = 0
    """Effects of the run that nobody killed which a case neither has nor asks a person about; likewise 0."""
    to_person: int = 0
    """Cases at whose end a person is asked what became of an effect."""

    def __str__(self) -> str:
        told = f"{len(self.points)} crash points, {self.duplicates} duplicates, {self.lost} lost"
        return f"{told}, {self.to_person} to a person"


TO_A_PERSON = "a person is asked"
"""What `run_to_end` gives where only a person can say what became of an effect."""

Effects: TypeAlias = Callable[[Path], Mapping[str, int]]
"""How often each effect was applied, by its key, as the world in a case's folder shows it."""


class CrashFound(AssertionError):
    """After a death at ``point`` the case did not end as the run that nobody killed; ``folder`` holds what it left."""

    def __init__(self, point: Point | None, message: str, folder: Path) -> None:
        where = f"killed {point.place} write {point.write}" if point is not None else "not killed"
        super().__init__(f"{where}: {message}\nWhat it left: {folder}")
        self.point = point
        self.folder = folder


def run_to_end(
    graph: Any,
    given: Any,
    *,
    thread: str = "crash",
    answer: Callable[[Question], Any] = lambda question: True,
    driver: Literal["sync", "async"] = "sync",
    busy_timeout: float = 30.0,
    durability: Literal["sync", "async", "exit"] | None = None,
) -> Any:
    """Begin ``thread`` with ``given``, or go on where it stands; answer every question; give the values at the end.

    The graph's own journal says where it stands, so the same call serves the first process of a case and all others.
    What became of an effect is not answered here: where looking again settles nothing, this gives `TO_A_PERSON`.
    ``busy_timeout`` is how many seconds to wait for whoever runs on the thread; ``durability`` is as in `invoke`.
    Raises: what the run failed with.
    """

    told: dict[str, Any] = {"busy_timeout": busy_timeout, "durability": durability}

    def run(given: Any) -> Any:
        work = graph.run if driver == "async" else graph.run_sync
        return _awaited(work(given, thread=thread, **told))

    def resume(replies: Sequence[Any]) -> Any:
        work = graph.resume if driver == "async" else graph.resume_sync
        return _awaited(work(thread, *replies, **told))

    fresh = graph.get_state(thread).metadata is None
    result, looked = run(given if fresh else None), set[str]()
    while True:
        match result:
            case Done():
                return graph.get_state(thread).values
            case Paused(questions) if lost := {q.id for q in questions if q.kind == "effect_recovery"}:
                if lost & looked:
                    return TO_A_PERSON
                looked |= lost
                result = run(None)
            case Paused(questions):
                replies = [question.answer(answer(question)) for question in questions]
                result = resume(replies) if replies else run(None)
            case Failed(error):
                raise error
            case other:
                raise TypeError(f"a run ended with {other!r}")


def _awaited(result: Any) -> Any:
    return asyncio.run(result) if asyncio.iscoroutine(result) else result


def history_of(graph: Any, thread: str = "crash") -> list[Any]:
    """Step, source, values and next nodes of every checkpoint, oldest first: what does not depend on clock and ids."""
    told = [
        [entry.metadata["step"], entry.metadata["source"], entry.values, list(entry.next)]
        for entry in graph.get_state_history({"configurable": {"thread_id": thread}})
    ]
    return told[::-1]


def crash_everywhere(
    program: Program,
    *,
    folder: str | os.PathLike[str] | None = None,
    places: Sequence[Place] = ("before", "after"),
    writes: Iterable[int] | None = None,
    timeout: float = 60.0,
    effects: Effects | None = None,
) -> Report:
    """Kill ``program`` at each of its journal's writes (or at ``writes``), run it again, and compare.

    The file must be whole after each death, and the second process must end with the value of a run that nobody killed.
    Cases lie in ``folder`` (a new temporary one, if None); those that went well are removed. ``timeout`` is in seconds
    for each process. ``effects`` counts effects in a case's folder: none may be there twice, and none be missing that
    the run nobody killed has, unless the case's journal asks a person about one; then the values need not be equal.
    Deaths in the middle of a write are SQLite's own to survive and are not tried here.

    Raises: CrashFound, at the first point that fails; ConfigurationError, for a program that no other Python can import.
    """
    room = Path(tempfile.mkdtemp(prefix="lawful-crash-") if folder is None else folder)
    points: list[Point] = []
    asked = 0
    with ForkServer(program) as server:
        wanted = server.run(room / "whole", timeout=timeout)
        if wanted.code:
            raise CrashFound(None, f"the program fails by itself: {wanted.said}", room / "whole")
        wants: Mapping[str, int] = effects(room / "whole") if effects is not None else {}
        for place in places:
            for number in writes if writes is not None else itertools.count(1):
                case = Case(room / f"{place}-{number}", Point(number, place), wanted, effects, wants)
                killed, left = _case(server, case, timeout)
                if not killed:
                    break
                asked += left
                points.append(case.point)
    shutil.rmtree(room / "whole")
    if folder is None:
        shutil.rmtree(room)
    return Report(tuple(points), wanted.shown, to_person=asked)


class Case(Struct, frozen=True):
    """One death, and what must hold after it."""

    folder: Path
    point: Point
    wanted: Ended
    effects: Effects | None
    wants: Mapping[str, int]


def _case(server: ForkServer, case: Case, timeout: float) -> tuple[bool, bool]:
    """Whether the process was killed before its end, and whether a person is asked in the end."""
    folder, point = case.folder, case.point
    first = server.run(folder, point=point, timeout=timeout)
    last = first
    if first.killed:
        check_file(folder / "journal.db", point)
        last = server.run(folder, number=1, timeout=timeout)
    if last.code:
        raise CrashFound(point, f"it does not end any more: {last.said}", folder)
    asked = case.effects is not None and _unresolved(folder / "journal.db") > 0
    if not asked and last.value != case.wanted.value:
        raise CrashFound(point, f"it ends with\n  {last.shown}\ninstead of\n  {case.wanted.shown}", folder)
    if case.effects is not None:
        _counted(case, case.effects(folder), asked=asked)
    shutil.rmtree(folder)
    return first.killed, asked


def _counted(case: Case, found: Mapping[str, int], *, asked: bool) -> None:
    twice = {key: n for key, n in found.items() if n > max(1, case.wants.get(key, 1))}
    if twice:
        raise CrashFound(case.point, f"effects were applied again: {twice}", case.folder)
    missing = [key for key, n in case.wants.items() if found.get(key, 0) < n]
    if missing and not asked:
        raise CrashFound(case.point, f"effects are lost, and nobody is asked about them: {missing}", case.folder)


def _unresolved(path: Path) -> int:
    journal = SQLiteJournal(path)
    try:
        return len(Ledger(journal).unresolved())
    finally:
        journal.close()


def check_file(path: Path, point: Point | None = None) -> None:
    """Look at a copy, so that the next process finds what the dead one left. Raises: CrashFound, for a damaged file."""
    if not path.exists():
        return
    with tempfile.TemporaryDirectory() as aside:
        for part in (path, path.with_name(f"{path.name}-wal")):
            if part.exists():
                shutil.copy(part, aside)
        con = sqlite3.connect(Path(aside) / path.name)
        try:
            found: Any = con.execute("PRAGMA integrity_check").fetchall()
        except sqlite3.DatabaseError as error:
            found = error
        finally:
            con.close()
    if found != [("ok",)]:
        raise CrashFound(point, f"SQLite finds the file damaged: {found}", path.parent)
