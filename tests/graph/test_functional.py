"""The functional form on both drivers and all journals: entrypoints, tasks, replays, and what is saved for next time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import as_completed
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from lawful.core.context import current_task
from lawful.core.errors import (
    EmptyInputError,
    GraphBuildError,
    InvalidUpdateError,
    NotInRun,
    TaskChanged,
    ThreadBusy,
    ValidationError,
)
from lawful.core.retry import RetryPolicy
from lawful.graph import END, START, Command, Runtime, Send, StateGraph, get_runtime, interrupt
from lawful.graph.functional import entrypoint, task
from lawful.journal.port import Journal
from support.graphs import Drive, JournalBox
from support.graphs import on as config

pytestmark = pytest.mark.unit


class Counter:
    """How often each named thing ran."""

    def __init__(self) -> None:
        self.runs: list[str] = []

    def __call__(self, name: str) -> int:
        self.runs.append(name)
        return self.runs.count(name)


@pytest.fixture
def ran() -> Counter:
    return Counter()


def test_an_entrypoint_is_a_graph_of_one_node_whose_first_parameter_is_its_input(drive: Drive) -> None:
    """Rules: 198, 164."""

    @entrypoint()
    def double(number: int) -> int:
        return number * 2

    assert drive.invoke(double, 4) == 8
    assert list(double.nodes) == ["double"]
    assert drive.stream(double, 4) == [{"double": 8}]


def test_generators_and_functions_without_an_input_are_refused() -> None:
    """Rules: 198."""

    def many(number: int) -> Any:
        yield number

    async def amany(number: int) -> Any:
        yield number

    def nothing() -> int:
        return 1

    for wrong in (many, amany):
        with pytest.raises(NotImplementedError, match="generator"):
            entrypoint()(wrong)
        with pytest.raises(GraphBuildError, match="generator"):
            task(wrong)
    with pytest.raises(GraphBuildError, match="at least one parameter"):
        entrypoint()(nothing)
    with pytest.raises(TypeError, match="Invalid checkpointer"):
        entrypoint(nothing)(lambda given: given)  # type: ignore[arg-type]


def test_calls_start_at_once_and_run_beside_each_other(drive: Drive) -> None:
    """Rules: 199."""
    both = threading.Barrier(2, timeout=10)

    @task
    def meet(name: str) -> str:
        both.wait()
        return name

    @entrypoint()
    def party(given: str) -> list[str]:
        futures = [meet("a"), meet("b")]
        return [f.result() for f in futures]

    assert drive.invoke(party, "go") == ["a", "b"]


def test_futures_work_with_concurrent_futures(drive: Drive) -> None:
    """Rules: 199."""

    @task
    def square(number: int) -> int:
        return number * number

    @entrypoint()
    def squares(numbers: list[int]) -> list[int]:
        return sorted(f.result() for f in as_completed([square(n) for n in numbers]))

    assert drive.invoke(squares, [3, 1, 2]) == [1, 4, 9]


def test_a_task_outside_a_run_is_refused_and_the_remedy_named() -> None:
    """Rules: 199."""

    @task
    def alone() -> int:
        return 1

    with pytest.raises(NotInRun, match=r"task 'alone' is called outside a run: call it inside an @entrypoint"):
        alone()


def test_a_task_called_by_left_over_work_is_refused(drive: Drive) -> None:
    """Rules: 199."""
    told: list[BaseException] = []
    over, tried = threading.Event(), threading.Event()

    @task
    def late() -> int:
        return 1

    def afterwards(context: Any) -> None:
        over.wait(10)
        try:
            context.run(late)
        except NotInRun as error:
            told.append(error)
        tried.set()

    @entrypoint()
    def leaves(given: int) -> int:
        import contextvars

        threading.Thread(target=afterwards, args=(contextvars.copy_context(),)).start()
        return given

    assert drive.invoke(leaves, 1) == 1
    over.set()
    assert tried.wait(10)
    assert len(told) == 1


def test_finished_calls_are_replayed_by_their_order_falsy_results_too(
    drive: Drive, journal: Journal, ran: Counter
) -> None:
    """Rules: 200. Rows: S1-P14."""

    @task
    def work(name: str, result: Any) -> Any:
        ran(name)
        return result

    @entrypoint(checkpointer=journal)
    def flow(given: str) -> list[Any]:
        first = work("none", None).result()
        second = work("zero", 0).result()
        answer = interrupt("sure?")
        third = work("last", []).result()
        return [first, second, answer, third]

    paused = drive.invoke(flow, "go", config("t"))
    assert [q.value for q in paused["__interrupt__"]] == ["sure?"]
    assert drive.invoke(flow, Command(resume="yes"), config("t")) == [None, 0, "yes", []]
    assert ran.runs == ["none", "zero", "last"]


def test_replayed_calls_are_neither_streamed_nor_stored_again(drive: Drive, journal: Journal) -> None:
    """Rules: 200, 95, 204."""

    @task
    def work() -> str:
        return "done"

    @entrypoint(checkpointer=journal)
    def flow(given: str) -> str:
        return work().result() + interrupt("?")

    first = drive.stream(flow, "go", config("t"), stream_mode="updates")
    assert first[0] == {"work": "done"}
    assert list(first[1]) == ["__interrupt__"]
    before = _writes(journal)
    again = drive.stream(flow, None, config("t"), stream_mode="updates")
    assert [list(chunk) for chunk in again] == [["__interrupt__"]]
    assert _writes(journal) == before
    assert drive.stream(flow, Command(resume="!"), config("t"), stream_mode=["updates", "tasks"])[-1] == (
        "tasks",
        _Like(name="flow", result={"__end__": "done!"}, interrupts=[]),
    )


def _same(given: Any) -> Any:
    return given


class _Like:
    """Equal to a dict that has these items among others."""

    def __init__(self, **items: Any) -> None:
        self.items = items

    def __eq__(self, other: Any) -> bool:
        return all(other.get(k) == v for k, v in self.items.items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"_Like({self.items})"


def _writes(journal: Journal) -> list[Any]:
    chain = journal.chain("t")
    assert chain is not None
    return sorted((w.task, w.kind, w.blob) for w in chain.writes)


def test_another_process_goes_on_from_the_calls_that_had_finished(drive: Drive, box: JournalBox, ran: Counter) -> None:
    """Rules: 200. Rows: S1-P14, S1-P15."""

    def build(fail: bool) -> Any:
        @task
        def fetch(page: int) -> str:
            ran(f"fetch {page}")
            return f"page {page}"

        @entrypoint(checkpointer=box.open())
        def crawl(pages: int) -> list[str]:
            found = [fetch(n).result() for n in range(pages)]
            if fail:
                raise ConnectionError("down")
            return found

        return crawl

    with pytest.raises(ConnectionError):
        drive.invoke(build(True), 3, config("t"))
    assert drive.invoke(build(False), None, config("t")) == ["page 0", "page 1", "page 2"]
    assert sorted(ran.runs) == ["fetch 0", "fetch 1", "fetch 2"]


def test_a_retried_entrypoint_gets_the_results_of_its_calls_again(drive: Drive, ran: Counter) -> None:
    """Rules: 200, 182. Without a journal too."""
    quick = RetryPolicy(initial_interval=0.001, jitter=False, max_attempts=3)

    @task
    def once() -> int:
        return ran("once")

    @entrypoint(retry_policy=quick)
    def flaky(given: int) -> int:
        got = once().result()
        if ran("flaky") < 3:
            raise ConnectionError("again")
        return got

    assert drive.invoke(flaky, 1) == 1
    assert ran.runs.count("flaky") == 3


def test_a_task_has_its_own_retries(drive: Drive, ran: Counter) -> None:
    """Rules: 184, 199."""

    @task(retry_policy=RetryPolicy(initial_interval=0.001, jitter=False, max_attempts=3))
    def flaky() -> int:
        if ran("flaky") < 3:
            raise ConnectionError("again")
        return get_runtime().attempt

    @entrypoint()
    def flow(given: int) -> int:
        ran("flow")
        return flaky().result()

    assert drive.invoke(flow, 1) == 3
    assert ran.runs == ["flow", "flaky", "flaky", "flaky"]


def test_an_error_is_raised_where_the_result_is_asked_for_and_can_be_caught(drive: Drive, journal: Journal) -> None:
    """Rules: 201."""
    wrong = ValueError("no such page")

    @task
    def bad() -> int:
        raise wrong

    @entrypoint(checkpointer=journal)
    def careful(given: int) -> str:
        future = bad()
        assert future is not None
        try:
            future.result()
        except ValueError as error:
            return f"caught {error}"
        return "not reached"

    @entrypoint(checkpointer=journal)
    def careless(given: int) -> int:
        return bad().result()

    assert drive.invoke(careful, 1, config("a")) == "caught no such page"
    with pytest.raises(ValueError, match="no such page") as caught:
        drive.invoke(careless, 1, config("b"))
    assert caught.value is wrong


def test_a_failed_call_that_nobody_asks_about_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Rules: 201."""

    @task
    def bad() -> int:
        raise ValueError("unseen")

    @entrypoint()
    def careless(given: int) -> int:
        bad()
        return given

    assert careless.invoke(3) == 3
    assert "nobody asked for its result" in caplog.text
    assert "unseen" in caplog.text


