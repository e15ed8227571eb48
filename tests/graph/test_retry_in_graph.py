"""Rules of retry policies on nodes, and of the step limit."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest

from lawful.core.errors import GraphRecursionError, LLMError, NetworkError, ToolError
from lawful.core.errors import ValidationError as Refused
from lawful.graph import END, START, Command, RetryPolicy, Runtime, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, names, on
from support.pausing import Calls, Log, asked, chain

pytestmark = pytest.mark.unit


def quick(**options: Any) -> RetryPolicy:
    """A policy that waits a millisecond, so that a test need not."""
    told: dict[str, Any] = {"initial_interval": 0.001, "jitter": False, **options}
    return RetryPolicy(**told)


def anything(error: BaseException) -> bool:
    """Retries whatever it is asked about."""
    return True


def retrying(drive: Drive, body: Callable[..., Any], policy: Any, *, strict: bool = True, **options: Any) -> Any:
    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node(body.__name__, drive.node(body), retry_policy=policy).add_edge(START, body.__name__)
    return builder.compile(**options)


def failing(calls: Calls, error: BaseException, times: int) -> Any:
    """A node that raises ``error`` the first ``times`` times."""

    def flaky(state: Log) -> Log:
        if calls("flaky") <= times:
            raise error
        return {"log": [f"attempt {calls.of('flaky')}"]}

    return flaky


def test_the_default_policy() -> None:
    """Half a second, doubled, up to 128, three attempts in all, with jitter.

    Rules: 182. Rows: S1-P09
    """
    policy = RetryPolicy()
    assert (policy.initial_interval, policy.backoff_factor, policy.max_interval) == (0.5, 2.0, 128.0)
    assert (policy.max_attempts, policy.jitter) == (3, True)


def test_three_attempts_are_three_in_all(drive: Drive, journal: Journal, strict: bool) -> None:
    """Two failures are forgiven, the third is raised.

    Rules: 182. Rows: S1-P09
    """
    calls = Calls()
    graph = retrying(drive, failing(calls, NetworkError("down"), 2), quick(), strict=strict, checkpointer=journal)
    assert drive.invoke(graph, {"log": []}, on("t")) == {"log": ["attempt 3"]}
    spent = Calls()
    error = NetworkError("down")
    graph = retrying(drive, failing(spent, error, 9), quick(), strict=strict, checkpointer=journal)
    with pytest.raises(NetworkError) as caught:
        drive.invoke(graph, {"log": []}, on("u"))
    assert caught.value is error
    assert spent.of("flaky") == 3


def test_waits_grow_by_the_factor_up_to_the_bound(drive: Drive) -> None:
    """Intervals of 20, 60, 80, 80 ms: min(max, initial * factor^(n-1)).

    Rules: 182. Rows: S1-P09
    """
    at: list[float] = []

    def flaky(state: Log) -> Log:
        at.append(time.monotonic())
        if len(at) < 5:
            raise NetworkError("down")
        return {"log": ["done"]}

    policy = RetryPolicy(initial_interval=0.02, backoff_factor=3.0, max_interval=0.08, max_attempts=5, jitter=False)
    drive.invoke(retrying(drive, flaky, policy), {"log": []})
    waits = [later - earlier for earlier, later in itertools.pairwise(at)]
    for waited, due in zip(waits, (0.02, 0.06, 0.08, 0.08), strict=True):
        assert due * 0.95 <= waited < due + 0.5


def test_without_a_policy_nothing_is_retried(drive: Drive, journal: Journal, strict: bool) -> None:
    """One attempt.

    Rules: 182
    """
    calls = Calls()
    graph = chain(drive, failing(calls, NetworkError("down"), 9), strict=strict, checkpointer=journal)
    with pytest.raises(NetworkError):
        drive.invoke(graph, {"log": []}, on("t"))
    assert calls.of("flaky") == 1


class HTTPStatusError(Exception):
    """As HTTP clients raise it: with a response that has a status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.response = type("Response", (), {"status_code": status})()


class Odd(Exception):
    """An exception that no list knows."""


