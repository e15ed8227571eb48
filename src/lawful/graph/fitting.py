"""Pure: whether a thread fits the graph that is to go on with it; what does not is named, with the nearest name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from lawful.core.errors import ResumeRefused, nearest
from lawful.graph.command import START
from lawful.graph.fingerprint import Fingerprint, print_of
from lawful.graph.program import Program
from lawful.graph.restored import Restored

_PLAIN = frozenset({"LastValue", "AnyValue", "BinaryOperatorAggregate", "UntrackedValue", "DeltaChannel"})
"""Channels that store a value as it is, so that one can take over from another."""


class Finding(Struct, frozen=True):
    """One thing in which a thread does not fit the graph."""

    what: str
    """"node", "key" or "version"."""
    name: str
    text: str


def compatible(program: Program, thread: str, made: Restored, *, pending: bool = True) -> None:
    """Refuse to go on where the graph lacks, or has otherwise, what this thread needs.

    ``pending``: its pending tasks are to run; else only what it stores matters.

    Raises: ResumeRefused, naming all of it.
    """
    found = findings(program, made, pending=pending)
    if found:
        raise ResumeRefused(
            f"Thread {thread!r} {' and '.join(f.text for f in found)}",
            component="graph",
            operation="resume",
            details={
                "thread": thread,
                "what": ", ".join(f.what for f in found),
                "names": ", ".join(f.name for f in found),
            },
        )


def findings(program: Program, made: Restored, *, pending: bool = True) -> list[Finding]:
    """What of the graph's change touches the thread's pending tasks and stored channels; empty if it can go on."""
    found = list(_nodes(program, made)) if pending else []
    if program.strict:
        found += _keys(program, made)
    if made.stuck and pending:
        found += [
            Finding("key", key, f"holds unfinished writes to {key!r} in its old form: ConvertKey needs update=")
            for key in sorted(made.stuck)
        ]
    then = made.print
    if then is not None and then.digest != print_of(program)[0]:
        found += [*_origins(program, made, then), *_revisions(program, made, then)] if pending else ()
        found += [*_kinds(program, made, then), *_versions(program, made, then)]
        found += _values(program, made)
    return found


def _nodes(program: Program, made: Restored) -> Iterable[Finding]:
    known = [n for n, node in program.nodes.items() if not node.hidden]
    for name in sorted({n for n in made.head.names if n not in program.nodes}):
        hint = nearest(name, known)
        yield Finding(
            "node", name, f"waits at {name!r}, which the graph no longer has.{hint} (RenameNode says what it is now)"
        )


def _keys(program: Program, made: Restored) -> Iterable[Finding]:
    known = list(program.checks)
    for key in sorted(made.dropped):
        hint = nearest(key, known)
        yield Finding(
            "key", key, f"holds values of {key!r}, which the state no longer has.{hint} (RenameKey says what it is)"
        )


def _origins(program: Program, made: Restored, then: Fingerprint) -> Iterable[Finding]:
    for name in sorted({n for n in made.head.names if n in program.nodes and n != START}):
        once, now = then.nodes.get(name), program.nodes[name].known_as
        if once is not None and once != now:
            yield Finding(
                "node", name, f"waits at {name!r}, which it knows as {once!r}: keep RenameNode({once!r}, {name!r})"
            )


def _revisions(program: Program, made: Restored, then: Fingerprint) -> Iterable[Finding]:
    accepted = program.migrations.accepted if program.migrations is not None else frozenset[tuple[str, int]]()
    for name in sorted({n for n in made.head.names if n in program.nodes}):
        node = program.nodes[name]
        called = next((n for n, known in then.nodes.items() if known == node.known_as), name)
        once = then.revisions.get(called, 1)
        if once != node.version and (name, once) not in accepted:
            yield Finding(
                "version",
                name,
                f"waits at {name!r} in version {once}, which is version {node.version} now"
                f" (AcceptNode({name!r}, {once}) lets it go on)",
            )


def _kinds(program: Program, made: Restored, then: Fingerprint) -> Iterable[Finding]:
    for key in made.values:
        once = then.channels.get(key)
        now = type(program.channels[key]).__name__
        if once is not None and once != now and not {once, now} <= _PLAIN:
            yield Finding("key", key, f"holds {key!r} as {once}, which is {now} now")


def _versions(program: Program, made: Restored, then: Fingerprint) -> Iterable[Finding]:
    now: Mapping[str, int] = program.migrations.versions if program.migrations is not None else {}
    for key, version in then.versions.items():
        if key in made.values and version > now.get(key, 1):
            yield Finding("version", key, f"holds {key!r} in version {version}, this graph knows {now.get(key, 1)}")


def _values(program: Program, made: Restored) -> Iterable[Finding]:
    """Values of plain keys that are not of the type that the key has now."""
    fixed = program.reducers
    for key, check in program.checks.items():
        if key in made.values and key not in fixed and type(program.channels[key]).__name__ == "LastValue":
            problem = check(made.values[key])
            if problem is not None:
                yield Finding(
                    "key", key, f"holds in {key!r} what it may not be now ({problem}): ConvertKey says what it is"
                )
