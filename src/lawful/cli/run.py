"""The verbs that go on with work: answer a question, and recover after a crash."""

from __future__ import annotations

import getpass
import json
from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from msgspec import Struct

from lawful.cli import console
from lawful.cli.console import DONE, REFUSED, UNKNOWN, command, complain, refuse, say, step
from lawful.cli.graphs import SHIPPED, graph_of, load
from lawful.cli.named_effects import effects_of as named_effects
from lawful.cli.progress import Standing, advance, diff, standing
from lawful.cli.publishing import Place, Play
from lawful.cli.update_graph import NAME, forge_folder, forge_name
from lawful.cli.update_rules import Edit
from lawful.core.errors import (
    ConfigurationError,
    Failure,
    ThreadBusy,
    ToolError,
    UnknownQuestion,
    ValidationError,
)
from lawful.core.questions import Question
from lawful.effects.recover import Report, recover_sync
from lawful.effects.references import Pull
from lawful.graph import CompiledStateGraph
from lawful.journal.port import Journal

FINE = ("declined", "up_to_date")
"""Ends without a commit that are what was wanted."""


def answer(args: Namespace) -> int:
    """`lawful answer`: say yes or no to a thread's open question and go on with its run."""
    by = who(args.by)
    given = given_answer(args)
    with closing(console.journal_of(args)) as journal:
        info = console.thread_of(journal, args.thread)
        if (wrong := wronged(args)) and (args.graph or info.graph != NAME):
            raise ConfigurationError(f"{wrong[0]} is for threads of the demo", component="cli")
        graph = graph_of(info, journal, args.graph, play_of(args, args.thread))
        before = standing(graph, args.thread)
        if not before.asked:
            raise UnknownQuestion(_nothing_asked(args, before), component="cli", operation="answer")
        question = console.one_of(args.question, before.asked)
        return answer_with(graph, args.thread, question, given, by=by, db=console.named_by(args), more=beside(args))


def beside(args: Namespace) -> list[str]:
    """What the next command must be told beside the journal: the graph and the cipher that this one was told."""
    return [word for name in ("graph", "cipher") if (held := getattr(args, name, None)) for word in (f"--{name}", held)]


def given_answer(args: Namespace) -> Any:
    """yes and no are True and False; ``--value`` is JSON, or else the text as it is."""
    if args.value is None:
        return args.answer == "yes"
    try:
        return json.loads(args.value)
    except ValueError:
        return args.value


def _nothing_asked(args: Namespace, stands: Standing) -> str:
    told = f"thread {args.thread!r} asks nothing"
    if stands.waiting:
        again = command("recover", *beside(args), db=console.named_by(args))
        return f"{told}: it was answered, and its work is unfinished: {again}"
    return f"{told}: it has ended"


def answer_with(
    graph: CompiledStateGraph[Any],
    thread: str,
    question: Question,
    given: Any,
    *,
    by: str,
    db: str | None,
    more: Sequence[str] = (),
) -> int:
    """Give ``question`` its answer and go on; gives the exit code. Raises: AlreadyAnswered, UnknownQuestion."""
    after = advance(graph, thread, None, question.answer(given), by=by)
    return report(graph, thread, after, db, more)


def who(by: str | None) -> str:
    """Who answers: the name given, else the name that this user logged in by. Raises: ValidationError."""
    if by is None:
        try:
            return getpass.getuser()
        except (KeyError, OSError, ImportError):
            return "unnamed"
    if not by.strip() or not by.isprintable() or len(by) > 100:
        raise ValidationError(f"{by!r} is no name: 1 to 100 printable characters", component="cli", operation="answer")
    return by


def wronged(args: Namespace) -> list[str]:
    """The options by which something goes wrong, as they were given."""
    names = ("kill_after_commit", "kill_after_effect", "lose_reply", "moved")
    return [f"--{name.replace('_', '-')}" for name in names if getattr(args, name)]