RETRIED: list[BaseException] = [
    ConnectionError("x"),
    ConnectionResetError("x"),
    Odd("x"),
    NetworkError("x"),
    LLMError("x"),
    ToolError("x", retryable=True),
]
NOT_RETRIED: list[BaseException] = [
    ValueError("x"),
    TypeError("x"),
    ZeroDivisionError("x"),
    ImportError("x"),
    KeyError("x"),
    IndexError("x"),
    NameError("x"),
    SyntaxError("x"),
    RuntimeError("x"),
    NotImplementedError("x"),
    ReferenceError("x"),
    FileNotFoundError("x"),
    OSError("x"),
    ToolError("x"),
    Refused("x"),
    NetworkError("x", retryable=False),
]


@pytest.mark.parametrize("error", RETRIED, ids=lambda error: f"{type(error).__name__}")
def test_what_may_pass_is_retried_by_default(drive: Drive, error: BaseException) -> None:
    """Connections and unknown exceptions; of our errors, those that say they are worth another try.

    Rules: 183. Rows: S1-P09
    """
    calls = Calls()
    assert drive.invoke(retrying(drive, failing(calls, error, 1), quick()), {"log": []}) == {"log": ["attempt 2"]}


@pytest.mark.parametrize("error", NOT_RETRIED, ids=lambda error: f"{type(error).__name__}")
def test_what_will_not_pass_is_not_retried(drive: Drive, error: BaseException) -> None:
    """Bugs and refusals fail at once.

    Rules: 183. Rows: S1-P09
    """
    calls = Calls()
    with pytest.raises(type(error)):
        drive.invoke(retrying(drive, failing(calls, error, 1), quick()), {"log": []})
    assert calls.of("flaky") == 1


@pytest.mark.parametrize("raised", [StopIteration, StopAsyncIteration])
def test_a_spent_iterator_is_not_retried(raised: type[Exception]) -> None:
    """Nor is it mistaken for the end of something else.

    Rules: 183
    """
    calls = Calls()

    def flaky(state: Log) -> Log:
        calls("flaky")
        raise raised

    builder: Any = StateGraph(Log)
    graph = builder.add_node("flaky", flaky, retry_policy=quick()).add_edge(START, "flaky").compile()
    with pytest.raises((raised, RuntimeError)):
        graph.invoke({"log": []})
    assert calls.of("flaky") == 1


@pytest.mark.parametrize("status,attempts", [(503, 2), (500, 2), (599, 2), (404, 1), (429, 1)])
def test_http_answers_are_judged_by_their_status(drive: Drive, status: int, attempts: int) -> None:
    """A server's fault may pass, the caller's will not.

    Rules: 183. Rows: S1-P09
    """
    calls = Calls()
    graph = retrying(drive, failing(calls, HTTPStatusError(status), 1), quick())
    if attempts == 2:
        drive.invoke(graph, {"log": []})
    else:
        # An exception class that no list knows is retried; this one has a status, which decides.
        with pytest.raises(HTTPStatusError):
            drive.invoke(graph, {"log": []})
    assert calls.of("flaky") == attempts


def is_value_error(error: BaseException) -> bool:
    return isinstance(error, ValueError)


FORMS: list[Any] = [ValueError, (KeyError, ValueError), [KeyError, ValueError], is_value_error]


@pytest.mark.parametrize(
    "retry_on",
    FORMS,
    ids=["class", "tuple", "list", "predicate"],
)
def test_what_to_retry_is_a_class_classes_or_a_predicate(drive: Drive, retry_on: Any) -> None:
    """In each form a ValueError is retried and a TypeError is not.

    Rules: 184
    """
    calls = Calls()
    graph = retrying(drive, failing(calls, ValueError("x"), 1), quick(retry_on=retry_on))
    assert drive.invoke(graph, {"log": []}) == {"log": ["attempt 2"]}
    calls.clear()
    with pytest.raises(TypeError):
        drive.invoke(retrying(drive, failing(calls, TypeError("x"), 1), quick(retry_on=retry_on)), {"log": []})
    assert calls.of("flaky") == 1