def test_a_failed_call_runs_again_on_resume(drive: Drive, journal: Journal, ran: Counter) -> None:
    """Rules: 201, 92."""

    @task
    def flaky() -> int:
        if ran("flaky") == 1:
            raise ConnectionError("once")
        return 7

    @entrypoint(checkpointer=journal)
    def flow(given: int) -> int:
        return flaky().result()

    with pytest.raises(ConnectionError):
        drive.invoke(flow, 1, config("t"))
    assert drive.invoke(flow, None, config("t")) == 7


def test_previous_is_what_the_last_finished_run_of_the_thread_returned(drive: Drive, journal: Journal) -> None:
    """Rules: 202."""

    @entrypoint(checkpointer=journal)
    def total(number: int, *, previous: Any = None) -> int:
        return number + (previous or 0)

    assert [drive.invoke(total, n, config("a")) for n in (1, 2, 3)] == [1, 3, 6]
    assert drive.invoke(total, 5, config("b")) == 5
    assert drive.get_state(total, config("a")).values == 6


def test_previous_is_none_without_a_journal_and_reaches_runtime_and_tasks(drive: Drive, journal: Journal) -> None:
    """Rules: 202."""

    @task
    def look(previous: Any = "not given") -> Any:
        return previous

    def flow(number: int, runtime: Runtime[Any]) -> Any:
        return [runtime.previous, look().result()] if number else "first"

    bare = entrypoint()(flow)
    assert drive.invoke(bare, 1) == [None, None]
    kept = entrypoint(checkpointer=journal)(flow)
    assert drive.invoke(kept, 0, config("t")) == "first"
    assert drive.invoke(kept, 1, config("t")) == ["first", "first"]


