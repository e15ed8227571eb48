"""Six effects to use or to copy: what each kind of provider really promises, and what may be concluded from it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import smtplib
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from email.message import EmailMessage
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec import Struct

from lawful.core.errors import EffectConflicted, EffectRefused, NetworkError, ValidationError
from lawful.core.secret import Secret
from lawful.effects.capability import (
    Capability,
    Found,
    Keyed,
    Lookup,
    Natural,
    NotFound,
    Opaque,
    Promise,
    Seen,
    Unavailable,
    hours,
    minutes,
)
from lawful.effects.contract import EffectContext
from lawful.effects.effect import Effect, OpaqueEffect
from lawful.effects.http import JSON, Answer, fetch

R = TypeVar("R")


class OpenPull(Struct, frozen=True):
    """Open a pull request of branch ``head`` against ``base``."""

    repo: str
    """As "owner/name"."""
    head: str
    base: str
    title: str
    revision: str
    """Full id of the commit that ``head`` stands at: what evidence and approvals name."""


class Pull(Struct, frozen=True):
    """A pull request that is there."""

    number: int
    url: str


class PullRequest(Effect[OpenPull, Pull]):
    """A pull request on GitHub, or on a forge that speaks its API.

    There is no idempotency key. The list can be asked; how far it lags is not promised, so that not finding permits no
    second try. (A second *open* one for the same branches gets 422.) The look-up goes by the operation's id in the body.
    A branch that has moved since the approval is seen at the claim; one that moves after it is not.
    """

    tool = "github.pull_request"
    capability: Promise | Capability = Lookup("eventual", lag=minutes(1), unique_by=("repo", "head", "revision"))

    def __init__(self, token: Secret, url: str = "https://api.github.com") -> None:
        self.url, self.token = url, token
        self.headers: dict[str, str] = {}

    def key(self, command: OpenPull) -> str:
        return f"{command.repo}:{command.head}@{command.revision}"

    def revision(self, command: OpenPull) -> str:
        return command.revision

    async def current_revision(self, command: OpenPull, ctx: EffectContext) -> str | None:
        return await asyncio.to_thread(tip_at, self, command)

    async def perform(self, command: OpenPull, ctx: EffectContext) -> Pull:
        body = f"Revision: {command.revision}\nOperation: {ctx.op_id}\n"
        told = {"title": command.title, "head": command.head, "base": command.base, "body": body}
        got = await asyncio.to_thread(github, self, command, "pulls", ctx, json.dumps(told).encode())
        if got.status == 201:
            return Pull(got.json()["number"], got.json()["html_url"])
        raise refusal(got, self.tool)

    async def lookup(self, command: OpenPull, ctx: EffectContext) -> Seen[Pull]:
        branch = quote(f"{command.repo.partition('/')[0]}:{command.head}", safe="")
        got = await asyncio.to_thread(github, self, command, f"pulls?state=all&per_page=100&head={branch}")
        if not got.good:
            return Unavailable(got.said())
        mine = [p for p in got.json() if f"Operation: {ctx.op_id}\n" in (p["body"] or "").replace("\r", "")]
        return sighted([Pull(each["number"], each["html_url"]) for each in mine])


def github(
    effect: PullRequest, command: OpenPull, what: str, ctx: EffectContext | None = None, data: bytes | None = None
) -> Answer:
    """Ask for something of the repository; with ``data`` make it."""
    headers = {"Authorization": f"Bearer {effect.token.reveal()}", "Accept": "application/vnd.github+json"}
    url = f"{effect.url}/repos/{quote(command.repo)}/{what}"
    if data is None:
        return fetch("GET", url, headers=headers)
    return fetch("POST", url, ctx=ctx, headers={**headers, **effect.headers}, data=data)


def tip_at(effect: PullRequest, command: OpenPull) -> str | None:
    """The commit that the branch stands at; None where there is no such branch."""
    got = github(effect, command, f"git/ref/heads/{quote(command.head)}")
    if got.good:
        return got.json()["object"]["sha"]
    if got.status == 404:
        return None
    raise refusal(got, effect.tool)


def sighted(found: list[R]) -> Seen[R]:
    """What a list of all effects of one operation shows."""
    return Found(found[0], tuple(found[1:])) if found else NotFound()


def refusal(got: Answer, tool: str) -> EffectRefused | NetworkError:
    """What an answer that is no success says: 4xx that nothing happened, 5xx (and all else) that nobody knows."""
    told = {"code": str(got.status)}
    if got.status == 429 or (got.status == 403 and "retry-after" in got.headers):
        return EffectRefused(got.said(), component=tool, details=told, retryable=True)
    if 400 <= got.status < 500 and got.status not in (408, 409):
        return EffectRefused(got.said(), component=tool, details=told)
    return NetworkError(got.said(), component=tool, details=told)


class Charge(Struct, frozen=True):
    """Take ``amount`` of the smallest unit of ``currency`` from a customer, once for each ``order``."""

    order: str
    customer: str
    amount: int
    currency: str = "eur"


class Payment(Effect[Charge, str]):
    """A payment intent at Stripe, or at a provider that speaks its API; the receipt is its id.

    A key is remembered for 24 hours at least, with its first answer, an error 500 included; after that a repeat is a new
    payment. Used with other parameters it is an error, used while the first request runs a 409. Lists may lag.
    """

    tool = "stripe.payment"
    risk = "high"
    capability = Keyed(hours(24), max_in_flight=80) & Lookup("eventual", lag=minutes(1), unique_by=("order",))

    def __init__(self, key: Secret, url: str = "https://api.stripe.com", *, pause: float = 1.0) -> None:
        self.url, self.secret, self.pause = url, key, pause

    def key(self, command: Charge) -> str:
        return command.order

    def labels(self, command: Charge) -> dict[str, Any]:
        return {"customer": command.customer, "amount": command.amount}

    async def perform(self, command: Charge, ctx: EffectContext) -> str:
        form = {"amount": str(command.amount), "currency": command.currency, "customer": command.customer}
        form |= {"confirm": "true", "metadata[order]": command.order, "metadata[operation]": ctx.op_id}
        more = {"Idempotency-Key": ctx.idempotency_key}
        got = await asyncio.to_thread(stripe, self, ctx=ctx, form=form, headers=more)
        if got.good:
            return got.json()["id"]
        if got.status == 409:
            await asyncio.sleep(self.pause)  # the first request of this key still runs: look, then ask again
        if got.status == 400 and b"idempotency_error" in got.body:
            raise EffectConflicted(got.said(), component=self.tool)
        raise refusal(got, self.tool)

    async def lookup(self, command: Charge, ctx: EffectContext) -> Seen[str]:
        got = await asyncio.to_thread(stripe, self, f"?limit=100&customer={quote(command.customer, safe='')}")
        if not got.good:
            return Unavailable(got.said())
        return sighted([p["id"] for p in got.json()["data"] if p["metadata"].get("operation") == ctx.op_id])


def stripe(effect: Payment, query: str = "", headers: Mapping[str, str] | None = None, **more: Any) -> Answer:
    """List payment intents; with a ``form`` make one."""
    signed = {"Authorization": f"Bearer {effect.secret.reveal()}", **(headers or {})}
    url = f"{effect.url}/v1/payment_intents{query}"
    return fetch("POST" if more else "GET", url, headers=signed, **more)


class Letter(Struct, frozen=True):
    """A mail, of which ``number`` is the sender's own."""

    number: str
    to: str
    subject: str
    text: str


