"""Mistakes in the declaration of an effect and in its look-up: said before anything is sent, and never a conclusion."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from lawful import Effect, Found, Keyed, Ledger, Lookup, MemoryJournal, Natural, effect
from lawful.core.errors import ConfigurationError, NotInRun, ValidationError
from lawful.effects import EffectContext, Succeeded, Unknown, hours, seconds

pytestmark = pytest.mark.unit


def lost() -> str:
    raise ConnectionError("the reply was lost")


def settled(find: Callable[[str], Any]) -> Any:
    """What comes of a payment whose reply is lost and whose look-up is ``find``."""

    @effect("order", capability=Lookup("strong"))
    def pay(order: str) -> str:
        return lost()

    pay.lookup(find)  # pyright: ignore[reportArgumentType]
    return Ledger(MemoryJournal(), effects=[pay]).execute_sync(pay.plan("7"))


@pytest.mark.parametrize("said", [True, False])
def test_a_look_up_that_says_yes_or_no_settles_nothing(said: bool) -> None:
    """`return order in sent` is the likely mistake: as a receipt, False would say that what never happened has."""
    outcome = settled(lambda order: said)
    assert isinstance(outcome, Unknown)
    assert f"said {said}" in outcome.reason


def test_a_look_up_that_finds_something_else_settles_nothing() -> None:
    outcome = settled(lambda order: {"order": order})
    assert isinstance(outcome, Unknown)
    assert "no receipt" in outcome.reason
    assert settled(lambda order: Found(f"receipt {order}")) == Succeeded("receipt 7", "pay:7", True)


def test_truth_values_are_receipts_where_the_effect_says_so() -> None:
    @effect("order", capability=Lookup("strong"))
    def pay(order: str) -> bool:
        return bool(lost())

    @pay.lookup
    def find(order: str) -> bool | None:
        return True

    ledger = Ledger(MemoryJournal(), effects=[pay])
    assert ledger.execute_sync(pay.plan("7")) == Succeeded(True, "pay:7", True)


@dataclass(frozen=True)
class Order:
    number: str


class Pay(Effect[Order, str]):
    """A careful form whose look-up forgets to say what it saw."""

    capability = Lookup("strong")
    seen: Any = None

    def key(self, command: Order) -> str:
        return command.number

    async def perform(self, command: Order, ctx: EffectContext) -> str:
        return lost()

    async def lookup(self, command: Order, ctx: EffectContext) -> Any:
        return self.seen


@pytest.mark.parametrize("seen", [None, "receipt", False, Found(3)])
def test_the_careful_look_up_reports_an_observation_or_nothing_is_concluded(seen: Any) -> None:
    pay = Pay()
    pay.seen = seen
    outcome = Ledger(MemoryJournal(), effects=[pay]).execute_sync(pay.plan(Order("7")))
    assert isinstance(outcome, Unknown)
    assert "look-up of Pay" in outcome.reason
    assert outcome.next_step == "reconcile"


def test_what_a_look_up_declares_is_compared_with_its_effect() -> None:
    @effect("order", capability=Lookup("strong"))
    def pay(order: str, cents: int) -> str:
        return lost()

    def nothing() -> str | None:
        return None

    def yes_or_no(order: str) -> bool:
        return True

    def another(ordr: str) -> str | None:
        return None

    for find, told in ((nothing, "takes none"), (yes_or_no, "returns bool"), (another, "Did you mean 'order'")):
        with pytest.raises(ConfigurationError, match=told):
            pay.lookup(find)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_a_promised_look_up_must_be_there() -> None:
    @effect("order", capability=Keyed(hours(24), seconds(60)) & Lookup("strong"))
    def pay(order: str) -> str:
        return order

    with pytest.raises(ConfigurationError, match=r"promises Lookup\(\) and declares none: @pay.lookup"):
        pay.plan("7")


def test_arguments_are_of_the_types_that_recovery_reads() -> None:
    @effect("order", capability=Natural(), secrets=["card"])
    def pay(order: str, cents: int, card: str = "") -> str:
        return order

    with pytest.raises(ValidationError, match="argument cents of pay"):
        pay.plan("7", "many")  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"called as pay\(order, cents, card\): missing a required argument: 'cents'"):
        pay.plan("7")  # pyright: ignore[reportCallIssue]
    with pytest.raises(ValidationError, match="command of Pay does not read back as Order"):
        Pay().plan({"nummer": "7"})  # pyright: ignore[reportArgumentType]


def test_a_key_that_is_no_text_is_refused() -> None:
    class Numbered(Pay):
        def key(self, command: Order) -> Any:
            return 7

    with pytest.raises(ValidationError, match="must be printable text"):
        Numbered().plan(Order("7"))


def test_a_reply_that_is_no_receipt_is_told_when_it_comes(caplog: pytest.LogCaptureFixture) -> None:
    """The effect has happened all the same; who asks again will not get it."""

    @effect("order", capability=Natural())
    def pay(order: str) -> str:
        return None  # pyright: ignore[reportReturnType]

    ledger = Ledger(MemoryJournal(), effects=[pay])
    with caplog.at_level(logging.WARNING, "lawful.effects"):
        assert isinstance(ledger.execute_sync(pay.plan("7")), Succeeded)
    assert "pay:7 happened" in caplog.text
    assert "receipt of pay" in caplog.text


def test_the_ledger_takes_a_journal_and_what_was_planned() -> None:
    with pytest.raises(ConfigurationError, match=r"SQLiteJournal\('pay.db'\)"):
        Ledger("pay.db")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigurationError, match="Ledger takes a journal"):
        Ledger(MemoryJournal)  # pyright: ignore[reportArgumentType]
    ledger = Ledger(MemoryJournal())
    with pytest.raises(ConfigurationError, match=r"Ledger\.execute takes what"):
        ledger.execute_sync("pay:7")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigurationError, match=r"Ledger\.plan takes what"):
        ledger.plan("pay:7")  # pyright: ignore[reportArgumentType]


def test_an_effect_called_outside_a_node_says_how_to_perform_it() -> None:
    @effect("order")
    def pay(order: str) -> str:
        return order

    with pytest.raises(NotInRun, match=r"Ledger\(journal\).execute\(effect.plan"):
        pay("7")


def test_none_is_not_found() -> None:
    outcome = settled(lambda order: None)
    assert isinstance(outcome, Unknown)
    assert "not seen" in outcome.reason
