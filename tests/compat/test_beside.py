"""What the comparison says of a peer and no page of the peer says: shown by the peer itself, where it is installed."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

pytestmark = pytest.mark.integration


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


async def test_five_runs_of_langgraph_at_once_on_one_thread_keep_one_message() -> None:
    """No error tells of the four others. Ours are in tests/cases/test_a19.py."""

    async def answer(state: Log) -> dict[str, list[str]]:
        await asyncio.sleep(0.01)
        return {"log": [f"answer to {state['log'][-1]}"]}

    builder: Any = StateGraph(Log)
    graph: Any = builder.add_node("answer", answer).add_edge(START, "answer").compile(InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    await asyncio.gather(*(graph.ainvoke({"log": [f"m{number}"]}, thread) for number in range(5)))
    assert len((await graph.aget_state(thread)).values["log"]) == 2