def test_final_returns_one_value_and_saves_another(drive: Drive, journal: Journal) -> None:
    """Rules: 202."""

    @entrypoint(checkpointer=journal)
    def flow(number: int, *, previous: str | None = None) -> entrypoint.final[str, str]:
        return entrypoint.final(value=f"{number} after {previous}", save=f"saved {number}")

    assert drive.invoke(flow, 1, config("t")) == "1 after None"
    assert drive.invoke(flow, 2, config("t")) == "2 after saved 1"


def test_update_state_replaces_previous(drive: Drive, journal: Journal) -> None:
    """Rules: 202."""

    @entrypoint(checkpointer=journal)
    def flow(number: int, *, previous: Any = None) -> Any:
        return [number, previous]

    assert drive.invoke(flow, 1, config("t")) == [1, None]
    drive.update_state(flow, config("t"), "put there")
    assert drive.get_state(flow, config("t")).values == "put there"
    assert drive.invoke(flow, 2, config("t")) == [2, "put there"]
    drive.update_state(flow, config("fresh"), "seed")
    assert drive.get_state(flow, config("fresh")).next == ()
    assert drive.invoke(flow, 3, config("fresh")) == [3, "seed"]


def test_the_face_gives_the_functions_and_not_a_module() -> None:
    import lawful
    import lawful.graph.step_task as module

    assert lawful.task is task is not module
    assert lawful.entrypoint is entrypoint


