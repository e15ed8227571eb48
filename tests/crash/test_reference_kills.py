"""Each reference effect against its server, killed when its request is carried out: never two, found where it can be."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lawful.cli.forge import Forge
from lawful.core.secret import Secret
from lawful.effects import Effect, EffectContext, Ledger, Succeeded, Unknown
from lawful.effects.references import (
    Charge,
    Entry,
    FileWrite,
    Letter,
    Mail,
    Notice,
    OpenPull,
    Payment,
    PullRequest,
    Row,
    Webhook,
    Write,
)
from lawful.stores.sqlite import SQLiteJournal
from support.effect_crashes import die
from support.forks import ended, fork
from support.providers import Mailbox, Receiver, Stripe, running

pytestmark = [pytest.mark.integration, pytest.mark.crash]

Made = tuple[Effect[Any, Any], Any, Callable[[], int]]
"""An effect, a command, and how often it has happened."""


@contextmanager
def pull_request(folder: Path) -> Generator[Made]:
    with Forge(folder / "forge") as forge, running(forge):
        forge.heads["acme/shop/fix"] = "c0ffee"
        command = OpenPull("acme/shop", "fix", "main", "Fix it", "c0ffee")
        yield PullRequest(Secret(forge.token), forge.url), command, lambda: len(forge.pulls("acme/shop", ""))


@contextmanager
def payment(folder: Path) -> Generator[Made]:
    with running(stripe := Stripe()):
        yield Payment(Secret("sk_test"), stripe.url), Charge("7", "cus_1", 1200), lambda: len(stripe.payments)


@contextmanager
def late_payment(folder: Path) -> Generator[Made]:
    """The list does not show it yet: the key is used again."""
    with running(stripe := Stripe()):
        stripe.lag = 60.0
        yield Payment(Secret("sk_test"), stripe.url), Charge("7", "cus_1", 1200), lambda: len(stripe.payments)


@contextmanager
def mail(folder: Path) -> Generator[Made]:
    with running(mailbox := Mailbox()):
        effect = Mail("shop@example.com", "127.0.0.1", mailbox.port)
        yield effect, Letter("17", "ann@example.com", "Hello", "text"), lambda: len(mailbox.mails)


@contextmanager
def webhook(folder: Path) -> Generator[Made]:
    with running(receiver := Receiver(remembers=False)):
        yield Webhook(Secret("k")), Notice(receiver.url, "evt_1", "paid", {}), lambda: len(receiver.arrived)


@contextmanager
def remembered_webhook(folder: Path) -> Generator[Made]:
    with running(receiver := Receiver(remembers=True)):
        effect = Webhook(Secret("k"), remembers=3600.0)
        yield effect, Notice(receiver.url, "evt_1", "paid", {}), lambda: len(receiver.done)


@contextmanager
def row(folder: Path) -> Generator[Made]:
    path = folder / "shop.db"
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("CREATE TABLE orders(operation TEXT UNIQUE, item TEXT)")

    def count() -> int:
        with closing(sqlite3.connect(path)) as con:
            return con.execute("SELECT count(*) FROM orders").fetchone()[0]

    yield Row(path), Entry("orders", "7", {"item": "tea"}), count


@contextmanager
def file(folder: Path) -> Generator[Made]:
    path = folder / "note.txt"
    yield FileWrite(), Write(str(path), "text"), lambda: int(path.exists() and path.read_text() == "text")


SETTLED = [pull_request, payment, late_payment, remembered_webhook, row, file]
ASKED = [mail, webhook]


@pytest.mark.parametrize("place", [*SETTLED, *ASKED], ids=lambda each: each.__name__)
def test_killed_when_the_request_is_carried_out(place: Any, tmp_path: Path) -> None:
    """Ledger: L7; Rows: S2-029"""
    with place(tmp_path) as (effect, command, happened):

        def work() -> None:
            inner = effect.perform

            async def dying(command: Any, ctx: EffectContext) -> None:
                await inner(command, ctx)
                die()

            setattr(effect, "perform", dying)  # noqa: B010 - it is a method
            Ledger(SQLiteJournal(tmp_path / "j.db")).execute_sync(effect.plan(command))

        assert ended(fork(work)) == -9
        assert happened() == 1
        journal = SQLiteJournal(tmp_path / "j.db")
        for _ in range(2):
            outcome = Ledger(journal).execute_sync(effect.plan(command))
            if place in ASKED:
                assert isinstance(outcome, Unknown), outcome
                assert outcome.next_step == "resolve"
            else:
                assert isinstance(outcome, Succeeded), outcome
            assert happened() == 1
        journal.close()
