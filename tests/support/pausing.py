"""What tests of pauses, failures and resumes share: a state with a log, chains and fans of nodes, questions, waiting."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Annotated, Any, TypedDict, cast

from lawful.core.errors import Failure
from lawful.graph import START, Done, Failed, StateGraph
from support.graphs import Config, Drive, Graph, concat

HEX32 = re.compile(r"[0-9a-f]{32}")
"""What a question's id looks like."""

Body = Callable[..., Any]


class Log(TypedDict, total=False):
    """A log that grows, and two keys that are replaced."""

    log: Annotated[list[str], concat]
    word: str
    n: int


def name_of(body: Body) -> str:
    return body.__name__


def chain(drive: Drive, *bodies: Body, strict: bool = True, reads: Any = Log, **compile_options: Any) -> Graph:
    """One node after the other, each as ``drive`` runs it best."""
    builder: Any = StateGraph(reads, strict=strict)
    before = START
    for body in bodies:
        builder.add_node(name_of(body), drive.node(body))
        builder.add_edge(before, name_of(body))
        before = name_of(body)
    return builder.compile(**compile_options)


def fan(drive: Drive, *bodies: Body, strict: bool = True, reads: Any = Log, **compile_options: Any) -> Graph:
    """All nodes in the first step, each as ``drive`` runs it best."""
    return fan_of(*(drive.node(body) for body in bodies), strict=strict, reads=reads, **compile_options)


def fan_of(*bodies: Body, strict: bool = True, reads: Any = Log, **compile_options: Any) -> Graph:
    """All nodes in the first step, each exactly as it is: sync ones run in threads under the async driver."""
    builder: Any = StateGraph(reads, strict=strict)
    for body in bodies:
        builder.add_node(name_of(body), body)
        builder.add_edge(START, name_of(body))
    return builder.compile(**compile_options)


def asked(result: Mapping[str, Any]) -> list[Any]:
    """The interrupts that an invocation ended with."""
    return list(result.get("__interrupt__", []))


def values(result: Mapping[str, Any]) -> dict[str, Any]:
    """The state that an invocation ended with, without its interrupts."""
    return {key: value for key, value in result.items() if key != "__interrupt__"}


def ids(interrupts: Sequence[Any]) -> dict[Any, str]:
    """The id of each question by what it asks."""
    return {one.value: one.id for one in interrupts}


def refusal(result: Any) -> Failure:
    """The error that a typed run or resume ended with."""
    assert isinstance(result, Failed), result
    return result.error


def finished(result: Any) -> Any:
    """The state that a typed run or resume came to its end with."""
    assert isinstance(result, Done), str(result)
    return cast("Done[Any]", result).state


def steps(drive: Drive, graph: Graph, config: Config) -> list[tuple[str, int]]:
    """Source and step of each checkpoint, newest first."""
    return [(entry.metadata["source"], entry.metadata["step"]) for entry in drive.get_state_history(graph, config)]


def checkpoint_id(snapshot: Any) -> str:
    return snapshot.config["configurable"]["checkpoint_id"]


def by_name(snapshot: Any) -> dict[str, Any]:
    """The tasks of a snapshot by node; for snapshots in which each node has one task."""
    return {task.name: task for task in snapshot.tasks}


def until(met: Callable[[], bool], seconds: float = 3.0) -> bool:
    """Wait until ``met``, at most ``seconds``; whether it was."""
    end = time.monotonic() + seconds
    while not met():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


@contextlib.contextmanager
def within(seconds: float) -> Generator[None]:
    """Raise TimeoutError in the main thread where what is done here hangs; wakes it from Python's own waits too."""

    def too_long(signum: int, frame: object) -> None:
        raise TimeoutError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Calls:
    """How often each body was entered, counted from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: list[str] = []

    def __call__(self, name: str) -> int:
        """Count one call and return how many that makes."""
        with self._lock:
            self._names.append(name)
            return self._names.count(name)

    def of(self, name: str) -> int:
        with self._lock:
            return self._names.count(name)

    def clear(self) -> None:
        with self._lock:
            self._names.clear()