def test_update_state_may_give_a_value_and_save_another(drive: Drive, journal: Journal) -> None:
    """Rules: 202."""

    @entrypoint(checkpointer=journal)
    def flow(number: int, *, previous: int | None = None) -> entrypoint.final[str, int]:
        return entrypoint.final(value=str(previous), save=number)

    drive.update_state(flow, config("t"), entrypoint.final(value="shown", save=7))
    assert drive.get_state(flow, config("t")).values == "shown"
    assert drive.invoke(flow, 2, config("t")) == "7"
    with pytest.raises(InvalidUpdateError, match="expected str"):
        drive.update_state(flow, config("t"), 7)


def test_an_unfinished_run_leaves_previous_as_it_was(drive: Drive, journal: Journal) -> None:
    """Rules: 202."""

    @entrypoint(checkpointer=journal)
    def flow(given: str, *, previous: Any = None) -> Any:
        if given == "ask":
            interrupt("?")
        if given == "fail":
            raise ValueError("no")
        return [given, previous]

    assert drive.invoke(flow, "a", config("t")) == ["a", None]
    paused = drive.invoke(flow, "ask", config("t"))
    assert list(paused) == ["__interrupt__"]
    with pytest.raises(ValueError, match="no"):
        drive.invoke(flow, "fail", config("t"))
    assert drive.invoke(flow, "b", config("t")) == ["b", ["a", None]]


def test_everything_nests_in_everything(drive: Drive, journal: Journal) -> None:
    """Rules: 203."""

    class Line(TypedDict, total=False):
        text: str

    @task
    def leaf(text: str) -> str:
        return f"<{text}>"

    @task
    def branch(text: str) -> str:
        return leaf(text).result() + leaf(text + text).result()

    @entrypoint()
    def inner(text: str) -> str:
        return branch(text).result()

    @task
    def holds(text: str) -> str:
        return inner.invoke(text)

    def node(line: Line) -> Line:
        return {"text": inner.invoke(line.get("text", "")) + leaf("n").result()}

    graph = StateGraph(Line).add_node(node).add_edge(START, "node").compile()

    @entrypoint(checkpointer=journal)
    def outer(text: str) -> list[str]:
        return [holds(text).result(), graph.invoke({"text": text})["text"]]

    assert drive.invoke(outer, "x", config("t")) == ["<x><xx>", "<x><xx><n>"]


def test_an_entrypoint_is_a_node_of_a_graph(drive: Drive, journal: Journal) -> None:
    """Rules: 203."""

    class Sum(TypedDict, total=False):
        number: int
        asked: str

    @entrypoint()
    def step(state: Sum) -> Sum:
        return {"number": state.get("number", 0) + 1, "asked": interrupt("how?")}

    graph = StateGraph(Sum).add_node("step", step).add_edge(START, "step").compile(checkpointer=journal)
    assert drive.invoke(graph, {"number": 1}, config("t"))["__interrupt__"][0].value == "how?"
    assert drive.invoke(graph, Command(resume="so"), config("t")) == {"number": 2, "asked": "so"}


