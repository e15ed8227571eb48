"""The reference effects against servers that speak the real wire: what each provider promises, and no more, is relied on."""

from __future__ import annotations

import ast
import base64
import hmac
import json
import sqlite3
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest

from lawful.cli.forge import LOSE, Forge
from lawful.core.errors import NetworkError, ValidationError
from lawful.core.secret import Secret
from lawful.effects import (
    Conflicted,
    Denied,
    EffectContext,
    Intent,
    Ledger,
    Outcome,
    Refused,
    RevisionMoved,
    Succeeded,
    Unknown,
)
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
    digest_of,
)
from lawful.effects.states import Planned
from lawful.journal.memory import MemoryJournal
from lawful.testing import VirtualClock
from support.providers import Mailbox, Receiver, Stripe, running
from support.tree import SOURCE

pytestmark = pytest.mark.integration


def done(intent: Intent[Any, Any], journal: MemoryJournal | None = None) -> Outcome[Any]:
    return Ledger(journal or MemoryJournal()).execute_sync(intent)


def test_each_is_forty_lines_or_less_and_says_what_is_promised() -> None:
    tree = ast.parse((SOURCE / "effects" / "references.py").read_text(encoding="utf-8"))
    effects = [n for n in tree.body if isinstance(n, ast.ClassDef) and any("Effect" in ast.unparse(b) for b in n.bases)]
    assert [n.name for n in effects] == ["PullRequest", "Payment", "Mail", "Webhook", "Row", "FileWrite"]
    assert {n.name: lines for n in effects if (lines := (n.end_lineno or 0) - n.lineno + 1) > 40} == {}
    assert [n.name for n in effects if len((ast.get_docstring(n) or "").split("\n\n")) < 2] == []


# A pull request

PULL = OpenPull("acme/shop", "fix", "main", "Fix it", "c0ffee")


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    """As GitHub: a second open one for the same branch is refused."""
    with Forge(tmp_path / "forge", one_open=True) as server, running(server):
        server.heads["acme/shop/fix"] = PULL.revision
        yield server


def pull_request(forge: Forge, **headers: str) -> PullRequest:
    effect = PullRequest(Secret(forge.token), forge.url)
    effect.headers = headers
    return effect


def test_a_pull_request_whose_reply_is_lost_is_found_by_its_operation(forge: Forge) -> None:
    effect = pull_request(forge, **{LOSE: "1"})
    outcome = done(effect.plan(PULL))
    assert isinstance(outcome, Succeeded)
    assert (outcome.receipt.number, outcome.recorded) == (1, True)
    [there] = forge.pulls("acme/shop", "acme:fix")
    assert there["body"].splitlines() == ["Revision: c0ffee", f"Operation: {outcome.op_id}"]


def test_a_pull_request_of_somebody_else_is_not_taken_for_ours(forge: Forge) -> None:
    forge.create("acme/shop", {"head": "fix", "base": "main", "title": "Fix it", "body": "by hand"}, "")
    outcome = done(pull_request(forge).plan(PULL))
    assert isinstance(outcome, Refused)
    assert outcome.code == "422"
    assert len(forge.pulls("acme/shop", "")) == 1


def test_a_pull_request_that_is_not_found_is_not_opened_again(forge: Forge) -> None:
    """GitHub promises no bound for its list, so a person is asked before a second request leaves."""

    class Cut(PullRequest):
        sent = 0

        async def perform(self, command: OpenPull, ctx: EffectContext) -> Any:
            ctx.before_send()
            Cut.sent += 1
            raise NetworkError("the request was lost on its way")

    effect = Cut(Secret(forge.token), forge.url)
    ledger = Ledger(MemoryJournal())
    for _ in range(8):
        assert isinstance(ledger.execute_sync(effect.plan(PULL)), Unknown)
    assert (Cut.sent, forge.pulls("acme/shop", "")) == (1, [])


