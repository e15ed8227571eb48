"""The verb `chat`: a conversation with an agent in the terminal, whose code may be changed and saved while it goes on."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from lawful.agents.agent import Agent
from lawful.cli import console
from lawful.cli.console import DONE, asked, clean, complain, say
from lawful.cli.reloading import Watched
from lawful.core.errors import Failure
from lawful.core.events import LLMChunk
from lawful.core.questions import Question
from lawful.graph.outcome import Done, Failed
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.models.demo import SAYS

_HELP = "An empty line is passed over; /new begins anew, /quit or the end of input ends."


def chat(args: Namespace) -> int:
    """`lawful chat [module:agent]`: line for line; without a name the demo model, which says that it is none."""
    named = console.named_by(args)
    kept: Journal = console.made(named) if named is not None or args.thread is not None else MemoryJournal()
    if args.cipher is not None:
        kept = console.decrypted(kept, args.cipher)
    with closing(kept) as journal:
        talk = _Talk(args.thing, journal, args.thread or "chat")
        say(f"Talking with {args.thing or f'the demo {SAYS}'}. {_HELP}")
        for line in _lines():
            if line == "/quit":
                break
            if line == "/new":
                talk.anew()
            elif line:
                talk.turn(line)
    return DONE


def _lines() -> Iterator[str]:
    """What is typed, line by line."""
    while True:
        print("> ", end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            print(flush=True)
            return
        yield line.strip()


class _Talk:
    """The conversation on one thread; the agent is read anew where its files were saved."""

    def __init__(self, named: str | None, journal: Any, thread: str) -> None:
        self._watched = None if named is None else Watched(named)
        self._journal = journal
        self._first = self._thread = thread
        self._times = 0
        self._agent = self._made()

    def anew(self) -> None:
        self._times += 1
        self._thread = f"{self._first}-{self._times}"

    def turn(self, line: str) -> None:
        """One question of the user, and its answer; an error is told and the conversation goes on."""
        if self._watched is not None and self._watched.changed():
            try:
                self._watched.read()
                self._agent = self._made()
                say("(read anew)")
            except Failure as error:
                complain(error)
        try:
            self._say(self._agent.stream(line, thread=self._thread))
            self._settle()
        except Failure as error:
            complain(error)

    def _made(self) -> Agent[Any]:
        return (Agent("demo") if self._watched is None else self._watched.agent()).on(self._journal)

    def _say(self, events: Any) -> None:
        run = None
        for event in events:
            run = run or event.run_id
            if isinstance(event, LLMChunk) and event.run_id == run:
                print(clean(event.text), end="", flush=True)
        print(flush=True)

    def _settle(self) -> None:
        """Ask the user what the agent asks, until it has its answer."""
        while questions := self._open():
            replies: list[Any] = []
            for question in questions:
                say(f"{asked(question)} [yes/no]")
                said = next(_lines(), "no").lower()
                replies.append(question.answer(said in ("y", "yes")))
            match self._agent.resume_sync(self._thread, *replies):
                case Done():
                    say(self._agent.get_state(self._thread).values["messages"][-1].text)
                case Failed(error):
                    raise error
                case _:
                    pass

    def _open(self) -> list[Question]:
        asked = self._agent.get_state(self._thread).interrupts
        return [question for question in asked if question.kind != "effect_recovery"]
