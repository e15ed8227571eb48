"""A secret that a program uses, leaks into errors and tries to keep reaches no file, event, error or log, on any journal."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, Runtime, Secret, StateGraph, interrupt, untracked
from lawful.core.errors import ConfigurationError, Failure, ValidationError
from lawful.effects import Natural, effect
from lawful.graph import CachePolicy, get_stream_writer
from lawful.stores import MemoryStore
from lawful.stores.store_port import Store
from lawful.stores.store_records import PutOp
from support.graphs import Drive, on
from support.places import Place

pytestmark = [pytest.mark.integration]

planted = ""


class State(TypedDict, total=False):
    step: str
    kept: Any
    client: Annotated[Any, untracked()]


@pytest.fixture(autouse=True)
def _own_secret() -> None:
    """Each test has a text of its own, for a server's files outlive the test that wrote them."""
    global planted
    planted = f"pl4nted-s3cret-{os.urandom(6).hex()}"


def _all_that_can_be_seen(place: Place, *more: Any) -> list[str]:
    """The names of what holds the planted text."""
    told = [json.dumps(one, default=repr, ensure_ascii=False) + repr(one) + str(one) for one in more]
    found = [f"told: {one[:200]}" for one in told if planted in one]
    if place.kind == "memory":
        return found
    return found + [name for name, data in place.files() if planted.encode() in data]


def _graph(place: Place, drive: Drive, *nodes: Any) -> Any:
    builder: Any = StateGraph(State)
    for body in nodes:
        builder.add_node(body.__name__, drive.node(body))
    for one, two in zip([START, *(n.__name__ for n in nodes)], [n.__name__ for n in nodes], strict=False):
        builder.add_edge(one, two)
    return builder.compile(checkpointer=place.journal())


def test_what_is_stored_would_be_found(place: Place, drive: Drive) -> None:
    """The other way round: a plain text is seen in every place that the tests below look at."""

    def node(state: State) -> State:
        return {"kept": planted}

    drive.invoke(_graph(place, drive, node), {"step": "in"}, on("t"))
    place.store().put(("a",), "k", {"text": planted})
    assert place.kind == "memory" or len(_all_that_can_be_seen(place)) >= 2
    assert len(_all_that_can_be_seen(place, {"x": planted})) >= 1


