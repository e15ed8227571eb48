"""The verb `run`: one prompt to an agent, or one input to a graph, that the caller names."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any, cast

from lawful.agents.agent import Agent
from lawful.cli import console
from lawful.cli.console import DONE, asked, command, said, say
from lawful.cli.graphs import load, thing
from lawful.cli.run import beside, ways_to_answer
from lawful.core.errors import ValidationError
from lawful.graph import CompiledStateGraph
from lawful.graph.outcome import Done, Failed, Paused
from lawful.journal.ids import thread_key


def run(args: Namespace) -> int:
    """`lawful run module:name PROMPT`: print the answer, or what it waits for and how to answer."""
    found = thing(args.thing)
    journal = _journal(args)
    if isinstance(found, Agent):
        agent = cast("Agent[Any]", found)
        asking = agent if journal is None else agent.on(journal)
        return _tell(args, asking.run_sync(args.prompt, thread=args.thread))
    graph = load(args.thing, journal)
    return _tell(args, graph.run_sync(given_to(graph, args.prompt), thread=args.thread))


def _journal(args: Namespace) -> Any:
    """The one that is named; with a thread and no name the command's own, so that it can be gone on with."""
    if args.thread is not None:
        thread_key(args.thread)  # before anything is made
    named = console.named_by(args)
    if named is None and args.thread is None:
        return None
    kept = console.made(named)
    return kept if args.cipher is None else console.decrypted(kept, args.cipher)


def given_to(graph: CompiledStateGraph[Any], prompt: str) -> Any:
    """A graph's input from a line: a JSON object as it is; a text as a message, or as the one key that takes text.

    Raises: ValidationError, naming the keys.
    """
    try:
        read = json.loads(prompt)
    except ValueError:
        read = None
    if isinstance(read, dict):
        return read  # pyright: ignore[reportUnknownVariableType]
    keys = list(graph.blueprint.input_schema.channels)
    if "messages" in keys:
        return {"messages": [prompt]}
    if len(keys) == 1:
        return {keys[0]: prompt}
    raise ValidationError(
        f"graph {graph.name!r} takes {', '.join(keys)}: give a JSON object", component="cli", operation="run"
    )


def _tell(args: Namespace, ended: Done[Any] | Paused | Failed) -> int:
    match ended:
        case Done(state):
            if args.json:
                console.as_json(state)
            else:
                say(said(state))
            return DONE
        case Paused(questions=questions, thread=thread):
            for question in questions:
                say(f"asks: {asked(question)}")
            kept = console.named_by(args)
            if thread is None or not (kept or args.thread):
                say("", "Name a thread with --thread ID, and it waits for your answer.")
                return DONE
            say("", "To answer, from this or any other terminal:")
            ways = [way for question in questions for way in ways_to_answer(question)]
            for way in dict.fromkeys(ways):
                say(f"  {command('answer', str(thread), *way, '--graph', args.thing, *beside(args), db=kept)}")
            return DONE
        case Failed(error):
            raise error
