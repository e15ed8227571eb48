"""The helper for users' own graphs finds what is wrong, says where, and accepts what is right."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lawful.core.errors import ConfigurationError, StoreError, StoreFull
from lawful.journal.memory import MemoryJournal
from lawful.journal.records import Batch, PutCheckpoint
from lawful.testing.conformance_kit import Ids, checkpoint
from lawful.testing.crash import (
    CrashFound,
    ForkServer,
    Life,
    Point,
    Write,
    check_file,
    crash_everywhere,
    watch_writes,
)
from support import crash_programs
from support.tree import environment

pytestmark = pytest.mark.crash


def test_a_program_that_goes_on_rightly_is_accepted(tmp_path: Path) -> None:
    """Every write of its three steps was a point of death, and no case is left behind. Rows: S1-047."""
    report = crash_everywhere(crash_programs.careful, folder=tmp_path)
    assert report.value == "{'trail': ['a', 'b', 'c']}"
    before = [point.write for point in report.points if point.place == "before"]
    after = [point.write for point in report.points if point.place == "after"]
    assert before == after == list(range(1, len(before) + 1))
    assert len(before) >= 5
    assert list(tmp_path.iterdir()) == []


def test_what_is_done_twice_to_the_world_is_found(tmp_path: Path) -> None:
    with pytest.raises(CrashFound, match=r"killed before write 1: it ends with(.|\n)*'world': 'xx'") as found:
        crash_everywhere(crash_programs.forgetful, folder=tmp_path)
    assert found.value.point == Point(1, "before")
    assert (found.value.folder / "world").read_text() == "xx"


def test_a_program_that_cannot_go_on_is_found_with_its_words() -> None:
    with pytest.raises(CrashFound, match=r"killed after write 2: it does not end any more(.|\n)*where was I"):
        crash_everywhere(crash_programs.helpless, places=("after",), writes=[2])


def test_a_program_that_fails_by_itself_is_told_apart() -> None:
    with pytest.raises(CrashFound, match=r"not killed: the program fails by itself(.|\n)*by itself") as found:
        crash_everywhere(crash_programs.broken)
    assert found.value.point is None


def test_a_program_that_hangs_shows_where(tmp_path: Path) -> None:
    with ForkServer(crash_programs.stuck) as server:
        ended = server.run(tmp_path / "case", timeout=0.5)
    assert ended.code == 1
    assert "Timeout" in ended.said
    assert "in stuck" in ended.said


def test_a_child_is_killed_when_its_time_has_come(tmp_path: Path) -> None:
    with ForkServer(crash_programs.stuck) as server:
        assert server.run(tmp_path / "case", kill_after=0.05).killed


def test_a_program_without_a_module_is_refused() -> None:
    def inner(life: Life) -> Any:
        return None

    with pytest.raises(ConfigurationError, match="inner cannot be imported by another Python"):
        ForkServer(inner)


def test_a_damaged_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    con = sqlite3.connect(path)
    con.execute("CREATE TABLE t (a)")
    con.execute("CREATE INDEX i ON t (a)")
    con.executemany("INSERT INTO t VALUES (?)", [(f"{n:0100d}",) for n in range(2000)])
    con.commit()
    con.close()
    check_file(path)
    whole = bytearray(path.read_bytes())
    whole[-4096 * 3 : -4096 * 2] = bytes(4096)
    path.write_bytes(whole)
    with pytest.raises(CrashFound, match="damaged"):
        check_file(path)


def test_what_the_hook_raises_is_the_writes_own() -> None:
    """Before: nothing is stored. After: stored, and the caller hears of a failure, as when a reply is lost."""
    for call in ("commit", "submit"):
        for place, stored in (("before", 0), ("after", 1)):
            journal = MemoryJournal()
            told: list[tuple[int, str, str]] = []

            def hook(write: Write, told: list[Any] = told, place: str = place) -> None:
                told.append((write.number, write.call, write.place))
                if write.place == place:
                    raise StoreFull("full")

            watch_writes(journal, hook)
            batch = Batch("t", (PutCheckpoint(checkpoint(Ids()())),))
            heard: list[BaseException | None] = []
            if call == "commit":
                with pytest.raises(StoreFull):
                    journal.commit(batch)
            else:
                journal.submit(batch, heard.append)
                assert [type(one) for one in heard] == [StoreFull]
            assert len(journal.history("t")) == stored
            assert told[0] == (1, call, "before")


@pytest.mark.parametrize("call", ["commit", "submit"])
def test_after_a_write_that_was_refused_the_hook_is_not_called(call: str) -> None:
    journal = MemoryJournal()
    row = checkpoint(Ids()())
    journal.commit(Batch("t", (PutCheckpoint(row),)))
    told: list[str] = []
    watch_writes(journal, lambda write: told.append(write.place))
    again, heard = Batch("t", (PutCheckpoint(row),)), list[BaseException | None]()
    if call == "commit":
        with pytest.raises(StoreError):
            journal.commit(again)
    else:
        journal.submit(again, heard.append)
        assert [isinstance(one, StoreError) for one in heard] == [True]
    assert set(told) == {"before"}


def test_a_script_may_kill_its_own_program_behind_its_guard(tmp_path: Path) -> None:
    """The other Python imports the script by its file's name; without the guard it would kill while it is imported."""
    body = (
        "from lawful.testing import crash_everywhere\n"
        "def program(life):\n"
        "    return life.folder.name == ''\n"
        "{guard}\n"
        "    print(crash_everywhere(program, writes=()))\n"
    )
    for guard, code in (("if __name__ == '__main__':", 0), ("if True:", 1)):
        script = tmp_path / "killed.py"
        script.write_text(body.format(guard=guard))
        done = subprocess.run(
            [sys.executable, str(script)], env=environment(), capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == code, done.stderr
        assert ("put the call under if __name__" in done.stderr) == bool(code)
        assert ("0 crash points" in done.stdout) == (not code)
