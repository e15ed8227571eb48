"""A dry run from the record: what today's code would call is told, nobody is called, nothing is written."""

from __future__ import annotations

import asyncio
import itertools
from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.errors import ConfigurationError, ReplayGap
from lawful.effects import Policy, RequireApproval, RequireEvidence, effect
from lawful.graph import START, StateGraph
from lawful.graph.functional import entrypoint, task
from lawful.graph.runtime import Runtime
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.models.fake import Scripted
from support.graphs import Drive, JournalBox, concat

pytestmark = pytest.mark.unit

CONFIG = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], concat]


class Shop:
    """Mails go out from one node, another books beside it; the code can be changed."""

    def __init__(self, box: JournalBox, drive: Drive) -> None:
        self.box, self.drive = box, drive
        self.called: list[str] = []
        self.text, self.more, self.books = "hello", False, True
        self.down = False

        @effect("key", policy=Policy("mails", (RequireEvidence("tests"), RequireApproval("lead", 2))), tool="post")
        def post(key: str, text: str) -> str:
            self.called.append(f"post {key}")
            return "posted"

        @effect("key")
        def send(key: str, text: str) -> str:
            self.called.append(f"send {key}")
            return f"receipt of {text}"

        @effect("room")
        def book(room: str) -> str:
            self.called.append(f"book {room}")
            return f"booked {room}"

        self.send, self.book, self.post = send, book, post

    def build(self) -> Any:
        def mail(state: State) -> State:
            if self.down:
                raise ConnectionError("down")
            try:
                told = [self.send("1", self.text), *([self.post("2", "more")] if self.more else [])]
            except Exception:
                told = ["went on without"]
            return {"log": told}

        def room(state: State) -> State:
            return {"log": [self.book("a")] if self.books else ["none"]}

        def end(state: State) -> State:
            self.called.append("end")
            return {"log": ["end"]}

        graph = StateGraph(State).add_node(mail).add_node(room).add_node(end)
        graph.add_edge(START, "mail").add_edge(START, "room").add_edge(["mail", "room"], "end")
        return graph.compile(self.box.open())

    def dry(self) -> Any:
        """Of today's code; what is stored is the same before and after, and no effect is performed."""
        before, called = everything(self.box.open()), len(self.called)
        found = self.build().replay_recorded("t", mode="dry_run")
        assert everything(self.box.open()) == before
        assert set(self.called[called:]) <= {"end"}
        return found


def everything(journal: Journal) -> Any:
    chains = [journal.chain("t", ns, row.id) for ns in journal.namespaces("t") for row in journal.history("t", ns)]
    return chains, journal.read(lambda tx: [(row, list(tx.events(row.op_id))) for row in tx.operations()])


@pytest.fixture
def shop(box: JournalBox, drive: Drive) -> Shop:
    made = Shop(box, drive)
    return made


def test_the_same_code_means_nothing_new(shop: Shop) -> None:
    shop.drive.invoke(shop.build(), {"log": []}, CONFIG)
    found = shop.dry()
    assert (found.same, found.intents, found.gap) == (True, (), None)
    assert sorted(shop.called[:2]) == ["book a", "send 1"]


def test_a_new_effect_is_told_with_what_it_needs_and_the_task_beside_it_goes_on(shop: Shop) -> None:
    """Ledger: L10"""
    shop.books = False
    shop.drive.invoke(shop.build(), {"log": []}, CONFIG)
    shop.more = shop.books = True
    found = shop.dry()
    post, book = found.intents
    assert (post.kind, post.name, post.node, post.op_id, post.args) == (
        "effect", "post", "mail", "post:2", {"key": "2", "text": "more"},
    )  # fmt: skip
    assert (post.needs, post.stands, post.recorded) == (("evidence:tests", "approval:lead x2"), "Unplanned", None)
    assert (book.name, book.op_id, book.needs) == ("book", "book:a", ())
    assert book.capability
    assert found.divergence.nodes == ("mail", "room")
    assert found.gap is None


def test_another_effect_than_recorded_is_told_beside_the_divergence(shop: Shop) -> None:
    shop.drive.invoke(shop.build(), {"log": []}, CONFIG)
    shop.text = "good bye"
    found = shop.dry()
    (call,) = found.intents
    assert (call.op_id, call.args["text"], call.recorded["text"]) == ("send:1", "good bye", "hello")
    assert call.stands == "Succeeded"
    assert "other arguments" in call.why
    assert found.divergence is not None
    assert (found.steps, found.same) == (1, False)


def test_a_step_that_never_ended_tells_what_it_would_do(shop: Shop) -> None:
    shop.down, shop.books = True, False
    with pytest.raises(ConnectionError):
        shop.drive.invoke(shop.build(), {"log": []}, CONFIG)
    shop.down, shop.more = False, True
    found = shop.dry()
    assert found.same
    assert [call.op_id for call in found.intents if call.node == "mail"] == ["send:1"]


