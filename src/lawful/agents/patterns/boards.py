"""Blackboard: workers read shared cells and write several of them in one transaction, which takes effect whole or not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias, TypedDict

from msgspec import Struct, field

from lawful.agents.patterns.speaker import Speaker, ask
from lawful.core import codec
from lawful.core.errors import AgentError, ConfigurationError, nearest
from lawful.core.reducers import reducer
from lawful.graph.builder import StateGraph
from lawful.graph.command import END, START
from lawful.graph.compiled import CompiledStateGraph
from lawful.tools.facts import NOTHING, Facts, add_facts, flowing


class Cell(Struct, frozen=True):
    """A value and how often it was written."""

    value: Any
    version: int
    facts: Facts = NOTHING
    """What was seen by those whose words are in it."""


class Transaction(Struct, frozen=True):
    """What a worker read, by version, and what it wants to write."""

    worker: str
    reads: dict[str, int] = field(default_factory=dict[str, int])
    writes: dict[str, Any] = field(default_factory=dict[str, Any])
    seen: int = 0
    """How many transactions the board had been given when the worker looked at it."""
    facts: Facts = NOTHING
    """What the worker had seen when it wrote."""


class Board(Struct, frozen=True):
    """The cells, and who must try again because what it had read was written by another in the meantime."""

    cells: dict[str, Cell] = field(default_factory=dict[str, Cell])
    again: tuple[str, ...] = ()
    given: int = 0
    """Transactions so far, those that took no effect included."""
    since: int = 0
    """Of how many the workers that wrote last knew."""

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a cell, without a transaction."""
        cell = self.cells.get(name)
        return default if cell is None else cell.value


@reducer(unit=Board, version=1, update_type=list)
def commit(board: Board, transactions: list[Transaction]) -> Board:
    """Apply each transaction in order, whole or not at all: not where a cell that it read has another version now."""
    cells, again, since = dict(board.cells), list(board.again), board.since
    for one in transactions:
        if one.seen != since:  # the first of workers that all looked at the board after the last ones had written
            again, since = [], one.seen
        if any(_version(cells, name) != version for name, version in one.reads.items()):
            again.append(one.worker)
            continue
        for name, value in one.writes.items():
            cells[name] = Cell(value, _version(cells, name) + 1, one.facts)
    return Board(cells, tuple(again), board.given + len(transactions), since)


class View:
    """The board as one worker sees it in one try: what it reads is remembered, what it writes is gathered."""

    def __init__(self, worker: str, board: Board) -> None:
        self._board = board
        self._worker = worker
        self._reads: dict[str, int] = {}
        self._writes: dict[str, Any] = {}
        self._facts = NOTHING

    def read(self, name: str, default: Any = None) -> Any:
        """The value of a cell; what this try has written itself comes first."""
        if name in self._writes:
            return self._writes[name]
        self._reads[name] = _version(self._board.cells, name)
        if name in self._board.cells:
            self.saw(self._board.cells[name].facts)
        return self._board.get(name, default)

    def write(self, name: str, value: Any) -> None:
        """Put a value into a cell when the transaction takes effect; a cell that was not read is overwritten blindly."""
        self._writes[name] = value

    @property
    def cells(self) -> Mapping[str, Any]:
        """All values; reading them this way does not make the transaction depend on them."""
        for cell in self._board.cells.values():
            self.saw(cell.facts)
        return {name: cell.value for name, cell in self._board.cells.items()}

    @property
    def facts(self) -> Facts:
        """What was seen by whoever wrote what this try has read, and by whom it has asked."""
        return self._facts

    def saw(self, facts: Facts) -> None:
        """Note what was seen on the way to what this try will write: the ``facts`` of an agent's answer."""
        self._facts = flowing(add_facts(self._facts, facts))

    async def ask(self, speaker: Speaker, prompt: str) -> str:
        """What a speaker says; it has seen what this try has, and this try has seen what it has."""
        said = await ask(speaker, prompt, self._facts)
        self.saw(said.facts)
        return said.text

    def transaction(self) -> Transaction:
        """What this try comes to."""
        return Transaction(self._worker, dict(self._reads), dict(self._writes), self._board.given, self._facts)


Worker: TypeAlias = Callable[[View], Awaitable[None]]
Finished: TypeAlias = Callable[[Board], bool]


class BoardState(TypedDict):
    board: Annotated[Board, commit]
    tries: dict[str, int]
    rounds: int


def blackboard(
    workers: Mapping[str, Worker],
    *,
    rounds: int = 1,
    finished: Finished | None = None,
    most_tries: int = 200,
    checkpointer: Any = None,
) -> CompiledStateGraph[BoardState]:
    """A graph over `BoardState`: give it a ``board`` as a list of transactions (or nothing), read ``board`` at the end.

    All workers of a round run at once on the board as it was; then each transaction takes effect, in the order of the
    workers' names, and those that had read what another wrote run again. ``rounds`` is how often each worker gets a turn;
    ``finished`` ends it sooner.

    Raises: ConfigurationError; the run fails with an AgentError when a worker had to try more than ``most_tries`` times.
    """
    if not workers or rounds < 1:
        raise ConfigurationError(
            "a blackboard needs a worker and a round", component="patterns", operation="blackboard"
        )
    order = sorted(workers)
    graph = StateGraph(BoardState, name="blackboard")

    def settle(state: BoardState) -> dict[str, Any]:
        board, tries = state["board"], dict(state.get("tries") or {})
        for name in board.again:
            tries[name] = tries.get(name, 0) + 1
            if tries[name] > most_tries:
                raise AgentError(
                    f"worker {name!r} tried {tries[name]} times and always found its cells changed",
                    component="patterns",
                    operation="blackboard",
                    details={"worker": name, "tries": str(tries[name])},
                )
        return {"tries": tries, "rounds": state.get("rounds", 0) + (not board.again)}

    def following(state: BoardState) -> Sequence[str] | str:
        board = state["board"]
        if board.again:
            return list(board.again)
        over = state["rounds"] >= rounds or (finished is not None and finished(board))
        return END if over else order

    graph.add_node("settle", settle)
    for name in order:
        graph.add_node(name, _turn(name, workers[name])).add_edge(START, name).add_edge(name, "settle")
    graph.add_conditional_edges("settle", following, [*order, END])
    return graph.compile(checkpointer=checkpointer, name="blackboard")


def _turn(name: str, worker: Worker) -> Any:
    async def turn(state: BoardState) -> dict[str, list[Transaction]]:
        view = View(name, state.get("board") or Board())
        await worker(view)
        return {"board": [view.transaction()]}

    return turn


def _version(cells: Mapping[str, Cell], name: str) -> int:
    cell = cells.get(name)
    return 0 if cell is None else cell.version


def cell_named(board: Board, name: str) -> Cell:
    """A cell with its version. Raises: ConfigurationError, with the nearest name."""
    found = board.cells.get(name)
    if found is None:
        raise ConfigurationError(
            f"there is no cell {name!r}.{nearest(name, board.cells)}", component="patterns", operation="read"
        )
    return found


for _cls in (Cell, Transaction, Board):
    codec.register(_cls, id=f"lawful.agents.{_cls.__name__}", version=1)