@pytest.mark.parametrize("retry_on", [3, "ValueError", None, [3]], ids=["int", "str", "none", "list of int"])
def test_another_form_of_what_to_retry_is_a_type_error(drive: Drive, retry_on: Any) -> None:
    """At the latest when a node fails, and never as a silent no.

    Rules: 184
    """
    calls = Calls()
    with pytest.raises(TypeError):
        drive.invoke(retrying(drive, failing(calls, Odd("x"), 1), quick(retry_on=retry_on)), {"log": []})


def test_of_several_policies_the_first_that_matches_counts(drive: Drive, journal: Journal) -> None:
    """Attempts are counted per task, whichever policy is asked.

    Rules: 184
    """
    calls = Calls()
    errors = [KeyError("a"), ValueError("b"), KeyError("c"), ValueError("d")]

    def flaky(state: Log) -> Log:
        number = calls("flaky")
        if number <= len(errors):
            raise errors[number - 1]
        return {"log": ["done"]}

    policies = [quick(max_attempts=2, retry_on=KeyError), quick(max_attempts=4, retry_on=ValueError)]
    graph = retrying(drive, flaky, policies, checkpointer=journal)
    with pytest.raises(KeyError, match="c"):
        drive.invoke(graph, {"log": []}, on("t"))
    assert calls.of("flaky") == 3


def test_a_failed_attempt_leaves_no_writes(drive: Drive, journal: Journal, strict: bool) -> None:
    """The node returned, its route failed: after the second attempt its update is there once.

    Rules: 185
    """
    calls = Calls()

    def work(state: Log) -> Any:
        return [{"log": [f"attempt {calls('work')}"]}, {"word": "x"}]

    def route(state: Log) -> str:
        if calls("route") == 1:
            raise NetworkError("lost")
        return END

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("work", drive.node(work), retry_policy=quick()).add_edge(START, "work")
    graph = builder.add_conditional_edges("work", route, [END]).compile(checkpointer=journal)
    assert drive.invoke(graph, {"log": []}, on("t")) == {"log": ["attempt 2"], "word": "x"}


def test_a_failed_attempt_is_not_stored(drive: Drive, journal: Journal, strict: bool) -> None:
    """History and stream know one result of the task.

    Rules: 185. Rows: S1-P09
    """
    calls = Calls()
    graph = retrying(drive, failing(calls, NetworkError("x"), 1), quick(), strict=strict, checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"), stream_mode=["tasks", "updates"])
    assert [event["error"] for mode, event in events if mode == "tasks" and "result" in event] == [None]
    assert names([event for mode, event in events if mode == "updates"]) == ["flaky"]
    (task,) = drive.get_state_history(graph, on("t"))[1].tasks
    assert (task.error, task.result) == (None, {"log": ["attempt 2"]})


def test_an_attempt_sees_the_input_as_it_was(drive: Drive, journal: Journal, strict: bool) -> None:
    """What the failed attempt did to its copy of the state is gone.

    Rules: 185. Rows: S1-042
    """
    seen: list[list[str]] = []

    def flaky(state: Log) -> Log:
        seen.append(list(state.get("log", [])))
        state.get("log", []).append("spoilt")
        if len(seen) == 1:
            raise NetworkError("x")
        return {"log": ["done"]}

    graph = retrying(drive, flaky, quick(), strict=strict, checkpointer=journal)
    assert drive.invoke(graph, {"log": ["in"]}, on("t")) == {"log": ["in", "done"]}
    assert seen == [["in"], ["in"]]


def test_the_runtime_tells_the_attempt(drive: Drive, journal: Journal, strict: bool) -> None:
    """Its number from 1, and the time of the first.

    Rules: 185
    """
    seen: list[tuple[int, float]] = []

    def flaky(state: Log, runtime: Runtime[None]) -> Log:
        info: Any = runtime.execution_info
        seen.append((info.node_attempt, info.node_first_attempt_time))
        if len(seen) < 3:
            raise NetworkError("x")
        return {"log": ["done"]}

    began = time.time()
    drive.invoke(retrying(drive, flaky, quick(), strict=strict, checkpointer=journal), {"log": []}, on("t"))
    assert [number for number, _ in seen] == [1, 2, 3]
    assert len({first for _, first in seen}) == 1
    assert began - 1 <= seen[0][1] <= time.time() + 1


def test_questions_are_never_retried(drive: Drive, journal: Journal, strict: bool) -> None:
    """And after a failed attempt a question still pauses, after the answer a failure is still retried.

    Rules: 186
    """
    calls = Calls()

    def flaky(state: Log) -> Log:
        if calls("before") == 1:
            raise NetworkError("before the question")
        answer = interrupt("who?")
        if calls("after") == 1:
            raise NetworkError("after the answer")
        return {"log": [answer]}

    graph = retrying(drive, flaky, quick(retry_on=anything), strict=strict, checkpointer=journal)
    assert [question.value for question in asked(drive.invoke(graph, {"log": []}, on("t")))] == ["who?"]
    assert calls.of("before") == 2
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["ada"]}
    assert (calls.of("before"), calls.of("after")) == (4, 2)


