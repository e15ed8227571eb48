"""Both forms of an effect: what they refuse when they are written, and what they make of their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec import Struct
from pydantic import BaseModel

from lawful.core.errors import ConfigurationError, ValidationError
from lawful.effects import (
    Effect,
    EffectContext,
    Found,
    Keyed,
    Ledger,
    Lookup,
    Natural,
    NotFound,
    Opaque,
    OpaqueEffect,
    Seen,
    Succeeded,
    Unknown,
    effect,
    recover_sync,
)
from lawful.effects.capability import promise
from lawful.journal.memory import MemoryJournal
from support.children import fresh
from support.effects import Forge, Publish, PullRequest

pytestmark = pytest.mark.unit


class Hasty(Effect[PullRequest, str]):
    """Forgets its look-up."""

    capability = Natural()

    def key(self, command: PullRequest) -> str | None:
        return command.repo

    async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
        return ""


class Silent(OpaqueEffect[PullRequest, str]):
    """Owes no look-up, since it promises nothing."""

    def key(self, command: PullRequest) -> str | None:
        return command.repo

    async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
        raise ConnectionError("gone")


class Undeclared(Effect[PullRequest, str]):
    """Says nothing of its provider."""

    def key(self, command: PullRequest) -> str | None:
        return None

    async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
        return ""

    async def lookup(self, command: PullRequest, ctx: EffectContext) -> Seen[str]:
        return NotFound()


def test_a_forgotten_lookup_is_refused_at_construction_and_by_the_checker() -> None:
    with pytest.raises(TypeError, match="lookup"):
        Hasty()  # pyright: ignore[reportAbstractUsage]
    with pytest.raises(ConfigurationError, match="no capability"):
        Undeclared()
    outcome = Ledger(MemoryJournal()).execute_sync(Silent().plan(PullRequest("acme")))
    assert isinstance(outcome, Unknown)
    assert outcome.next_step == "resolve"


def test_high_risk_demands_a_key_and_forbids_assumptions() -> None:
    with pytest.raises(ConfigurationError, match="needs a key"):
        effect(risk="high")(lambda x: x)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]

    def pay(invoice: str) -> str:
        return invoice

    with pytest.raises(ConfigurationError, match="nothing may be assumed"):
        effect("invoice", risk="high", capability=Opaque("assume_not"))(pay)


def test_an_effect_outside_a_run_needs_a_key() -> None:
    @effect()
    def note(text: str) -> str:
        return text

    with pytest.raises(ConfigurationError, match="outside a run"):
        note.plan("x")


def test_wrong_names_are_refused_at_decoration_with_the_nearest() -> None:
    def refund(charge: str, cents: int) -> str:
        return charge + str(cents)

    with pytest.raises(ConfigurationError, match=r"no argument 'chrage'. Did you mean 'charge'\?"):
        effect("chrage")(refund)
    with pytest.raises(ConfigurationError, match=r"no argument 'revison'"):
        effect("charge", revision="revison")(refund)
    good = effect("charge")(refund)
    with pytest.raises(ConfigurationError, match=r"takes 'charges'.* Did you mean 'charge'\?"):

        @good.lookup  # pyright: ignore[reportArgumentType]
        def find(charges: str) -> str | None:  # pyright: ignore[reportUnusedFunction]
            return charges

    with pytest.raises(ConfigurationError, match="parentheses"):
        effect(refund)  # pyright: ignore[reportArgumentType]


def test_the_short_form_is_opaque_until_it_has_a_lookup() -> None:
    bank: dict[str, int] = {}

    @effect("charge")
    def refund(charge: str, cents: int = 100) -> str:
        """Refund a charge."""
        bank[charge] = bank.get(charge, 0) + 1
        raise TimeoutError("no reply")

    assert refund.__doc__ == "Refund a charge."
    assert promise(refund.promised, Opaque) is not None
    ledger = Ledger(MemoryJournal())
    assert isinstance(ledger.execute_sync(refund.plan("c0")), Unknown)

    @refund.lookup
    def find_refund(charge: str, cents: int = 100) -> str | None:
        return f"refund of {charge}" if charge in bank else None

    assert promise(refund.promised, Lookup) == Lookup("eventual", unique_by=("charge",))
    assert find_refund("c0") == "refund of c0"
    assert ledger.execute_sync(refund.plan("c1")) == Succeeded("refund of c1", "refund:c1", recorded=True)
    assert refund.plan("c1").args_hash == refund.plan(charge="c1", cents=100).args_hash
    assert refund.plan("c1").args_hash != refund.plan("c1", 101).args_hash
    assert bank == {"c0": 1, "c1": 1}


async def test_the_short_form_may_be_async() -> None:
    @effect("charge", capability=Keyed(3600, 60) & Lookup("strong"), tool="bank.refund", version="2", revision="rev")
    async def refund(charge: str, /, rev: str, *, cents: int) -> str:
        raise ConnectionError("lost")

    @refund.lookup
    async def find(charge: str, /, rev: str, *, cents: int) -> Seen[str]:  # pyright: ignore[reportUnusedFunction]
        return Found(f"{charge}/{cents}")

    intent = refund.plan("c1", "r9", cents=5)
    assert (intent.op_id, intent.revision, intent.record.tool_version) == ("bank.refund:c1", "r9", "2")
    outcome = await Ledger(MemoryJournal()).execute(intent)
    assert outcome == Succeeded("c1/5", "bank.refund:c1", recorded=True)


def test_the_key_of_one_tool_is_not_taken_for_another_tools() -> None:
    @effect("key", tool="git:push", capability=Natural())
    def push(key: str) -> None: ...

    @effect("key", tool="git", capability=Natural())
    def git(key: str) -> None: ...

    @effect("key", tool="git%3Apush", capability=Natural())
    def escaped(key: str) -> None: ...

    ids = [push.plan("main").op_id, git.plan("push:main").op_id, escaped.plan("main").op_id]
    assert len(set(ids)) == 3
    assert git.plan("a:b").op_id == "git:a:b"


def test_keys_of_several_arguments_do_not_run_together() -> None:
    @effect("a", "b", capability=Natural())
    def put(a: str, b: int | str) -> str:
        return f"{a}{b}"

    ids = {put.plan(a, b).op_id for a, b in [("x:1", 2), ("x", "1:2"), ("x", 12), ("x:12", ""), ("x%3A1", 2)]}
    assert len(ids) == 5
    assert put.plan("x", 12).op_id == "put:x:12"
    assert len(put.plan("y" * 999, 1).op_id) < 255
    with pytest.raises(ValidationError, match="printable"):
        put.plan("line\nbreak", 1)
    with pytest.raises(ValidationError, match="JSON"):
        put.plan("x", object())  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError):
        put.plan("x")  # pyright: ignore[reportCallIssue]


class StructCommand(Struct, frozen=True):
    name: str
    tags: tuple[str, ...] = ()


class ModelCommand(BaseModel):
    name: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataCommand:
    name: str
    tags: tuple[str, ...] = ()


class Lost(Effect[Any, Any]):
    """Never answers; what is looked up is the command as it was read back."""

    tool = "lost"
    capability = Lookup("strong")

    def key(self, command: Any) -> str:
        return command.name

    async def perform(self, command: Any, ctx: EffectContext) -> Any:
        raise ConnectionError

    async def lookup(self, command: Any, ctx: EffectContext) -> Seen[Any]:
        seen.append(command)
        return NotFound() if len(seen) == 1 else Found("there")


class LostStruct(Lost, Effect[StructCommand, str]): ...


class LostModel(Lost, Effect[ModelCommand, str]): ...


class LostData(Lost, Effect[DataCommand, str]): ...


seen: list[Any] = []


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        (LostStruct, StructCommand("a", ("x",))),
        (LostModel, ModelCommand(name="a", tags=("x",))),
        (LostData, DataCommand("a", ("x",))),
    ],
)
def test_commands_are_read_back_for_recovery(kind: Any, command: Any) -> None:
    seen.clear()
    journal = MemoryJournal()
    Ledger(journal).execute_sync(kind().plan(command))
    assert recover_sync(journal, [kind()]).clean
    assert seen == [command, command]


async def test_sync_in_a_running_loop_is_refused_before_anything_is_claimed() -> None:
    ledger = Ledger(MemoryJournal())
    with pytest.raises(ConfigurationError, match="await it"):
        ledger.execute_sync(Publish(Forge()).plan(PullRequest("acme")))
    assert ledger.events("publish:acme@abc") == ()


def test_effects_stand_without_the_graph() -> None:
    """Rows: S2-030"""
    code = (
        "import sys, lawful.effects, lawful.effects.publication, lawful.effects.branch_commit\n"
        "loaded = [m for m in sys.modules if m.startswith(('lawful.graph', 'lawful.stores', 'pydantic'))]\n"
        "print(loaded)\n"
    )
    assert fresh(code).strip() == "[]"