def test_where_the_thread_was_taken_elsewhere_what_would_have_come_is_not_told(shop: Shop) -> None:
    shop.down, shop.books = True, False
    with pytest.raises(ConnectionError):
        shop.drive.invoke(shop.build(), {"log": []}, CONFIG)
    shop.drive.update_state(shop.build(), CONFIG, {"log": ["by hand"]}, as_node="end")
    shop.down = False
    found = shop.dry()
    assert (found.same, found.intents) == (True, ())


def test_models_and_tasks_without_a_record_are_told_too(box: JournalBox) -> None:
    made: list[str] = []
    more = [False]
    model = Scripted("hi")

    @task
    def fetch(n: int) -> str:
        made.append(f"fetch {n}")
        return "got"

    @entrypoint(checkpointer=box.open())
    def flow(n: int) -> str:
        return fetch(1).result() + (fetch(2).result() if more[0] else "")

    flow.invoke(1, thread="t")
    more[0] = True
    (call,) = flow.replay_recorded("t", mode="dry_run").intents
    assert (call.kind, call.name, call.args) == ("task", "fetch", [(2,), {}])
    assert made == ["fetch 1"]

    def node(state: State) -> State:
        return {"log": [model.invoke("hello").text] if len(made) > 1 else []}

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile(MemoryJournal())
    graph.invoke({"log": []}, CONFIG)
    made.append("now it asks")
    (call,) = graph.replay_recorded("t", mode="dry_run").intents
    assert (call.kind, call.node) == ("model", "node")
    assert model.left == 1


def test_a_clock_that_was_not_asked_then_is_a_gap(journal: Journal) -> None:
    asks = [False]

    def node(state: State, runtime: Runtime[None]) -> State:
        return {"log": [runtime.new_id()] if asks[0] else []}

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile(journal)
    graph.invoke({"log": []}, CONFIG)
    asks[0] = True
    found = graph.replay_recorded("t", mode="dry_run")
    assert isinstance(found.gap, ReplayGap)
    assert found.intents == ()
    assert not found.same


async def test_async_effects_at_once_and_in_a_subgraph(journal: Journal) -> None:
    sent: list[str] = []
    keys = ["a"]

    @effect("key")
    async def send(key: str) -> str:
        sent.append(key)
        return f"receipt of {key}"

    async def inner(state: State) -> State:
        return {"log": [*await asyncio.gather(*(send(key) for key in keys), return_exceptions=True)]}  # pyright: ignore[reportReturnType]

    sub = StateGraph(State).add_node(inner).add_edge(START, "inner").compile()
    graph = StateGraph(State).add_node("sub", sub).add_edge(START, "sub").compile(journal)
    await graph.ainvoke({"log": []}, CONFIG)
    keys += ["b", "b"]
    found = await asyncio.to_thread(graph.replay_recorded, "t", mode="dry_run")
    assert [(call.name, call.op_id, call.node) for call in found.intents] == [("send", "send:b", "inner")]
    assert sent == ["a"]


def test_what_follows_the_record_is_gone_on_with(journal: Journal) -> None:
    """Steps that the recorded run did not have are run until something is to be called."""
    sent: list[str] = []

    @effect("key")
    def send(key: str) -> str:
        sent.append(key)
        return key

    def node(state: State) -> State:
        return {"log": ["x"]}

    def last(state: State) -> State:
        return {"log": [send("late")]}

    graph = StateGraph(State).add_node(node).add_edge(START, "node")
    graph.compile(journal).invoke({"log": []}, CONFIG)
    graph.add_node(last)
    for before, name in itertools.pairwise(["node", "a", "b", "c", "d"]):
        graph.add_node(name, node).add_edge(before, name)
    graph.add_edge("d", "last")
    found = graph.compile(journal).replay_recorded("t", mode="dry_run")
    assert [call.op_id for call in found.intents] == ["send:late"]
    assert found.divergence is not None
    assert sent == []


@pytest.mark.parametrize(
    ("mode", "told"), [("dryrun", "Did you mean 'dry_run'"), ("live", 'on_fork="new"'), ("", "is no mode")]
)
def test_other_modes_are_refused(mode: Any, told: str) -> None:
    def node(state: State) -> State:
        return {}

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile(MemoryJournal())
    graph.invoke({"log": []}, CONFIG)
    with pytest.raises(ConfigurationError, match=told):
        graph.replay_recorded("t", mode=mode)


@pytest.mark.parametrize("mode", ["recorded", "dry_run"])
def test_listeners_that_are_bound_to_the_graph_hear_nothing(mode: Any) -> None:
    heard: list[Any] = []

    def node(state: State) -> State:
        return {"log": ["x"]}

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile(MemoryJournal())
    graph = graph.with_config({"listeners": [heard.append]})
    graph.invoke({"log": []}, CONFIG)
    told = len(heard)
    assert told
    assert graph.replay_recorded("t", mode=mode).same
    assert len(heard) == told