def test_a_command_to_the_parent_is_never_retried(drive: Drive, journal: Journal, strict: bool) -> None:
    """It is a way out, not an error.

    Rules: 186, 58
    """
    calls = Calls()

    def jump(state: Log) -> Any:
        calls("jump")
        return Command(graph=Command.PARENT, update={"word": "jumped"})

    inner = retrying(drive, jump, quick(retry_on=anything), strict=strict)
    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("hold", inner, retry_policy=quick(retry_on=anything)).add_edge(START, "hold")
    graph = builder.compile(checkpointer=journal)
    assert drive.invoke(graph, {"log": []}, on("t")) == {"log": [], "word": "jumped"}
    assert calls.of("jump") == 1


def test_siblings_run_while_a_task_waits_for_its_next_attempt(drive: Drive, journal: Journal) -> None:
    """The wait is no thread's and no step's: the sibling is done and stored meanwhile, and runs once.

    Rules: 182, 90
    """
    calls = Calls()

    def other(state: Log) -> Log:
        calls("other")
        return {"log": ["other"]}

    builder: Any = StateGraph(Log)
    policy = RetryPolicy(initial_interval=0.05, jitter=False)
    builder.add_node("flaky", drive.node(failing(calls, NetworkError("x"), 2)), retry_policy=policy)
    builder.add_node("other", drive.node(other)).add_edge(START, "flaky").add_edge(START, "other")
    graph = builder.compile(checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"))
    assert names(events) == ["other", "flaky"]
    assert calls.of("other") == 1


# The step limit


def looping(drive: Drive, calls: Calls, **options: Any) -> Any:
    def turn(state: Log) -> None:
        calls("turn")

    builder: Any = StateGraph(Log)
    return (
        builder.add_node("turn", drive.node(turn)).add_edge(START, "turn").add_edge("turn", "turn").compile(**options)
    )


def test_the_default_limit_is_ten_thousand_and_seven(drive: Drive) -> None:
    """A loop without an end runs that many node steps.

    Rules: 223, 50. Rows: S1-P06, S0-092
    """
    calls = Calls()
    with pytest.raises(GraphRecursionError, match="10007"):
        drive.invoke(looping(drive, calls), {"log": []})
    assert calls.of("turn") == 10007


def test_a_limit_counts_the_calls_steps(drive: Drive, journal: Journal) -> None:
    """The error is a RecursionError that names the limit; what was done is kept and can be gone on from.

    Rules: 50, 51. Rows: S1-P06, S1-083
    """
    calls = Calls()
    graph = looping(drive, calls, checkpointer=journal)
    with pytest.raises(RecursionError, match="limit of 5"):
        drive.invoke(graph, {"log": []}, on("t", limit=5))
    assert calls.of("turn") == 5
    head = drive.get_state(graph, on("t"))
    assert (head.next, head.metadata["step"]) == (("turn",), 5)
    with pytest.raises(GraphRecursionError):
        drive.invoke(graph, None, on("t", limit=5))
    assert calls.of("turn") >= 10


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(drive: Drive, limit: int) -> None:
    """Nothing runs.

    Rules: 50
    """
    calls = Calls()
    with pytest.raises(ValueError, match="recursion_limit"):
        drive.invoke(looping(drive, calls), {"log": []}, on(limit=limit))
    assert calls.of("turn") == 0