def test_an_entrypoint_in_a_graph_may_not_return_keys_that_the_state_has_not(drive: Drive) -> None:
    """Rules: 203, 30."""

    class Sum(TypedDict, total=False):
        number: int

    @entrypoint()
    def step(state: Sum) -> dict[str, int]:
        return {"numbr": 1}

    graph = StateGraph(Sum).add_node("step", step).add_edge(START, "step").compile()
    with pytest.raises(InvalidUpdateError, match="Did you mean 'number'"):
        drive.invoke(graph, {"number": 1})


def test_questions_inside_nested_tasks_keep_their_answers_apart(drive: Drive, journal: Journal, ran: Counter) -> None:
    """Rules: 203, 129, 118."""

    @task
    def ask(name: str) -> str:
        ran(name)
        return interrupt(name)

    @task
    def two(first: str, second: str) -> str:
        return ask(first).result() + ask(second).result()

    @entrypoint(checkpointer=journal)
    def flow(given: str) -> list[str]:
        return [two("a", "b").result(), ask("c").result()]

    asked: list[str] = []
    result: Any = drive.invoke(flow, "go", config("t"))
    while "__interrupt__" in result:
        question: Any = result["__interrupt__"][0]
        asked.append(question.value)
        result = drive.invoke(flow, Command(resume=question.value.upper()), config("t"))
    assert asked == ["a", "b", "c"]
    assert result == ["AB", "C"]


def test_questions_asked_at_once_are_told_together_and_once(drive: Drive, journal: Journal, ran: Counter) -> None:
    """Rules: 129, 130, 98."""

    @task
    def ask(name: str) -> str:
        ran(name)
        return interrupt(name)

    @task
    def plain() -> str:
        ran("plain")
        return "p"

    @entrypoint(checkpointer=journal)
    def flow(given: str) -> list[str]:
        futures = [ask("a"), ask("b"), plain()]
        return [f.result() for f in futures]

    chunks = drive.stream(flow, "go", config("t"), stream_mode="updates")
    told = [c["__interrupt__"] for c in chunks if "__interrupt__" in c]
    assert [sorted(q.value for q in questions) for questions in told] == [["a", "b"]]
    by_value = {q.value: q.id for q in drive.get_state(flow, config("t")).interrupts}
    half = drive.invoke(flow, Command(resume={by_value["a"]: "A"}), config("t"))
    assert [q.value for q in half["__interrupt__"]] == ["b"]
    assert ran.runs.count("b") == 1, "a call that waits for its answer is left alone"
    assert drive.invoke(flow, Command(resume={by_value["b"]: "B"}), config("t")) == ["A", "B", "p"]
    assert ran.runs.count("plain") == 1


def test_a_question_pauses_the_run_though_nobody_asks_for_the_result(drive: Drive, journal: Journal) -> None:
    """Rules: 129. LangGraph loses such a question."""

    @task
    def ask() -> str:
        return interrupt("heard?")

    @entrypoint(checkpointer=journal)
    def flow(given: str) -> str:
        with contextlib.suppress(BaseException):
            ask().result()
        ask()
        return "went on"

    paused = drive.invoke(flow, "go", config("t"))
    assert [q.value for q in paused["__interrupt__"]] == ["heard?", "heard?"]


