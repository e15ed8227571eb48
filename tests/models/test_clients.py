"""A provider's client lives as long as the event loop that it was made in, and no longer."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest

from lawful import Agent
from lawful.models.adapter import Clients
from support.wire_server import WireServer
from support.wires import SDKS, answer, made, there

pytestmark = pytest.mark.unit


def clients_of(closed: list[int]) -> Clients[int]:
    made: list[int] = []

    def make() -> int:
        made.append(len(made) + 1)
        return made[-1]

    async def close(client: int) -> None:
        await asyncio.sleep(0)
        closed.append(client)

    return Clients(make, close)


def test_a_client_is_closed_when_its_loop_is() -> None:
    closed: list[int] = []
    clients = clients_of(closed)

    async def ask() -> None:
        assert clients.get() == clients.get()
        await asyncio.sleep(0)

    asyncio.run(ask())
    assert closed == [1]
    asyncio.run(ask())
    assert closed == [1, 2]


def test_a_client_that_was_closed_is_not_closed_again() -> None:
    closed: list[int] = []
    clients = clients_of(closed)

    async def ask() -> None:
        clients.get()
        await clients.aclose()
        await clients.aclose()
        assert closed == [1]
        assert clients.get() == 2

    asyncio.run(ask())
    assert closed == [1, 2]


def test_the_callers_own_client_is_left_open() -> None:
    closed: list[int] = []

    async def close(client: int) -> None:
        closed.append(client)

    clients = Clients(lambda: 1, close, 7)

    async def ask() -> None:
        assert clients.get() == 7
        await clients.aclose()

    asyncio.run(ask())
    assert closed == []


@pytest.mark.parametrize(
    "wire",
    [pytest.param(w, marks=pytest.mark.skipif(not there(w), reason=f"needs the package {SDKS[w]}")) for w in SDKS],
)
def test_a_sync_call_of_an_agent_leaves_no_connection_open(wire: str) -> None:
    with WireServer(answer(wire, ["Hello"]), answer(wire, ["Hello"])) as server, made(wire, server.url) as model:
        agent = Agent(model)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(2):
                assert agent.invoke("Hi").text == "Hello"
            gc.collect()
    assert [str(one.message) for one in told if issubclass(one.category, ResourceWarning)] == []
