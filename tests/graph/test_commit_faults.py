"""Whatever a journal raises from a commit reaches the caller, and the thread is free afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.graph import START, StateGraph
from support.faulty import FailingJournal, puts_step
from support.graphs import Drive, on
from support.pausing import Log, within

pytestmark = pytest.mark.unit


def two(journal: FailingJournal) -> Any:
    def first(state: Log) -> Log:
        return {"log": ["first"]}

    def second(state: Log) -> Log:
        return {"log": ["second"]}

    builder = StateGraph(Log).add_node(first).add_node(second).add_edge(START, "first")
    return builder.add_edge("first", "second").compile(journal)


@pytest.mark.parametrize("how", ["invoke", "stream"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("disk gone")], ids=["KeyboardInterrupt", "OSError"])
def test_any_exception_of_a_commit_ends_the_run(error: BaseException, how: str, drive: Drive) -> None:
    """Not only the errors that a journal should raise; and the step can be run again. Rules: 84. Rows: S1-047."""
    journal = FailingJournal()
    graph = two(journal)
    journal.fail, journal.when = error, puts_step(1)
    with within(2), pytest.raises(type(error)):
        getattr(drive, how)(graph, {}, on("t"))
    assert journal.refused == 1
    journal.fail = None
    with within(2):
        assert drive.invoke(graph, None, on("t")) == {"log": ["first", "second"]}