def test_updates_are_named_after_tasks_and_entrypoint(drive: Drive) -> None:
    """Rules: 204."""

    def raw(number: int, more: int) -> int:
        return number + more

    @task(name="renamed")
    def first(number: int) -> int:
        return number + 1

    second: Callable[..., Any] = task(partial(raw, more=10))

    @entrypoint()
    def flow(number: int) -> int:
        return second(first(number).result()).result()

    assert drive.stream(flow, 1) == [{"renamed": 2}, {"raw": 12}, {"flow": 12}]
    assert drive.stream(flow, 1, stream_mode="values") == [12]
    tasks = drive.stream(flow, 1, stream_mode="tasks")
    assert [(t["name"], t.get("input"), t.get("result")) for t in tasks] == [
        ("flow", 1, None),
        ("renamed", ((1,), {}), None),
        ("renamed", None, {"__return__": 2}),
        ("raw", ((2,), {}), None),
        ("raw", None, {"__return__": 12}),
        ("flow", None, {"__end__": 12}),
    ]
    named = entrypoint(name="other")(_same)
    assert drive.stream(named, 1) == [{"other": 1}]


def test_updates_of_tasks_come_while_the_entrypoint_still_runs(drive: Drive) -> None:
    """Rules: 179, 204."""
    seen = threading.Event()

    @task
    def early() -> str:
        return "early"

    @entrypoint()
    def flow(given: str) -> bool:
        early().result()
        return seen.wait(10)

    chunks: list[Any] = []

    def see(chunk: Any) -> None:
        chunks.append(chunk)
        if "early" in chunk:
            seen.set()

    drive.watch(flow, "go", see)
    assert chunks == [{"early": "early"}, {"flow": True}]


class Order(BaseModel):
    item: str
    count: int = 1


@dataclass(frozen=True)
class Bill:
    item: str
    cents: int


def test_models_survive_a_pause_as_input_task_result_and_output(drive: Drive, box: JournalBox) -> None:
    """Rules: 205."""

    def build() -> Any:
        @task
        def price(order: Order) -> Bill:
            return Bill(order.item, 100 * order.count)

        @entrypoint(checkpointer=box.open())
        def buy(order: Order) -> tuple[Order, Bill]:
            bill = price(order).result()
            interrupt("pay?")
            assert type(bill) is Bill
            assert type(order) is Order
            return order, bill

        return buy

    drive.invoke(build(), Order(item="tea", count=2), config("t"))
    result = drive.invoke(build(), Command(resume=True), config("t"))
    assert result == (Order(item="tea", count=2), Bill("tea", 200))
    assert drive.get_state(build(), config("t")).values == result


def test_what_cannot_be_stored_fails_the_call_that_returned_it(drive: Drive, journal: Journal) -> None:
    @task
    def bad() -> Any:
        return threading.Lock()

    @entrypoint(checkpointer=journal)
    def flow(given: int) -> str:
        try:
            bad().result()
        except ValidationError as error:
            return error.message
        return "stored"

    assert "result of task 'bad'" in drive.invoke(flow, 1, config("t"))


def test_input_and_result_are_held_to_their_types(drive: Drive, journal: Journal) -> None:
    def flow(number: int) -> str:
        return 5 if number == 1 else "five"  # type: ignore[return-value]

    strict = entrypoint(checkpointer=journal)(flow)
    with pytest.raises(InvalidUpdateError, match="expected int, got str 'one'"):
        drive.invoke(strict, "one", config("a"))
    assert drive.get_state(strict, config("a")).metadata is None
    with pytest.raises(InvalidUpdateError, match="expected str"):
        drive.invoke(strict, 1, config("b"))
    lenient = entrypoint(checkpointer=journal, strict=False)(flow)
    assert drive.invoke(lenient, 1, config("c")) == 5
    with pytest.raises(EmptyInputError):
        drive.invoke(lenient, None, config("d"))


def test_a_call_with_other_arguments_than_those_stored_is_refused_in_strict_mode(
    drive: Drive, journal: Journal
) -> None:
    """A result must not reach another call than the one that made it."""
    values = iter(range(100))

    @task
    def work(value: int) -> int:
        return value

    def flow(given: str) -> int:
        try:
            got = work(next(values)).result()
        except Exception:
            return -1  # no handler may go on with what is perhaps another call's result
        interrupt("?")
        return got

    strict = entrypoint(checkpointer=journal)(flow)
    drive.invoke(strict, "go", config("a"))
    with pytest.raises(TaskChanged, match="task 'work' with other arguments"):
        drive.invoke(strict, Command(resume=1), config("a"))
    lenient = entrypoint(checkpointer=journal, strict=False)(flow)
    drive.invoke(lenient, "go", config("b"))
    assert drive.invoke(lenient, Command(resume=1), config("b")) == 2


