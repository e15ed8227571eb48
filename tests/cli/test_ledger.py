"""`lawful ledger` and `lawful policy`: what a person at a terminal can see of operations and decide about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lawful.effects import Ledger, Succeeded, Unknown
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.provider import FakeCommand, FakeProvider
from support.command import Place

pytestmark = pytest.mark.integration

SHOP = """
from lawful.effects import Natural, Policy, RequireApproval, effect
from lawful.testing.provider import FakeProvider

provider = FakeProvider("provider.db", lookup="strong")
pay = provider.effect("pay")
mail = FakeProvider("mails.db").effect("mail")
every = [pay, mail]
open_ = Policy("open")
strict = Policy("strict", (RequireApproval(),))
"""
"""A user's module in the folder."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "shop.py").write_text(SHOP)
    journal = SQLiteJournal(tmp_path / "j.db")
    ledger = Ledger(journal)
    paying = FakeProvider(tmp_path / "provider.db", lookup="strong", lose_reply=1)
    mailing = FakeProvider(tmp_path / "mails.db", lose_reply=1)
    # The look-up was down: nothing is known though the provider could tell.
    paying.lookup = None
    ledger.execute_sync(paying.effect("pay").plan(FakeCommand("order-1")))
    ledger.execute_sync(mailing.effect("mail").plan(FakeCommand("letter")))
    ledger.execute_sync(mailing.effect("mail").plan(FakeCommand("card")))
    journal.close()
    return Place(tmp_path)


DB = ("--db", "j.db")


def test_operations_are_listed_and_shown(place: Place) -> None:
    ran = place.run("ledger", "list", *DB)
    assert [line.split()[:2] for line in ran.out.splitlines()[1:]] == [
        ["pay:order-1", "Unknown"],
        ["mail:letter", "Unknown"],
        ["mail:card", "Succeeded"],
    ]
    assert [row["op_id"] for row in place.run("ledger", "list", "--tool", "mail", "--json", *DB).json()] == [
        "mail:letter",
        "mail:card",
    ]
    assert len(place.run("ledger", "list", "--state", "Unknown", "--limit", "1", *DB).out.splitlines()) == 2
    shown = place.run("ledger", "show", "mail:letter", *DB)
    assert "Unknown" in shown.out
    assert "OutcomeLost" in shown.out
    assert "next: resolve it: nobody can look it up" in shown.out
    assert "you will be asked what became of it" in shown.out
    assert place.run("ledger", "show", "mail:letter", "--json", *DB).json()["operation"]["attempts"] == 1
    wrong = place.run("ledger", "show", "mail:leter", *DB)
    assert wrong.code == 1
    assert "Did you mean 'mail:letter'" in wrong.err


def test_reconcile_looks_up_what_it_can_and_tells_the_rest(place: Place) -> None:
    ran = place.run("ledger", "reconcile", *DB)
    assert ran.code == 3
    assert "was not given" in ran.out
    ran = place.run("ledger", "reconcile", "--effects", "shop:every", "--json", *DB)
    assert ran.code == 3
    assert ran.json()["mail:letter"].startswith("Unknown")
    assert ran.json()["pay:order-1"].startswith("Succeeded")
    listed = place.run("ledger", "list", *DB).out
    assert "mail:letter  Unknown" in listed
    assert place.run("ledger", "reconcile", "--effects", "shop:open_", *DB).error == "configuration"


def test_a_person_decides_once(place: Place) -> None:
    undecided = place.run("ledger", "resolve", "mail:letter", "--reason", "x", *DB)
    assert undecided.error == "validation"
    told = ("ledger", "resolve", "mail:letter", "--did-not-happen", "--no-retry", "--reason", "asked", "--by", "ada")
    assert place.run(*told, "--version", "1", *DB).error == "invalid_transition"
    assert place.run(*told, *DB).out == "mail:letter: Failed\n"
    assert place.run(*told, *DB).error == "invalid_transition"
    done = place.run("ledger", "resolve", "pay:order-1", "--happened", '"seen"', "--reason", "seen", *DB)
    assert done.out == "pay:order-1: Succeeded\n"
    assert place.run("ledger", "reconcile", *DB).out == "Every outcome is known.\n"


def test_what_is_stored_is_verified_against_heads_kept_elsewhere(place: Place) -> None:
    good = place.run("ledger", "verify", *DB)
    assert (good.code, "all chains and rows hold" in good.out) == (0, True)
    heads = place.run("ledger", "export", "--heads", *DB).json()
    assert [head["op_id"] for head in heads] == ["pay:order-1", "mail:letter", "mail:card"]
    heads[0]["digest"] = "0" * 64
    (place.folder / "heads.json").write_text(json.dumps(heads))
    bad = place.run("ledger", "verify", "--heads", "heads.json", *DB)
    assert bad.code == 1
    assert "pay:order-1" in bad.out
    events = [json.loads(line) for line in place.run("ledger", "export", *DB).out.splitlines()]
    assert [event["type"] for event in events][:4] == ["Planned", "Authorized", "Claimed", "OutcomeLost"]