def play_of(args: Namespace, thread: str) -> Play:
    """What goes wrong in this run, told as it happens, and what to do after a death."""
    again = ["--thread", thread] if thread != NAME else []

    def last_words() -> None:
        say("", "This process kills itself now. Finish its work, from any process, with:")
        say(f"  {command('recover', db=args.db)}", f"or, just as well:  {command('demo', *again, db=args.db)}")

    return Play(
        kill_after_commit=args.kill_after_commit,
        kill_after_effect=args.kill_after_effect,
        lose_reply=args.lose_reply,
        moved=args.moved,
        say=step,
        last_words=last_words,
    )


# Telling where a thread stands


def report(
    graph: CompiledStateGraph[Any], thread: str, stands: Standing, db: str | None, more: Sequence[str] = ()
) -> int:
    """Say how a run ended or what it waits for; gives the exit code."""
    if stands.unknown:
        told = ", ".join(str(each.value) for each in stands.unknown)
        again = command("recover", *more, db=db)
        complain(ToolError(f"nobody knows yet what became of {told}: {again}", component="cli"))
        return UNKNOWN
    if stands.asked:
        for question in stands.asked:
            ask(thread, question, db, graph.name, more)
        return DONE
    if stands.waiting:
        raise ToolError(
            f"thread {thread!r} is unfinished at {', '.join(stands.waiting)}: {'; '.join(stands.errors) or 'not run'}",
            component="cli",
        )
    if graph.name != NAME:
        say("", f"thread {thread} has ended: {console.short(console.said(stands.values), 400)}")
        return DONE
    return _report_demo(thread, stands, db)


def _report_demo(thread: str, stands: Standing, db: str | None) -> int:
    stopped, values = stands.stopped, stands.values
    if stopped is not None and stopped.code not in FINE:
        refuse(f"thread {thread!r} stopped at {stopped.step}: {stopped.why}", stopped.code)
        return REFUSED
    if stopped is not None:
        say("", f"Thread {thread} has ended without a commit: {stopped.why}.")
        return DONE
    committed, asked, pull = values["committed"], values["request"], values.get("published")
    say("", f"Done: branch {committed.branch} has one new commit, {committed.commit[:12]}. Look at it:")
    say(f"  git -C {console.quoted(asked.repo)} show {committed.commit[:12]}")
    if isinstance(pull, Pull):
        held = Place(forge_folder(db or console.DEFAULT)).count(forge_name(asked.repo), committed.branch)
        many = f"{held} pull request{'' if held == 1 else 's'}"
        say(f"The forge holds {many} for that branch: #{pull.number}, {pull.url}")
    return DONE


def ways_to_answer(question: Question) -> list[tuple[str, ...]]:
    """The words after the thread's name that answer it."""
    if question.answer_type in ("", "bool", "approved"):
        free = [("--value", "JSON")] if not question.answer_type else []
        return [("yes",), ("no",), *free]
    return [("--value", question.answer_type.upper())]


def ask(thread: str, question: Question, db: str | None, graph: str = NAME, more: Sequence[str] = ()) -> None:
    """Show a question and the lines that answer it."""
    value = question.value
    if graph == NAME and isinstance(value, dict):
        _show_approval({str(k): v for k, v in value.items()})  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    else:
        say("", f"{question.node} asks: {console.short(value, 400)}")
    if graph not in SHIPPED and "--graph" not in more:
        more = ["--graph", "MODULE:NAME", *more]
    ways = [("yes",), ("no",)] if graph == NAME else ways_to_answer(question)
    say("", "To answer, from this or any other terminal:")
    for way in ways:
        say(f"  {command('answer', thread, *way, *more, db=db)}")
    if graph == NAME:
        say("or, to see a crash at the worst moment and the recovery from it:")
        say(f"  {command('answer', thread, 'yes', '--lose-reply', '--kill-after-effect', db=db)}")