def test_it_is_used_and_leaves_no_trace(place: Place, drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """In the context, in an untracked key, in an object there; shown by every stream mode. Rows: S1-084, S1-C12."""
    seen: list[str] = []

    def begin(state: State, runtime: Runtime[Any]) -> State:
        logging.getLogger("app").warning("with %s and %s", runtime.context["key"], runtime.context)
        get_stream_writer()({"using": str(runtime.context["key"])})
        return {"client": {"key": runtime.context["key"]}, "step": "began"}

    def use(state: State) -> State:
        client: Any = state.get("client")
        key: Secret = client["key"]
        seen.append(key.reveal())
        return {"step": f"used {key}"}

    graph = _graph(place, drive, begin, use)
    modes = ["values", "updates", "custom", "messages", "tasks", "checkpoints", "debug", "events"]
    config = on("t")
    config["configurable"]["api_key"] = planted
    config["configurable"]["provider"] = Secret(planted)
    events = drive.stream(graph, {"step": "in"}, config, context={"key": Secret(planted)}, stream_mode=modes)
    assert seen == [planted]
    states = [drive.get_state(graph, on("t")), *drive.get_state_history(graph, on("t"))]
    assert states[0].values == {"step": "used ***"}
    assert (
        _all_that_can_be_seen(place, events, [s.values for s in states], [s.metadata for s in states], caplog.text)
        == []
    )


def test_an_error_that_tells_it_is_kept_without_it(place: Place, drive: Drive) -> None:
    """A provider's exception quotes the key; the journal keeps that a task failed, and why. Rows: S0-075, S1-084."""
    secret = Secret(planted)

    class ProviderError(Exception):
        pass

    def call(state: State) -> State:
        raise ProviderError(f"Incorrect API key provided: {secret.reveal()}")

    graph = _graph(place, drive, call)
    with pytest.raises(ProviderError):
        drive.invoke(graph, {"step": "in"}, on("t"))
    snapshot = drive.get_state(graph, on("t"))
    assert "Incorrect API key" in str(snapshot.tasks[0].error)
    assert _all_that_can_be_seen(place, snapshot.tasks, snapshot.values) == []


def test_a_failure_that_tells_it_is_told_without_it(place: Place, drive: Drive) -> None:
    """Rows: S0-075."""
    secret = Secret(planted)

    def call(state: State) -> State:
        raise ValidationError(f"refused {secret.reveal()}", details={"sent": secret.reveal()})

    graph = _graph(place, drive, call)
    failed = drive.run(graph, {"step": "in"}, on("t"))
    assert isinstance(failed.error, Failure)
    assert failed.error.message == "refused ***"
    assert _all_that_can_be_seen(place, failed, failed.error.to_json()) == []


TRIES: dict[str, Callable[[Secret], Any]] = {
    "the secret": lambda s: {"kept": s},
    "inside": lambda s: {"kept": {"deep": [1, (2, s)]}},
    "its text": lambda s: {"kept": s.reveal()},
    "text around it": lambda s: {"kept": {"log": ["x" * 5_000 + s.reveal()]}},
}


@pytest.mark.parametrize("name", TRIES)
def test_writing_it_into_state_is_refused_by_the_keys_name(place: Place, drive: Drive, name: str) -> None:
    """Rows: S1-084, S1-C12."""
    secret = Secret(planted)

    def keep(state: State) -> State:
        return TRIES[name](secret)

    graph = _graph(place, drive, keep)
    with pytest.raises(ValidationError, match=r"kept.*Secret") as caught:
        drive.invoke(graph, {"step": "in"}, on("t"))
    told = (caught.value, caught.value.to_json(), drive.get_state(graph, on("t")).tasks)
    assert _all_that_can_be_seen(place, *told) == []


def test_input_updates_questions_and_metadata_refuse_it(place: Place, drive: Drive) -> None:
    """Rows: S1-084."""
    secret = Secret(planted)

    def ask(state: State) -> State:
        return {"kept": interrupt({"with": secret.reveal()})}

    graph = _graph(place, drive, ask)
    tries = [
        lambda: drive.invoke(graph, {"kept": secret.reveal()}, on("a")),
        lambda: drive.invoke(graph, {"kept": [secret]}, on("b")),
        lambda: drive.invoke(graph, {"step": "in"}, on("c")),
        lambda: drive.update_state(graph, on("d"), {"kept": secret.reveal()}),
        lambda: drive.invoke(graph, {"step": "in"}, on("e", metadata={"note": f"with {planted}"})),
        lambda: drive.invoke(graph, {"step": "in"}, on(planted)),
    ]
    for attempt in tries:
        with pytest.raises(ValidationError) as caught:
            attempt()
        assert _all_that_can_be_seen(place, caught.value, caught.value.to_json()) == []
    assert _all_that_can_be_seen(place) == []


def test_an_answer_refuses_it_and_the_question_stays_open(place: Place, drive: Drive) -> None:
    """Rows: S1-084."""
    secret = Secret(planted)

    def ask(state: State) -> State:
        return {"step": interrupt("which?")}

    graph = _graph(place, drive, ask)
    paused = drive.run(graph, {"step": "in"}, on("t"))
    refused = drive.resume(graph, "t", paused.questions[0].answer(secret.reveal()))
    assert isinstance(refused.error, ValidationError)
    done = drive.resume(graph, "t", paused.questions[0].answer("this"))
    assert done.state["step"] == "this"
    assert _all_that_can_be_seen(place, refused) == []


def test_an_effects_arguments_refuse_it(place: Place, drive: Drive) -> None:
    """What would go into the ledger. Rows: S1-084."""
    secret = Secret(planted)
    sent: list[str] = []

    @effect("to", capability=Natural(), tool="write_mail")
    def mail(to: str, text: str) -> str:
        sent.append(text)
        return "sent"

    def act(state: State) -> State:
        return {"step": mail("ann", f"the key is {secret.reveal()}")}

    graph: Any = StateGraph(State).add_node("act", act).add_edge(START, "act").compile(checkpointer=place.journal())
    with pytest.raises(ValidationError, match="Secret") as caught:
        drive.invoke(graph, {"step": "in"}, on("t"))
    assert sent == []
    assert _all_that_can_be_seen(place, caught.value) == []


def test_a_long_term_store_refuses_it(place: Place) -> None:
    """Rows: S1-084."""
    secret, store = Secret(planted), place.store()
    for value in ({"k": secret}, {"k": f"<{planted}>"}, {planted: 1}):
        with pytest.raises(ValidationError):
            store.put(("a",), "k", value)
    assert store.search(()) == []
    assert _all_that_can_be_seen(place) == []
    assert secret.reveal() == planted


def test_a_store_with_an_index_embeds_and_keeps_none_of_it(place: Place) -> None:
    """The embedder, somebody else's as a rule, is not handed it either. Rows: S1-084, S1-K12."""
    secret, handed = Secret(planted), list[str]()

    def embed(texts: list[str]) -> list[list[float]]:
        handed.extend(texts)
        return [[1.0, 0.0]] * len(texts)

    if place.kind == "memory":
        store: Store = MemoryStore(index={"dims": 2, "embed": embed})
    else:
        store = place.store(index={"dims": 2, "embed": embed})
    for value in ({"k": secret}, {"k": f"<{secret.reveal()}>"}):
        with pytest.raises(ValidationError):
            store.batch([PutOp(("a",), "fine", {"k": "fine"}), PutOp(("a",), "k", value)])
    assert handed == []
    assert store.search(()) == []
    assert _all_that_can_be_seen(place) == []


def test_a_cached_result_refuses_it(place: Place, drive: Drive) -> None:
    """Nothing is kept of a node whose result holds it, or whose input does. Rows: S1-084."""
    secret = Secret(planted)
    ran: list[str] = []

    def leak(state: State) -> State:
        return {"client": {"key": secret}, "step": "used"}

    def tell(state: State) -> State:
        return {"kept": secret.reveal()}

    def plain(state: State) -> State:
        ran.append("plain")
        return {"kept": "seen in the cache"}

    cache = place.cache()
    for body in (leak, tell, plain):
        builder: Any = StateGraph(State).add_edge(START, "node")
        builder.add_node("node", drive.node(body), cache_policy=CachePolicy(scope="shared"))
        graph = builder.compile(checkpointer=place.journal(), cache=cache)
        for thread in ("t", "u"):
            with suppress(ValidationError):
                drive.invoke(graph, {"step": "in"}, on(f"{body.__name__}-{thread}"))
    assert _all_that_can_be_seen(place) == []
    assert ran == ["plain"], "the cache that was looked at keeps what it may"


def test_a_stored_key_declared_as_secret_is_refused_before_anything_runs(place: Place) -> None:
    """Rows: S1-C12."""

    class Wrong(TypedDict):
        token: Secret

    def node(state: Wrong) -> Wrong:
        return state

    builder: Any = StateGraph(Wrong).add_node("node", node).add_edge(START, "node")
    with pytest.raises(ConfigurationError, match=r"token.*untracked"):
        builder.compile(checkpointer=place.journal())