class Mail(OpaqueEffect[Letter, str]):
    """A mail by SMTP; the receipt is its Message-ID.

    SMTP promises nothing about repeats and cannot be asked. Up to the mail's last line a refusal is certain; once that has
    left and no answer has come, a person is asked. The Message-ID is the operation's, so that a reader may drop a repeat.
    """

    tool = "smtp.mail"

    def __init__(self, sender: str, host: str = "localhost", port: int = 25) -> None:
        self.sender, self.host, self.port = sender, host, port

    def key(self, command: Letter) -> str:
        return command.number

    async def perform(self, command: Letter, ctx: EffectContext) -> str:
        return await asyncio.to_thread(self.send, command, ctx)

    def send(self, letter: Letter, ctx: EffectContext) -> str:
        mail = EmailMessage()
        mail["Message-ID"] = f"<{ctx.idempotency_key}@{self.sender.partition('@')[2]}>"
        mail["From"], mail["To"], mail["Subject"] = self.sender, letter.to, letter.subject
        mail.set_content(letter.text)
        try:
            server = smtplib.SMTP(self.host, self.port, timeout=10)
        except (OSError, smtplib.SMTPException) as error:
            raise EffectRefused(f"no mail server: {error}", component=self.tool, retryable=True) from error
        try:
            ctx.before_send()
            server.sendmail(self.sender, [letter.to], mail.as_bytes())
        except smtplib.SMTPResponseException as error:  # a server's no, and with 4xx "not now"
            raise EffectRefused(str(error), component=self.tool, retryable=error.smtp_code < 500) from error
        except smtplib.SMTPRecipientsRefused as error:
            raise EffectRefused(str(error), component=self.tool) from error
        finally:
            server.close()
        return mail["Message-ID"]


class Notice(Struct, frozen=True):
    """One event for whoever listens at ``url``; ``id`` is the event's own."""

    url: str
    id: str
    kind: str
    data: dict[str, Any]


