"""What lies beside a journal: the newest claim, and outcomes that it would not take; behind guards and ciphers too."""

from __future__ import annotations

import gc
import shutil
import sqlite3
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lawful.core.questions import Principal
from lawful.effects import EffectContext, Ledger, Succeeded, Unknown
from lawful.effects.marks import quarantine
from lawful.effects.spool import spool_of
from lawful.effects.witness import Newest, Witness, witness_of
from lawful.journal.guard import GuardedJournal
from lawful.journal.memory import MemoryJournal
from lawful.stores.encrypted_journal import EncryptedJournal
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.provider import FakeCommand, FakeEffect, FakeProvider
from support.ciphers import TestCipher
from support.forks import ended, fork

pytestmark = pytest.mark.integration

ORDER = FakeCommand("order-1", "paid by 4111 1111")
CIPHER = TestCipher({"k": b"key"}, "k")


def plain(path: Path) -> Any:
    return SQLiteJournal(path, busy_timeout=0.02)


def encrypted(path: Path) -> Any:
    return EncryptedJournal(plain(path), CIPHER)


def guarded(path: Path) -> Any:
    """Whoever acts may write everywhere and read nowhere."""
    return GuardedJournal(plain(path), lambda who, thread, access: access != "read").acting(Principal("ann"))


def anything(who: Principal, thread: str, access: str) -> bool:
    return True


def both(path: Path) -> Any:
    return GuardedJournal(encrypted(path), anything).acting(Principal("ann"))


FORMS = [plain, encrypted, guarded, both]
Form = Callable[[Path], Any]


def pays(journal: Any, folder: Path, command: FakeCommand, **promises: Any) -> Any:
    effect = FakeProvider(folder / "provider.db", **promises).effect("pay")
    return Ledger(journal).execute_sync(effect.plan(command))


@pytest.mark.parametrize("form", FORMS)
def test_an_older_copy_is_noticed_whatever_is_around_the_journal(form: Form, tmp_path: Path) -> None:
    """Case C15. Ledger: L7"""
    path = tmp_path / "j.db"
    journal = form(path)
    assert isinstance(pays(journal, tmp_path, FakeCommand("order-0")), Succeeded)
    journal.close()
    shutil.copy(path, tmp_path / "copy.db")
    journal = form(path)
    assert isinstance(pays(journal, tmp_path, ORDER), Succeeded)
    journal.close()
    shutil.move(tmp_path / "copy.db", path)
    for side in ("-wal", "-shm"):
        Path(f"{path}{side}").unlink(missing_ok=True)

    def after() -> None:
        old = form(path)
        outcome = pays(old, tmp_path, ORDER)
        assert isinstance(outcome, Unknown), outcome
        assert old.transact(quarantine) is not None
        assert FakeProvider(tmp_path / "provider.db").applied == {"order-0": 1, "order-1": 1}
        assert Ledger(old).end_quarantine()

    assert ended(fork(after)) == 0

    def later() -> None:
        assert isinstance(pays(form(path), tmp_path, FakeCommand("order-2")), Succeeded)

    assert ended(fork(later)) == 0, "it is noticed once"


@pytest.mark.parametrize("keys", [["other-1", "other-2", "other-3"], ["order-1"]], ids=["others", "the same"])
def test_a_copy_that_has_gone_on_since_is_noticed_all_the_same(tmp_path: Path, keys: list[str]) -> None:
    """It has as many claims as were noted, even one of that name, and not the one that was made."""
    path = tmp_path / "j.db"
    journal = plain(path)
    pays(journal, tmp_path, FakeCommand("order-0"))
    journal.close()
    shutil.copy(path, tmp_path / "copy.db")
    journal = plain(path)
    pays(journal, tmp_path, FakeCommand("order-1"))
    journal.close()
    elsewhere = plain(tmp_path / "copy.db")
    (tmp_path / "elsewhere").mkdir()
    for key in keys:
        pays(elsewhere, tmp_path / "elsewhere", FakeCommand(key))
    elsewhere.close()
    for side in ("-wal", "-shm"):
        Path(f"{path}{side}").unlink(missing_ok=True)
    shutil.move(tmp_path / "copy.db", path)

    def after() -> None:
        assert isinstance(pays(plain(path), tmp_path, FakeCommand("order-9")), Unknown)

    assert ended(fork(after)) == 0


def test_of_two_claims_that_are_noted_late_the_newer_stays(tmp_path: Path) -> None:
    """Two workers note what they have committed in whatever order they come to it."""
    watch, path = Witness(tmp_path / "claims"), tmp_path / "claims"
    newer, older = Newest("b", 3, "00", 20.0), Newest("a", 3, "00", 10.0)
    for claim in (newer, older):
        watch.committed(None, claim)
    assert b'"op_id":"b"' in path.read_bytes()
    watch.committed(None, Newest("c", 3, "00", 30.0))
    assert b'"op_id":"c"' in path.read_bytes()


def test_a_note_that_is_cut_off_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    journal = plain(path)
    pays(journal, tmp_path, ORDER)
    journal.close()
    note = Path(f"{path}-claims")
    note.write_bytes(note.read_bytes()[:9])

    def after() -> None:
        again = plain(path)
        assert isinstance(pays(again, tmp_path, FakeCommand("order-2")), Succeeded)
        assert again.read(quarantine) is None

    assert ended(fork(after)) == 0
    assert b"order-2" in note.read_bytes()


def test_a_folder_that_takes_no_note_keeps_nobody_from_claiming(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    journal = plain(path)
    pays(journal, tmp_path, FakeCommand("order-0"))
    Path(f"{path}-claims").unlink()
    Path(f"{path}-claims").mkdir()
    assert isinstance(pays(journal, tmp_path, ORDER), Succeeded)
    journal.close()


@pytest.mark.parametrize("form", [encrypted, both])
def test_a_kept_outcome_is_as_encrypted_as_the_journal(
    form: Form, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C14. Ledger: L7, L12"""
    monkeypatch.setattr("lawful.effects.drive._PAUSE", 0.001)
    path = tmp_path / "j.db"
    journal = form(path)
    holder = sqlite3.connect(path, isolation_level=None)

    class Trouble(FakeEffect):
        async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
            await super().perform(command, ctx)
            holder.execute("BEGIN IMMEDIATE")
            return "receipt 4111 1111"

    provider = FakeProvider(tmp_path / "provider.db")
    effect = Trouble(provider, "pay", None, {"timeout": 5.0})
    assert isinstance(Ledger(journal).execute_sync(effect.plan(ORDER)), Unknown)
    holder.execute("ROLLBACK")
    holder.close()
    journal.close()
    [kept] = Path(f"{path}-spool").glob("*.json")
    assert b"4111" not in kept.read_bytes()
    after = form(path)
    told = pays(after, tmp_path, ORDER)
    assert told == Succeeded("receipt 4111 1111", "pay:order-1", True)
    assert not kept.exists()
    after.close()


def test_whoever_acts_on_one_journal_shares_what_is_kept_of_it() -> None:
    base = MemoryJournal()
    guard = GuardedJournal(base, anything)
    assert spool_of(guard.acting(Principal("ann"))) is spool_of(guard.acting(Principal("bob"))) is spool_of(base)
    assert witness_of(guard.acting(Principal("ann"))) is witness_of(base)
    assert spool_of(base.scoped("acme")) is not spool_of(base)


def test_a_journal_that_is_let_go_of_is_not_kept() -> None:
    journal = MemoryJournal()
    spool_of(journal)
    witness_of(journal)
    gone = weakref.ref(journal)
    del journal
    gc.collect()
    assert gone() is None
