"""Functional programs that get killed: tasks that leave word, an effect in a task, a question between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lawful.core.context import current_task
from lawful.effects import Lookup, effect
from lawful.graph import interrupt
from lawful.graph.functional import entrypoint, task
from lawful.testing.crash import Life, run_to_end
from support.crash_programs import hear, note, notes, ran_again


@effect("name", capability=Lookup("strong"))
def pay(name: str, folder: str) -> str:
    """Pay somebody."""
    note(Path(folder), "paid", name=name)
    return f"paid {name}"


@pay.lookup
def was_paid(name: str, folder: str) -> str | None:
    return f"paid {name}" if any(line["name"] == name for line in notes(Path(folder), "paid")) else None


def payments(folder: Path) -> dict[str, int]:
    """How often each was paid."""
    names = [line["name"] for line in notes(folder, "paid")]
    return {name: names.count(name) for name in names}


def _ran(life: Life) -> None:
    slot: Any = current_task.get()
    note(life.folder, "ran", process=life.number, node=slot.node, task=slot.id, checkpoint="")


def _held(life: Life, result: Any) -> Any:
    """The result, unless a call ran although an earlier process had heard that its result is stored."""
    again = ran_again(life.folder)
    if again:
        raise AssertionError(f"ran again: {again}")
    return result


def flow(life: Life) -> Any:
    """Two calls beside each other, a nested one that pays, a question, one more call."""
    hear(life)
    folder = str(life.folder)

    @task
    def size(word: str) -> int:
        _ran(life)
        return len(word)

    @task
    def settle(name: str) -> str:
        receipt = pay(name, folder)
        _ran(life)
        return receipt

    @task
    def both(names: list[str]) -> list[str]:
        return [f.result() for f in [settle(name) for name in names]]

    @entrypoint(checkpointer=life.journal)
    def work(words: list[str]) -> list[Any]:
        sizes = [size(word) for word in words]
        total = sum(s.result() for s in sizes)
        paid = both(["ada", "ben"]).result()
        answer = interrupt(f"{total}?")
        return [total, paid, answer, settle("eve").result()]

    return _held(life, run_to_end(work, ["a", "bc"], answer=lambda question: question.value + "!"))


def aflow(life: Life) -> Any:
    """The same, async."""
    hear(life)

    @task
    async def size(word: str) -> int:
        _ran(life)
        return len(word)

    @task
    async def total(words: list[str]) -> int:
        return sum([await size(word) for word in words])

    @entrypoint(checkpointer=life.journal)
    async def work(words: list[str]) -> list[Any]:
        first = await total(words)
        return [first, interrupt(f"{first}?"), await size("end")]

    return _held(life, run_to_end(work, ["a", "bc"], answer=lambda question: "yes", driver="async"))
