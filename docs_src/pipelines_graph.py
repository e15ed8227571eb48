"""A pipeline is a node of a graph; its question pauses the run, and its answer goes on where the graph's journal stands."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from lawful import START, UNSET, Done, MemoryJournal, Paused, StateGraph, interrupt
from lawful.pipeline import prim, pure, run, step


@dataclass(frozen=True)
class Letter:
    to: str = UNSET
    text: str = UNSET


def draft(letter: Letter) -> Letter:
    return Letter(to=letter.to, text=f"Dear {letter.to},")


@step
def approve(letter: Letter) -> Letter:
    said = interrupt(f"Send {letter.text!r}?")
    return Letter(text=f"{letter.text} ({said})")


graph = StateGraph(Letter).add_node("write", pure(draft) >> approve).add_edge(START, "write").compile(MemoryJournal())
plain = StateGraph(Letter).add_node(draft).add_edge(START, "draft").compile(name="drafting")


def text_of(letter: Letter) -> str:
    return letter.text


async def main() -> None:
    paused = await graph.run(Letter(to="Ann"), thread="1")
    assert isinstance(paused, Paused)
    print(paused.questions[0].value)
    done = await graph.resume("1", paused.questions[0].answer("yes"))
    assert isinstance(done, Done)
    print(done.state.text)
    print((await run(prim(plain) >> pure(text_of), Letter(to="Bo"))).unwrap())


asyncio.run(main())
# prints: Send 'Dear Ann,'?
# prints: Dear Ann, (yes)
# prints: Dear Bo,
