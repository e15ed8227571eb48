"""Replay from the record: node code runs again with recorded answers and results, calls nobody and changes no store.

The thread is copied into a journal in memory, input by input; what each step gives there is held against what is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lawful.core.errors import ConfigurationError, ReplayGap
from lawful.core.messages import Message
from lawful.core.replay import KEY, IntendedCall, Recorded
from lawful.graph import orders as o
from lawful.graph.dry import BEYOND, in_order, within
from lawful.graph.notes import stored_calls
from lawful.graph.persist import NULL_TASK
from lawful.graph.program import Program
from lawful.graph.restored import Saved
from lawful.graph.running import drive
from lawful.graph.session import Options
from lawful.graph.snapshot import StateSnapshot
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import Batch, Chain, Checkpoint, PutCheckpoint, PutChunks

HEARING = ("listeners", "callbacks")
"""What a graph's bound config tells of its runs: a replay is none, so nobody counts or traces it."""


class Divergence(Struct, frozen=True):
    """The first step that today's code does otherwise than the record says."""

    step: int
    nodes: tuple[str, ...]
    """The nodes that ran in it."""
    key: str
    """The state's key whose value differs; "" where other nodes came next, or the step did not come to its end."""
    recorded: str
    now: str


class Replayed(Struct, frozen=True):
    """What a replay from the record found."""

    steps: int
    """Recorded steps that came out the same, up to the first that did not."""
    divergence: Divergence | None = None
    gap: ReplayGap | None = None
    """What the record does not answer, if that is why it diverged."""
    intents: tuple[IntendedCall, ...] = ()
    """In a dry run: the calls that today's code came to and the record does not answer, in order; nobody got them."""

    @property
    def same(self) -> bool:
        """Whether all of the record came out the same."""
        return self.divergence is None


def replay_recorded(graph: Any, thread: str, *, dry: bool = False) -> Replayed:
    """Run every recorded step of ``thread``'s newest history again, from its inputs, and compare.

    Raises: ConfigurationError for a thread without a history.
    """
    journal = graph.journal_of()
    path = _path(journal, thread)
    told = {each.config["configurable"]["checkpoint_id"]: each for each in graph.get_state_history(thread)}
    record = Recorded(_answers(graph.program, journal, thread), dry)
    found = _compared(graph, journal, thread, path, told, record)
    if not dry:
        return found
    found = replace(found, intents=in_order(record.met))
    return replace(found, gap=record.gaps[0][1]) if record.gaps else found


def _compared(
    graph: Any,
    journal: Journal,
    thread: str,
    path: list[Checkpoint],
    told: Mapping[str, StateSnapshot],
    record: Recorded,
) -> Replayed:
    steps = 0
    parts = _parts(path)
    for part in parts:
        hole = _hole(part)
        wanted = [told[row.id] for row in part[:hole]]
        if wanted:
            same, differs, gap = _segment(graph, journal, thread, part[0], wanted, record, part is parts[-1])
            steps += same
            if differs is not None:
                return Replayed(steps, differs, gap)
        if hole < len(part):
            return Replayed(steps, *_unrecorded(thread, part[hole]))
    return Replayed(steps)


def _parts(path: list[Checkpoint]) -> list[list[Checkpoint]]:
    """What each input, and each change from outside, led to."""
    starts = [place for place, row in enumerate(path) if place == 0 or row.source != "loop"]
    return [path[start:end] for start, end in zip(starts, [*starts[1:], len(path)], strict=True)]


def _hole(part: list[Checkpoint]) -> int:
    """The place of the first checkpoint before which steps are missing; the length, where none is."""
    if part[0].source == "loop":
        return 0
    return next((n for n in range(1, len(part)) if part[n].step != part[n - 1].step + 1), len(part))


def _unrecorded(thread: str, row: Checkpoint) -> tuple[Divergence, ReplayGap]:
    why = f"the steps up to {row.step} are not recorded: they ran with durability 'exit', or were pruned"
    gap = ReplayGap(
        f"thread {thread!r}: {why}; run with 'sync' or 'async' what is to be replayed",
        component="replay",
        operation="step",
    )
    return Divergence(row.step, (), "", "only how it ended", why), gap


def _path(journal: Journal, thread: str) -> list[Checkpoint]:
    """The checkpoints that led to the newest one, oldest first."""
    rows = {row.id: row for row in journal.history(thread)}
    if not rows:
        raise ConfigurationError(f"Thread {thread!r} has no history to replay", component="graph", operation="replay")
    at: Checkpoint | None = max(rows.values(), key=lambda row: row.id)
    found: list[Checkpoint] = []
    while at is not None:
        found.append(at)
        at = rows.get(at.parent) if at.parent is not None else None
    return found[::-1]


def _answers(program: Program, journal: Journal, thread: str) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for ns in journal.namespaces(thread):
        for row in journal.history(thread, ns):
            chain = journal.chain(thread, ns, row.id)
            if chain is None:
                continue
            for answer in chain.answers:
                found[answer.question] = program.registry.decode(answer.blob, where=f"answer to {answer.question}")
            found.update(stored_calls(_saved(program, chain)))
    return found


