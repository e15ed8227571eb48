"""The ledger over PostgreSQL under a crowd: one claim, limits that hold, and a freeze that stops everybody."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any, TypedDict

import pytest

from lawful.core.errors import AlreadyAnswered
from lawful.core.questions import Principal
from lawful.effects import (
    Denied,
    EffectContext,
    InProgress,
    Ledger,
    Limit,
    Natural,
    Policy,
    Refused,
    RequireApproval,
    Succeeded,
    days,
    effect,
    spent,
)
from lawful.graph import START, Done, Failed, Paused, StateGraph
from lawful.testing.provider import FakeCommand, FakeEffect
from support.effect_crashes import provider_of
from support.forks import Line, ended, fork
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]

ORDER = FakeCommand("order-1")


class State(TypedDict, total=False):
    out: str


class Slow(FakeEffect):
    async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
        receipt = await super().perform(command, ctx)
        time.sleep(0.3)
        return receipt


def crowd(work: Any, size: int) -> None:
    threads = [threading.Thread(target=work, args=(n,)) for n in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


@pytest.mark.parametrize("handles", [1, 16], ids=["one handle", "a handle each"])
def test_two_processes_of_sixteen_threads_race_for_one_claim(
    pg: PgServer, schema: str, tmp_path: Path, handles: int
) -> None:
    """Ledger: L6"""
    go = tmp_path / "go"

    def process() -> None:
        journals = [pg.journal(schema, busy_timeout=30.0) for _ in range(handles)]
        pay = Slow(provider_of(tmp_path, "neither"), "pay", None, {"timeout": 60.0, "send_budget": 60.0})
        ends: list[Any] = []
        while not go.exists():
            time.sleep(0.001)

        def work(n: int) -> None:
            ends.append(Ledger(journals[n % handles]).execute_sync(pay.plan(ORDER)))

        crowd(work, 16)
        assert len(ends) == 16
        assert all(isinstance(end, (InProgress, Succeeded)) for end in ends), ends

    children = [fork(process) for _ in range(2)]
    go.touch()
    assert [ended(child) for child in children] == [0, 0]
    assert provider_of(tmp_path, "neither").applied == {"order-1": 1}
    journal = pg.journal(schema)
    kinds = [type(event).__name__ for event in Ledger(journal).events("pay:order-1")]
    assert kinds.count("Claimed") == 1
    journal.close()


def test_two_hundred_refunds_at_once_never_pass_the_daily_limit(pg: PgServer, schema: str, tmp_path: Path) -> None:
    """A hundred threads in each of two processes. Rows: S2-020"""
    rules = Policy("daily", (Limit(spent(by="customer", window=days(1)), 300),))
    go = tmp_path / "go"

    def process(number: int) -> None:
        sent: list[int] = []

        @effect("charge", capability=Natural(), policy=rules, labels=["customer"], amount="cents")
        def refund(charge: str, customer: str, cents: int) -> str:
            sent.append(cents)
            return charge

        journal = pg.journal(schema, busy_timeout=60.0)
        while not go.exists():
            time.sleep(0.001)
        ends: list[Any] = []
        together = threading.Barrier(100)

        def work(worker: int) -> None:
            together.wait(60)
            ends.append(Ledger(journal).execute_sync(refund.plan(f"{number}-{worker}", "ann", 7)))

        crowd(work, 100)
        assert len(ends) == 100
        assert {type(end) for end in ends} <= {Succeeded, Denied}
        (tmp_path / f"sent-{number}").write_text(str(sum(sent)))
        journal.close()

    children = [fork(lambda n=n: process(n)) for n in range(2)]
    go.touch()
    assert [ended(child) for child in children] == [0, 0]
    assert sum(int((tmp_path / f"sent-{n}").read_text()) for n in range(2)) == 294


def test_a_freeze_of_another_process_stops_four_workers(pg: PgServer, schema: str, tmp_path: Path) -> None:
    """Nothing is claimed and nothing leaves after it."""
    line = Line()

    class Timed(FakeEffect):
        async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
            receipt = await super().perform(command, ctx)
            (tmp_path / f"sent-{command.key}").touch()
            return receipt

    def work(worker: int) -> None:
        journal = pg.journal(schema, busy_timeout=30.0)
        pay = Timed(provider_of(tmp_path, "neither"), "pay", None, {"timeout": 60.0, "send_budget": 60.0})
        ledger = Ledger(journal)
        for n in range(10_000):
            outcome = ledger.execute_sync(pay.plan(FakeCommand(f"{worker}-{n}")))
            if n == 3:
                line.tell(worker)
            if not isinstance(outcome, Succeeded):
                assert isinstance(outcome, Refused) or not getattr(outcome, "lasting", True), outcome
                journal.close()
                return
        raise AssertionError("nobody froze it")

    children = [fork(lambda n=n: work(n)) for n in range(4)]
    for _ in children:
        line.listen()
    journal = pg.journal(schema, busy_timeout=30.0)
    ledger = Ledger(journal)
    flying = ledger.freeze("pay", by=Principal("ada"), reason="incident")
    before = len(list(tmp_path.glob("sent-*")))
    assert [ended(child) for child in children] == [0] * 4
    rows = journal.read(lambda tx: list(tx.operations()))
    [frozen] = ledger.freezes()
    assert [row.op_id for row in rows if row.claimed_at is not None and row.claimed_at > frozen.at] == []
    applied = provider_of(tmp_path, "neither").applied
    assert sum(applied.values()) == sum(row.state == "Succeeded" for row in rows)
    assert len(applied) - before <= len(flying) <= 4, "only what was in flight at that moment may still have left"
    journal.close()


def test_a_double_click_from_two_processes_is_one_effect(pg: PgServer, schema: str, tmp_path: Path) -> None:
    """The loser is told which answer won."""
    sink = tmp_path / "sink"

    @effect("key", capability=Natural(), policy=Policy("p", (RequireApproval(),)))
    def send(key: str) -> str:
        with sink.open("a") as file:
            file.write("effect\n")
        return "sent"

    def pay(state: State) -> State:
        return {"out": send("a")}

    def built() -> Any:
        return StateGraph(State).add_node(pay).add_edge(START, "pay").compile(pg.journal(schema, busy_timeout=60.0))

    paused = built().run_sync({}, thread="t")
    assert isinstance(paused, Paused)
    [question] = paused.questions

    def click(who: str) -> None:
        result = built().resume_sync("t", question.answer(True), by=who)
        if isinstance(result, Failed):
            assert isinstance(result.error, AlreadyAnswered), result.error
            assert "answered Approved" in result.error.message or "answered True" in result.error.message
            os._exit(7)
        assert isinstance(result, Done)

    children = [fork(lambda who=who: click(who)) for who in ("ann", "bob")]
    assert sorted(ended(child) for child in children) == [0, 7]
    assert sink.read_text() == "effect\n"