@pytest.mark.parametrize("present", ["badcafe", None])
def test_a_branch_that_has_moved_since_it_was_approved_is_not_published(forge: Forge, present: str | None) -> None:
    """Rows: S2-045"""
    forge.heads = {} if present is None else {"acme/shop/fix": present}
    effect, journal = pull_request(forge), MemoryJournal()
    assert done(effect.plan(PULL), journal) == RevisionMoved(
        "github.pull_request:acme/shop:fix@c0ffee", "c0ffee", present
    )
    assert forge.pulls("acme/shop", "") == []
    forge.heads["acme/shop/fix"] = PULL.revision
    assert isinstance(done(effect.plan(PULL), journal), Succeeded)


def test_a_forge_that_knows_the_token_not_or_is_not_there(forge: Forge) -> None:
    """The branch cannot be read then, so nothing is claimed."""
    for effect in (PullRequest(Secret("another token"), forge.url), PullRequest(Secret("t"), "http://127.0.0.1:9")):
        outcome = done(effect.plan(PULL))
        assert isinstance(outcome, Denied)
        assert not outcome.lasting
        assert "revision cannot be read" in outcome.reason


def test_a_forge_that_takes_no_more_refuses(forge: Forge) -> None:
    class Late(PullRequest):
        async def current_revision(self, command: OpenPull, ctx: EffectContext) -> str | None:
            seen = await super().current_revision(command, ctx)
            forge.token = "another"
            return seen

    outcome = done(Late(Secret(forge.token), forge.url).plan(PULL))
    assert isinstance(outcome, Refused)
    assert outcome.code == "401"


def test_a_forge_knows_a_repeat_by_its_key_and_takes_two_without_one(tmp_path: Path) -> None:
    told = {"head": "fix", "base": "main", "title": "Fix it", "body": ""}
    with Forge(tmp_path / "forge") as forge:
        assert [forge.create("a/b", told, "k")[1]["number"] for _ in range(2)] == [1, 1]
        assert forge.create("a/b", {**told, "title": "Other"}, "k")[0] == 422
        assert [forge.create("a/b", told, "")[1]["number"] for _ in range(2)] == [2, 3]


# A payment

CHARGE = Charge("order-7", "cus_1", 1200)


@pytest.fixture
def stripe() -> Iterator[Stripe]:
    server = Stripe()
    with running(server):
        yield server


def payment(stripe: Stripe) -> Payment:
    return Payment(Secret("sk_test"), stripe.url, pause=0.3)


def test_a_payment_whose_reply_is_lost_is_made_once(stripe: Stripe) -> None:
    stripe.script = ["lose"]
    assert done(payment(stripe).plan(CHARGE)) == Succeeded("pi_1", "stripe.payment:order-7", True)
    assert (len(stripe.payments), stripe.answers) == (1, [0])


def test_a_payment_that_the_list_does_not_show_yet_is_repeated_under_its_key(stripe: Stripe) -> None:
    stripe.script, stripe.lag = ["lose"], 60.0
    assert done(payment(stripe).plan(CHARGE)) == Succeeded("pi_1", "stripe.payment:order-7")
    assert (len(stripe.payments), stripe.answers) == (1, [0, 200])


def test_a_saved_500_is_no_refusal(stripe: Stripe) -> None:
    """Stripe answers every repeat with the 500 that it saved, though the payment was made: only a look tells."""
    stripe.script, stripe.lag = ["500"], 60.0
    journal = MemoryJournal()
    outcome = done(payment(stripe).plan(CHARGE), journal)
    assert isinstance(outcome, Unknown)
    assert set(stripe.answers) == {500}
    assert len(stripe.payments) == 1
    stripe.lag = 0.0
    assert done(payment(stripe).plan(CHARGE), journal) == Succeeded("pi_1", "stripe.payment:order-7", True)


def test_a_key_in_use_is_waited_for(stripe: Stripe) -> None:
    stripe.script, stripe.lag = ["slow"], 60.0
    assert done(payment(stripe).plan(CHARGE)) == Succeeded("pi_1", "stripe.payment:order-7")
    assert stripe.answers == [0, 409, 200]
    assert len(stripe.payments) == 1


def test_a_key_that_was_used_for_something_else_is_a_conflict_and_never_replaced(stripe: Stripe) -> None:
    intent = payment(stripe).plan(CHARGE)
    ledger = Ledger(MemoryJournal())
    ledger.plan(intent)
    stripe.saved[_key(ledger, intent)] = (stripe.now(), {"amount": ["1"]}, 200, {"id": "pi_0"})
    assert isinstance(ledger.execute_sync(intent), Conflicted)
    assert (stripe.answers, stripe.payments) == ([400], [])