def test_keyword_arguments_win_over_injection(drive: Drive) -> None:
    """Rules: 66."""

    @task
    def look(name: str, config: Any = None, store: Any = None) -> Any:
        return [name, config if isinstance(config, str) else "injected", store]

    @entrypoint(store="a store")
    def flow(given: str) -> Any:
        return [look("a").result(), look("b", config="mine").result(), look("c", "mine", store=None).result()]

    assert drive.invoke(flow, "go") == [["a", "injected", "a store"], ["b", "mine", "a store"], ["c", "mine", None]]


def test_tasks_may_be_methods(drive: Drive) -> None:
    class Shop:
        def __init__(self, factor: int) -> None:
            self.factor = factor

        @task
        def price(self, count: int) -> int:
            return count * self.factor

    @entrypoint()
    def flow(count: int) -> list[int]:
        return [Shop(2).price(count).result(), Shop(3).price(count).result()]  # type: ignore[call-arg]

    assert drive.invoke(flow, 5) == [10, 15]


def test_max_concurrency_bounds_calls_and_nested_calls_cannot_block_each_other(drive: Drive) -> None:
    """Rules: 48."""
    running: list[int] = []
    peak: list[int] = []
    lock = threading.Lock()

    @task
    def leaf(number: int) -> int:
        with lock:
            running.append(number)
            peak.append(len(running))
        time.sleep(0.002)
        with lock:
            running.remove(number)
        return number

    @task
    def branch(number: int) -> int:
        return leaf(number).result()

    @entrypoint()
    def flow(count: int) -> list[int]:
        return [f.result() for f in [branch(n) for n in range(count)]]

    assert drive.invoke(flow, 12, {"max_concurrency": 2}) == list(range(12))
    assert max(peak) <= 2
    assert drive.invoke(flow, 40, {"max_concurrency": 1}) == list(range(40))


def test_outstanding_calls_end_before_the_run_does(drive: Drive, journal: Journal) -> None:
    done = threading.Event()

    @task
    def slow() -> int:
        time.sleep(0.02)
        done.set()
        return 1

    @entrypoint(checkpointer=journal)
    def flow(given: int) -> int:
        slow()
        return given

    assert drive.invoke(flow, 2, config("t")) == 2
    assert done.is_set()


def test_tasks_may_be_called_in_nodes_of_a_state_graph(drive: Drive, journal: Journal, ran: Counter) -> None:
    """Rules: 199, 203."""

    class State(TypedDict, total=False):
        number: int
        answer: str

    @task
    def work(number: int) -> int:
        ran("work")
        return number + 1

    def node(state: State) -> State:
        got = work(state.get("number", 0)).result()
        return {"number": got, "answer": interrupt("?")}

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile(checkpointer=journal)
    drive.invoke(graph, {"number": 1}, config("t"))
    assert drive.invoke(graph, Command(resume="x"), config("t")) == {"number": 2, "answer": "x"}
    assert ran.runs == ["work"]


