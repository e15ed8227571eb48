"""A wrapper is the journal that it wraps, and what a guard or a cipher does not look at is a list that is argued for."""

from __future__ import annotations

import inspect

import pytest

from lawful import MemoryJournal
from lawful.core.clock import Clock
from lawful.journal.guard import GuardedJournal
from lawful.journal.port import EffectTx, Journal
from lawful.journal.wrapper import EffectTxWrapper, JournalWrapper
from lawful.stores.encrypted_journal import EncryptedJournal
from lawful.testing.conformance import JournalConformance

pytestmark = [pytest.mark.unit]


class Plain(JournalWrapper):
    """Changes nothing."""

    def __init__(self, inner: Journal) -> None:
        self.inner = inner

    def scoped(self, scope: str) -> Journal:
        return Plain(self.inner.scoped(scope))


class TestWrapped(JournalConformance):
    """Every call reaches the journal beneath with all its arguments."""

    def make_journal(self, clock: Clock) -> Journal:
        return Plain(MemoryJournal(clock=clock))


def _members(port: type) -> set[str]:
    return {name for name, _ in inspect.getmembers_static(port) if not name.startswith("_")}


@pytest.mark.parametrize("port, wrapper", [(Journal, JournalWrapper), (EffectTx, EffectTxWrapper)])
def test_a_wrapper_has_all_that_the_port_has(port: type, wrapper: type) -> None:
    """By itself, or a call would miss the journal beneath."""
    assert _members(port) <= set(vars(wrapper))


UNSEEN = {
    GuardedJournal: {"scope", "blocking", "writers", "renew", "release", "cancelled", "close"},
    EncryptedJournal: {
        "scope", "blocking", "writers", "namespaces", "threads", "info", "prune", "close",
        "acquire", "renew", "release", "cancel", "cancelled", "wait",
    },
}  # fmt: skip
"""Past a guard goes what names no thread or needs a lease that was asked for; past a cipher, what has no values."""


@pytest.mark.parametrize("wrapper", UNSEEN)
def test_nothing_new_goes_past_a_guard_or_a_cipher(wrapper: type) -> None:
    """A method that the port gains must be thought of here. Rows: S1-082."""
    assert _members(Journal) - set(vars(wrapper)) == UNSEEN[wrapper]