def _key(ledger: Ledger, intent: Intent[Any, Any]) -> str:
    state = ledger.state(intent.op_id)
    assert isinstance(state, Planned)
    return state.facts.intent.idempotency_key


def test_a_declined_card_is_refused(stripe: Stripe) -> None:
    stripe.script = ["402"]
    outcome = done(payment(stripe).plan(CHARGE))
    assert isinstance(outcome, Refused)
    assert outcome.code == "402"


def test_no_repeat_leaves_once_the_key_may_be_forgotten(stripe: Stripe) -> None:
    """A day later Stripe would take the repeat for a new payment."""

    class Dying(Payment):
        async def perform(self, command: Charge, ctx: EffectContext) -> str:
            await super().perform(command, ctx)
            raise SystemExit

    clock = VirtualClock()
    journal = MemoryJournal(clock=clock)
    stripe.lag = 10**6
    with pytest.raises(SystemExit):
        Ledger(journal, clock=clock).execute_sync(Dying(Secret("sk_test"), stripe.url).plan(CHARGE))
    clock.sleep(25 * 3600)
    stripe.passed = 25 * 3600
    assert isinstance(Ledger(journal, clock=clock).execute_sync(payment(stripe).plan(CHARGE)), Unknown)
    assert (len(stripe.payments), stripe.answers) == (1, [200])


# Mail

LETTER = Letter("17", "ann@example.com", "Hello", "text\n.a line with a dot\n")


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    server = Mailbox()
    with running(server):
        yield server


def test_a_mail_bears_the_operations_id(mailbox: Mailbox) -> None:
    outcome = done(Mail("shop@example.com", "127.0.0.1", mailbox.port).plan(LETTER))
    assert isinstance(outcome, Succeeded)
    [mail] = [message_from_bytes(each) for each in mailbox.mails]
    assert (mail["Message-ID"], mail["To"]) == (outcome.receipt, "ann@example.com")
    assert str(mail.get_payload()).split() == LETTER.text.split()


def test_a_mail_without_an_answer_is_a_question_and_is_never_sent_again(mailbox: Mailbox) -> None:
    mailbox.lose = 1
    ledger, effect = Ledger(MemoryJournal()), Mail("shop@example.com", "127.0.0.1", mailbox.port)
    for _ in range(2):
        outcome = ledger.execute_sync(effect.plan(LETTER))
        assert isinstance(outcome, Unknown)
        assert outcome.next_step == "resolve"
    assert len(mailbox.mails) == 1


@pytest.mark.parametrize("answer, retryable", [(b"554 5.7.1 spam", False), (b"451 4.3.0 later", True)])
def test_a_mail_that_the_server_answers_with_no_is_refused(mailbox: Mailbox, answer: bytes, retryable: bool) -> None:
    mailbox.after_data = answer
    outcome = done(Mail("shop@example.com", "127.0.0.1", mailbox.port).plan(LETTER))
    assert isinstance(outcome, Refused)
    assert outcome.retryable is retryable


def test_an_unknown_recipient_and_a_missing_server_are_refusals(mailbox: Mailbox) -> None:
    mailbox.refused = {"ann@example.com"}
    outcome = done(Mail("shop@example.com", "127.0.0.1", mailbox.port).plan(LETTER))
    assert isinstance(outcome, Refused)
    assert not outcome.retryable
    outcome = done(Mail("shop@example.com", "127.0.0.1", 9).plan(LETTER))
    assert isinstance(outcome, Refused)
    assert outcome.retryable
    assert mailbox.mails == []


# A webhook

KEY = "a-shared-secret"