class Webhook(Effect[Notice, int]):
    """A webhook in the form of Standard Webhooks (id, timestamp, signature); the receipt is the status.

    What happens to a repeat is up to the receiver. One that is known to drop an id that it has seen is declared by
    ``remembers`` (seconds); otherwise nothing is promised. Nobody can be asked.
    """

    tool = "webhook"

    def __init__(self, key: Secret, *, remembers: float | None = None) -> None:
        self.secret = key
        self.capability = Opaque() if remembers is None else Keyed(remembers, max_in_flight=60)

    capability: Promise | Capability = Opaque()

    def key(self, command: Notice) -> str:
        return f"{command.url} {command.id}"

    async def perform(self, command: Notice, ctx: EffectContext) -> int:
        at, body = str(int(time.time())), json.dumps({"type": command.kind, "data": command.data}).encode()
        signed = f"{command.id}.{at}.".encode() + body
        mac = base64.b64encode(hmac.digest(self.secret.reveal().encode(), signed, "sha256")).decode()
        headers = {"webhook-id": command.id, "webhook-timestamp": at, "webhook-signature": f"v1,{mac}"}
        headers["Content-Type"] = JSON
        got = await asyncio.to_thread(fetch, "POST", command.url, ctx=ctx, headers=headers, data=body)
        if got.good:
            return got.status
        raise refusal(got, self.tool)

    async def lookup(self, command: Notice, ctx: EffectContext) -> Seen[int]:
        return Unavailable("a receiver cannot be asked")


class Entry(Struct, frozen=True):
    """A row of somebody's ``table`` that has a column ``operation`` which is unique."""

    table: str
    id: str
    values: dict[str, str | int | float | None]


class Row(Effect[Entry, str]):
    """A row in an SQLite database that is not the journal's; the receipt is the operation's id.

    The operation's id is the row's unique key, so that inserting it twice is inserting it once, and whether it is there
    can be asked. What makes it so is the table's UNIQUE: without it the insert is refused.
    """

    tool = "sql.row"
    capability = Natural() & Lookup("strong", unique_by=("table", "id"))

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)

    def key(self, command: Entry) -> str:
        return f"{command.table}:{command.id}"

    async def perform(self, command: Entry, ctx: EffectContext) -> str:
        named = {"operation": ctx.op_id, **command.values}
        columns, marks = ", ".join(map(quoted, named)), ", ".join("?" for _ in named)
        insert = f"INSERT INTO {quoted(command.table)} ({columns}) VALUES ({marks}) ON CONFLICT(operation) DO NOTHING"
        with closing(sqlite3.connect(self.path, isolation_level=None)) as con:
            try:
                con.execute("BEGIN IMMEDIATE")
                con.execute(insert, tuple(named.values()))
            except sqlite3.Error as error:
                raise EffectRefused(str(error), component=self.tool) from error
            ctx.before_send()
            con.execute("COMMIT")
        return ctx.op_id

    async def lookup(self, command: Entry, ctx: EffectContext) -> Seen[str]:
        asked = f"SELECT 1 FROM {quoted(command.table)} WHERE operation=?"
        with closing(sqlite3.connect(self.path)) as con:
            return Found(ctx.op_id) if con.execute(asked, (ctx.op_id,)).fetchone() else NotFound()


def quoted(name: str) -> str:
    """A table's or column's name as SQL writes it. Raises: ValidationError, for one that is no plain name."""
    if not name.isidentifier():
        raise ValidationError(f"{name!r} is no name of a table or column", component="sql.row")
    return f'"{name}"'


class Write(Struct, frozen=True):
    """Make ``text`` the content of ``path``, whose content had the digest ``expected`` (None: it was not there)."""

    path: str
    text: str
    expected: str | None = None


class FileWrite(Effect[Write, str]):
    """A file's whole content; the receipt is its digest.

    It is replaced whole, and only while it holds what was expected, so that writing twice is writing once; its content
    tells whether it happened. Not promised: another writer between the look and the rename is not seen, and once somebody
    has changed the file again it no longer tells.
    """

    tool = "file.write"
    capability = Natural() & Lookup("strong", unique_by=("path", "text"))

    def key(self, command: Write) -> str:
        return f"{Path(command.path).resolve()}:{command.expected}:{digest_of(command.text.encode())}"

    async def perform(self, command: Write, ctx: EffectContext) -> str:
        path, new = Path(command.path), digest_of(command.text.encode())
        held = digest_of(path.read_bytes()) if path.exists() else None
        if held == new:
            return new
        if held != command.expected:
            raise EffectRefused(f"{path} holds something else", component=self.tool, details={"held": held or ""})
        beside = path.with_name(f".{path.name}.{ctx.fence}.part")
        with open(beside, "w", encoding="utf-8", newline="") as file:
            file.write(command.text)
            file.flush()
            os.fsync(file.fileno())
        ctx.before_send()
        os.replace(beside, path)
        return new

    async def lookup(self, command: Write, ctx: EffectContext) -> Seen[str]:
        path, new = Path(command.path), digest_of(command.text.encode())
        return Found(new) if path.exists() and digest_of(path.read_bytes()) == new else NotFound()


def digest_of(content: bytes) -> str:
    """What `Write.expected` names: SHA-256 as hex digits."""
    return hashlib.sha256(content).hexdigest()