def _saved(program: Program, chain: Chain) -> list[Saved]:
    """What tasks and calls of an unfinished step had saved."""
    out: list[Saved] = []
    for row in chain.writes:
        if row.kind == "done" and row.task != NULL_TASK:
            saved = Saved(row.kind, row.blob, row.refs)
            saved.done = program.registry.decode(
                row.blob, chunks=chain.chunks, where=f"saved writes of task {row.task}"
            )
            out.append(saved)
    return out


def _segment(
    graph: Any,
    journal: Journal,
    thread: str,
    start: Checkpoint,
    wanted: Sequence[StateSnapshot],
    record: Recorded,
    last: bool,
) -> tuple[int, Divergence | None, ReplayGap | None]:
    """From one change from outside to the next: how many steps came out the same, and the first that did not."""
    scratch = MemoryJournal().scoped(journal.scope)
    chain = journal.chain(thread, "", start.id)
    assert chain is not None
    _copied(chain, thread, scratch)
    _copied_effects(journal, scratch)
    twin = graph.with_config()
    twin.config = {key: value for key, value in twin.config.items() if key not in HEARING}
    twin.checkpointer, twin.store, twin.cache = scratch, None, None
    limit = max(1, len(wanted)) + (BEYOND if record.dry else 0)
    config = {"configurable": {"thread_id": thread, KEY: record}, "recursion_limit": limit}
    error, made = _driven(twin, thread, config, start.id, len(wanted), record)
    gap = error if isinstance(error, ReplayGap) else None
    if not last:  # where the thread was taken elsewhere, what would have come next is nothing that today's code does
        kept = {each.config["configurable"]["checkpoint_id"] for each in made[: len(wanted) - 1]}
        record.met = [each for each in record.met if within(each[0], kept)]
        record.gaps = [each for each in record.gaps if within(each[0], kept)]
    for place, old in enumerate(wanted[1:], 1):
        new = made[place] if place < len(made) else None
        differs = _difference(wanted[place - 1], old, new, error)
        if differs is not None:
            return place - 1, differs, gap
    return len(wanted) - 1, None, None


def _driven(
    twin: Any, thread: str, config: Any, start: str, wanted: int, record: Recorded
) -> tuple[BaseException | None, list[StateSnapshot]]:
    """Go on, past the places where the run stopped and was told to go on, until there are as many checkpoints as recorded.

    Gives what ended it, and the checkpoints from ``start`` on.
    """
    made: list[StateSnapshot] = []
    while True:
        before = len(made)
        _, outcome = drive(twin, None, config, Options())
        made = list(twin.get_state_history(thread))[::-1]
        at = next(n for n, each in enumerate(made) if each.config["configurable"]["checkpoint_id"] == start)
        made = made[at:]
        error = outcome.error if isinstance(outcome, o.Broke) else None
        if error is not None or len(made) >= wanted or len(made) == before or record.met or record.gaps:
            return error, made


def _difference(
    before: StateSnapshot, old: StateSnapshot, new: StateSnapshot | None, error: BaseException | None
) -> Divergence | None:
    step, nodes = int((old.metadata or {}).get("step", 0)), tuple(before.next)
    if (old.metadata or {}).get("source") != "loop":
        return None  # an update from outside or a fork: no code of the graph made it
    if new is None:
        why = f"{type(error).__name__}: {error}" if error is not None else "it does not come to its end"
        return Divergence(step, nodes, "", "it came to its end", why)
    was, now = _named(old.values), _named(new.values)
    for key in dict.fromkeys((*was, *now)):
        if was.get(key) != now.get(key) and _unnamed(was.get(key), {}) != _unnamed(now.get(key), {}):
            return Divergence(step, nodes, key, repr(was.get(key))[:200], repr(now.get(key))[:200])
    if tuple(old.next) != tuple(new.next):
        return Divergence(step, nodes, "", f"then {', '.join(old.next)}", f"then {', '.join(new.next)}")
    return None


def _named(values: Any) -> dict[str, Any]:
    return dict(values) if isinstance(values, Mapping) else {"": values}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _unnamed(value: Any, names: dict[str, str]) -> Any:
    """``value`` with its messages' ids by their order: a message that came without one gets a fresh one each time."""
    match value:
        case Message(id=str(id)):
            return value.named(names.setdefault(id, f"#{len(names)}"))
        case list() | tuple():
            told: list[Any] = [_unnamed(each, names) for each in value]  # pyright: ignore[reportUnknownVariableType]
            return told
        case dict():
            return {key: _unnamed(each, names) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


def _copied(chain: Chain, thread: str, into: Journal) -> None:
    """The one checkpoint with all that it is rebuilt from."""
    records: list[Any] = [PutChunks(chain.chunks)] if chain.chunks else []
    records += [PutCheckpoint(row) for row in chain.rows]
    into.commit(Batch(thread, tuple(records)))


def _copied_effects(journal: Journal, into: Journal) -> None:
    kept = journal.read(lambda tx: [(row, tuple(tx.events(row.op_id))) for row in list(tx.operations())])

    def work(tx: EffectTx) -> None:
        for row, events in kept:
            if events:
                tx.append(row, events)

    into.transact(work)