@pytest.mark.parametrize("remembers", [True, False])
def test_a_webhook_is_repeated_only_to_a_receiver_that_drops_repeats(remembers: bool) -> None:
    with running(receiver := Receiver(remembers=remembers)):
        receiver.lose = 1
        effect = Webhook(Secret(KEY), remembers=3600.0 if remembers else None)
        outcome = done(effect.plan(Notice(f"{receiver.url}/hook", "evt_1", "order.paid", {"order": 7})))
    assert receiver.done == ["evt_1"]
    assert len(receiver.arrived) == (2 if remembers else 1)
    assert isinstance(outcome, Succeeded if remembers else Unknown)
    for headers, body in receiver.arrived:
        signed = f"evt_1.{headers['webhook-timestamp']}.".encode() + body
        mac = base64.b64encode(hmac.digest(KEY.encode(), signed, "sha256")).decode()
        assert headers["webhook-signature"] == f"v1,{mac}"
        assert json.loads(body) == {"type": "order.paid", "data": {"order": 7}}


@pytest.mark.parametrize("status, kind", [(410, Refused), (429, Refused), (503, Unknown)])
def test_what_a_receivers_answer_says(status: int, kind: type) -> None:
    with running(receiver := Receiver(remembers=False)):
        receiver.status = status
        outcome = done(Webhook(Secret(KEY)).plan(Notice(receiver.url, "evt_1", "order.paid", {})))
    assert isinstance(outcome, kind)
    assert len(receiver.arrived) == 1
    assert getattr(outcome, "retryable", False) is (status == 429)


# A row


@pytest.fixture
def table(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as con:
        con.execute("CREATE TABLE orders(operation TEXT UNIQUE, item TEXT, price INT CHECK(price > 0))")
        con.execute("CREATE TABLE plain(operation TEXT, item TEXT)")
    con.close()
    return tmp_path / "shop.db"


def rows(path: Path, name: str = "orders") -> list[Any]:
    con = sqlite3.connect(path)
    try:
        return con.execute(f"SELECT * FROM {name}").fetchall()
    finally:
        con.close()


def test_a_row_is_inserted_once_though_its_worker_dies(table: Path) -> None:
    class Dying(Row):
        async def perform(self, command: Entry, ctx: EffectContext) -> str:
            await super().perform(command, ctx)
            raise NetworkError("gone before it could say so")

    entry = Entry("orders", "7", {"item": "tea'); DROP TABLE orders --", "price": 3})
    journal = MemoryJournal()
    for effect in (Dying(table), Row(table)):
        assert isinstance(done(effect.plan(entry), journal), Succeeded)
    assert rows(table) == [("sql.row:orders:7", "tea'); DROP TABLE orders --", 3)]


@pytest.mark.parametrize(
    "entry",
    [
        Entry("orders", "7", {"item": "tea", "price": 0}),
        Entry("orders", "7", {"colour": "red"}),
        Entry("plain", "7", {"item": "tea"}),
        Entry("nothing", "7", {}),
    ],
    ids=["check", "no such column", "operation is not unique", "no such table"],
)
def test_a_row_that_the_table_does_not_take_is_refused(table: Path, entry: Entry) -> None:
    assert isinstance(done(Row(table).plan(entry)), Refused)
    assert rows(table) == rows(table, "plain") == []


async def test_a_name_that_is_none_never_reaches_the_database(table: Path) -> None:
    with pytest.raises(ValidationError):
        await Row(table).lookup(Entry('orders" --', "7", {}), None)  # pyright: ignore[reportArgumentType]


# A file


def test_a_file_is_written_whole_and_once(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    ledger = Ledger(MemoryJournal())
    assert isinstance(ledger.execute_sync(FileWrite().plan(Write(str(path), "one"))), Succeeded)
    second = Write(str(path), "two\r\n", digest_of(b"one"))
    assert isinstance(ledger.execute_sync(FileWrite().plan(second)), Succeeded)
    assert path.read_bytes() == b"two\r\n"
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_that_somebody_has_changed_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("by somebody else")
    assert isinstance(done(FileWrite().plan(Write(str(path), "one"))), Refused)
    assert path.read_text() == "by somebody else"


def test_a_file_write_that_nobody_noted_is_seen_in_the_file(tmp_path: Path) -> None:
    class Dying(FileWrite):
        async def perform(self, command: Write, ctx: EffectContext) -> str:
            await super().perform(command, ctx)
            raise NetworkError("gone before it could say so")

    outcome = done(Dying().plan(Write(str(tmp_path / "notes.txt"), "one")))
    assert outcome == Succeeded(digest_of(b"one"), outcome.op_id, True)