def test_a_freeze_stops_other_processes(place: Place) -> None:
    frozen = place.run("ledger", "freeze", "pay*", "--reason", "incident", "--by", "ada", *DB)
    assert "pay* is frozen" in frozen.out
    journal = SQLiteJournal(place.folder / "j.db")
    provider = FakeProvider(place.folder / "provider.db", lookup="strong")
    Ledger(journal).execute_sync(provider.effect("pay").plan(FakeCommand("order-2")))
    assert provider.calls == 0
    assert "incident" in place.run("ledger", "freeze", "--list", *DB).out
    assert place.run("ledger", "freeze", "pay", "--thaw", *DB).error == "validation"
    assert "claimed again" in place.run("ledger", "freeze", "pay*", "--thaw", *DB).out
    Ledger(journal).execute_sync(provider.effect("pay").plan(FakeCommand("order-2")))
    assert provider.calls == 1
    journal.close()


def test_a_quarantine_is_shown_begun_and_ended(place: Place) -> None:
    assert "No quarantine" in place.run("ledger", "quarantine", *DB).out
    assert place.run("ledger", "quarantine", "--end", *DB).error == "validation"
    assert place.run("ledger", "quarantine", "--since", "noon", *DB).error == "validation"
    begun = place.run("ledger", "quarantine", "--since", "2026-11-30T12:00", "--by", "ada", "--reason", "restored", *DB)
    assert begun.out.startswith("Since 2026-11-30 12:00:00 UTC nothing is trusted, by ada: restored")
    assert place.run("ledger", "quarantine", "--json", *DB).json()["since"] == 1796040000.0
    journal = SQLiteJournal(place.folder / "j.db")
    provider = FakeProvider(place.folder / "provider.db")
    outcome = Ledger(journal).execute_sync(provider.effect("pay").plan(FakeCommand("order-3")))
    assert isinstance(outcome, Unknown)
    assert "trusted again" in place.run("ledger", "quarantine", "--end", *DB).out
    assert isinstance(Ledger(journal).execute_sync(provider.effect("pay").plan(FakeCommand("order-4"))), Succeeded)
    assert provider.applied.get("order-3", 0) == 0
    journal.close()


def test_a_new_policy_is_put_to_recorded_decisions(place: Place) -> None:
    """Rows: S2-006"""
    ran = place.run("policy", "compare", "shop:open_", "shop:strict", *DB)
    assert ran.out.splitlines()[0] == "the new rule flips 3 of 3"
    assert "mail:card: Allowed -> NeedsApproval" in ran.out
    assert place.run("policy", "compare", "shop:open_", "shop:open_", "--json", *DB).json()["flips"] == []
    assert "Did you mean 'strict'" in place.run("policy", "compare", "shop:open_", "shop:strikt", *DB).err
    assert place.run("policy", "compare", "shop:open_", "shop:pay", *DB).error == "configuration"


URL = ("--journal", "sqlite:///j.db")


def test_any_journal_and_any_effects_are_recovered(place: Place) -> None:
    listed = place.run("ledger", "list", "--json", *URL)
    assert [row["op_id"] for row in listed.json()] == ["pay:order-1", "mail:letter", "mail:card"]
    alone = place.run("recover", "--json", *URL)
    assert alone.code == 3
    assert {each["operation"] for each in alone.json()["left"]} == {"pay:order-1", "mail:letter"}
    ran = place.run("recover", "--effects", "shop:every", "--json", *URL)
    assert [each["operation"] for each in ran.json()["settled"]] == ["pay:order-1"]
    assert [each["operation"] for each in ran.json()["left"]] == ["mail:letter"]
    assert ran.json()["left"][0]["next"] == "resolve it: nobody can look it up"


def test_the_effects_of_a_graph_are_looked_up_too(place: Place) -> None:
    (place.folder / "flow.py").write_text(GRAPH)
    ran = place.run("recover", "--graph", "flow:graph", "--json", *URL)
    assert [each["operation"] for each in ran.json()["settled"]] == ["pay:order-1"]


GRAPH = """
from typing import TypedDict
from lawful.graph import START, StateGraph
from shop import pay

class State(TypedDict):
    n: int

def node(state: State) -> State:
    print(pay)
    return {"n": 1}

graph = StateGraph(State).add_node(node).add_edge(START, "node")
"""


def test_a_journal_is_named_once_and_must_be_there(place: Place) -> None:
    twice = place.run("ledger", "list", *DB, *URL)
    assert (twice.code, "named once" in twice.err or "once" in twice.err) == (1, True)
    missing = place.run("recover", "--journal", "nowhere.db")
    assert missing.code == 1
    assert "there is no journal" in missing.err
    assert not (place.folder / "nowhere.db").exists()