def test_the_same_call_in_two_sends_and_two_visits_is_told_apart(drive: Drive, journal: Journal) -> None:
    """Rules: 104, 200."""

    class State(TypedDict, total=False):
        turn: int

    seen: list[str] = []

    @task
    def key() -> str:
        slot: Any = current_task.get()
        seen.append(f"{slot.step_key} {slot.id}")
        return slot.step_key

    def fan(state: State) -> list[Send]:
        return [Send("leaf", state), Send("leaf", state)]

    def leaf(state: State) -> None:
        key().result()
        key().result()

    def again(state: State) -> State:
        return {"turn": state.get("turn", 0) + 1}

    graph = StateGraph(State, strict=False).add_node(leaf).add_node(again).add_edge("leaf", "again")

    def on(state: State) -> Any:
        return fan(state) if state.get("turn", 0) < 2 else END

    graph.add_conditional_edges(START, fan).add_conditional_edges("again", on)
    drive.invoke(graph.compile(checkpointer=journal), {"turn": 0}, config("t"))
    assert len(seen) == 8
    assert len({s.split()[0] for s in seen}) == 8
    assert len({s.split()[1] for s in seen}) == 8


def test_a_task_cannot_run_its_own_thread_again(drive: Drive, journal: Journal) -> None:
    """Rules: 203."""

    @task
    def inside() -> Any:
        return flow.invoke(1, config("t"))

    @entrypoint(checkpointer=journal)
    def flow(given: int) -> Any:
        return inside().result()

    with pytest.raises(ThreadBusy):
        drive.invoke(flow, 1, config("t"))


def test_durability_at_the_exit_keeps_what_calls_gave_before_a_pause(
    drive: Drive, box: JournalBox, ran: Counter
) -> None:
    """Rules: 107, 200."""

    def build() -> Any:
        @task
        def work() -> int:
            return ran("work")

        @entrypoint(checkpointer=box.open())
        def flow(given: int) -> int:
            return work().result() + interrupt("?")

        return flow

    for mode in ("exit", "async"):
        ran.runs.clear()
        drive.invoke(build(), 1, config(mode), durability=mode)
        assert drive.invoke(build(), Command(resume=10), config(mode), durability=mode) == 11
        assert ran.runs == ["work"]


def test_a_replay_from_before_a_question_runs_its_calls_again_and_asks_again(
    drive: Drive, journal: Journal, ran: Counter
) -> None:
    """Rules: 153, 156, 158."""

    @task
    def work(number: int) -> int:
        ran("work")
        return number

    @entrypoint(checkpointer=journal)
    def flow(number: int, *, previous: Any = None) -> list[Any]:
        return [work(number).result(), interrupt("?"), previous]

    drive.invoke(flow, 1, config("t"))
    assert drive.invoke(flow, Command(resume="a"), config("t")) == [1, "a", None]
    before = next(s.config for s in drive.get_state_history(flow, config("t")) if s.next)
    assert drive.invoke(flow, None, before)["__interrupt__"][0].value == "?"
    assert ran.runs == ["work", "work"]
    assert drive.invoke(flow, Command(resume="b"), config("t")) == [1, "b", None]
    assert ran.runs == ["work", "work"]
    history = [(s.metadata["source"], s.values) for s in drive.get_state_history(flow, config("t"))]
    assert history == [("loop", [1, "b", None]), ("fork", None), ("loop", [1, "a", None]), ("input", None)]


def test_an_update_may_stand_for_the_input(drive: Drive, journal: Journal) -> None:
    """Rules: 149."""

    @entrypoint(checkpointer=journal)
    def flow(number: int) -> int:
        return number + 1

    drive.update_state(flow, config("t"), 5, as_node="__input__")
    assert drive.get_state(flow, config("t")).next == ("flow",)
    assert drive.invoke(flow, None, config("t")) == 6


def test_new_input_ends_what_was_unfinished_and_its_calls(drive: Drive, journal: Journal, ran: Counter) -> None:
    """Rules: 96."""

    @task
    def work(number: int) -> int:
        return ran("work") * 10 + number

    @entrypoint(checkpointer=journal)
    def flow(number: int) -> int:
        got = work(number).result()
        return interrupt("?") if number == 1 else got

    drive.invoke(flow, 1, config("t"))
    assert drive.invoke(flow, 2, config("t")) == 22
    chain = journal.chain("t")
    assert chain is not None
    assert chain.writes == ()