def _show_approval(value: dict[str, Any]) -> None:
    say("", f"{value['do']}?")
    step("in", value["repository"])
    step("patch", *(text.strip() for text in diff([Edit(*each) for each in value["patch"]])))
    step("commit", f"{value['commit'][:12]}, on {value['on'][:12]}")
    step("evidence", *(f"{kind}: {'yes' if good else 'NO'} ({by})" for kind, good, by, _ in value["evidence"]))
    told = [f"{bound[:32]} of {op_id.partition(':')[0]}" for op_id, bound in value["operations"]]
    step("digest", *told, "(your answer counts for exactly this)")


# Recovery


class Recovery(Struct, frozen=True):
    """What recovery did, for --json."""

    settled: list[dict[str, str]]
    left: list[dict[str, str]]
    finished: list[str]
    failed: list[str]
    at_work: list[str]
    passed_over: list[str]
    """Graphs of threads that were not looked at, since nobody named them."""


def recover(args: Namespace) -> int:
    """`lawful recover`: find out what became of unfinished effects, and finish the runs that a crash cut short."""
    with closing(console.journal_of(args)) as journal:
        effects = named_effects(args, journal)
        found = recover_sync(journal, effects)
        done = Recovery([{"operation": each.op_id, "state": each.state} for each in found.settled], [], [], [], [], [])
        if not args.json:
            _tell_settled(found)
        for thread, graph in _unfinished(journal, args.graph, done):
            _finish(done, thread, graph, args)
        # Those that a finished run has settled meanwhile are no longer left.
        left = recover_sync(journal, effects) if found.left else found
        done.left.extend(
            {"operation": each.op_id, "state": each.state, "reason": each.reason, "next": each.next_step}
            for each in left.left
        )
        return _tell_recovered(done, as_json=args.json)


def _tell_settled(found: Report) -> None:
    for each in found.settled:
        step("settled", f"{each.op_id}", f"looked up, nothing sent: {each.state}")


def _unfinished(journal: Journal, named: str | None, done: Recovery) -> list[tuple[str, CompiledStateGraph[Any]]]:
    """Threads, of graphs that are known, which stopped in the middle: no question open, no failure, something to run.

    Graphs that are not known are noted in ``done``.
    """
    given = load(named, journal) if named is not None else None
    found: list[tuple[str, CompiledStateGraph[Any]]] = []
    for info in journal.threads():
        if given is not None and info.graph == given.name:
            graph = given
        elif info.graph in SHIPPED:
            graph = SHIPPED[info.graph](journal)
        else:
            if info.graph not in done.passed_over:
                done.passed_over.append(info.graph)
            continue
        stands = standing(graph, info.thread)
        if stands.waiting and not stands.asked and not stands.errors:
            found.append((info.thread, graph))
    return found


def _finish(done: Recovery, thread: str, graph: CompiledStateGraph[Any], args: Namespace) -> None:
    if not args.json:
        say(f"thread {thread} goes on:")
    try:
        after = advance(graph, thread, None, by="", busy="reject", quiet=args.json)
    except ThreadBusy:
        done.at_work.append(thread)
        return
    except Failure as error:
        complain(error)
        done.failed.append(thread)
        return
    if args.json:
        done.finished.append(thread)
        return
    code = report(graph, thread, after, console.named_by(args), beside(args))
    (done.finished if code == DONE else done.failed).append(thread)


def _tell_recovered(done: Recovery, *, as_json: bool) -> int:
    if as_json:
        console.as_json(done)
    else:
        for each in done.left:
            step("left", each["operation"], f"{each['state']}: {each['reason']}; {each['next']}")
        for thread in done.at_work:
            step("busy", f"thread {thread} is being worked on")
        if not (done.settled or done.left or done.finished or done.failed or done.at_work):
            runs = "" if done.passed_over else " and no run is cut short"
            say(f"Nothing to recover: every outcome is known{runs}.")
        for graph in done.passed_over:
            say(
                f"Threads of graph {graph!r} were not looked at: whether a run of it was cut short is known with --graph."
            )
    if done.left:
        return UNKNOWN
    return REFUSED if done.failed else DONE
