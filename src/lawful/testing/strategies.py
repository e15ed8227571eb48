"""Hypothesis strategies for the values of the core: JSON, errors, results, messages, replicated values."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from hypothesis import strategies as st

from lawful.core.crdt import LWW, GSet, MaxRegister, PNCounter, VersionVector
from lawful.core.errors import Failure, ForeignException, known_codes
from lawful.core.messages import (
    Block,
    File,
    Image,
    Message,
    NonStandard,
    Private,
    Reasoning,
    Role,
    Text,
    ToolCall,
)
from lawful.core.result import Err, Ok, Result

A = TypeVar("A")

_NAMES = st.sampled_from(["a", "b", "c"])


def json_values(max_leaves: int = 8) -> st.SearchStrategy[Any]:
    """Whatever JSON can say; numbers finite, integers within 64 bits."""
    numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    leaves: st.SearchStrategy[Any] = st.none() | st.booleans() | numbers | st.text(max_size=8)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=max_leaves,
    )


def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.text(max_size=4), json_values(4), max_size=3)


@st.composite
def failures(draw: st.DrawFn, deepest: int = 3) -> Failure:
    """An error of any code, with context and a chain of causes, ours and foreign."""
    kind = draw(st.sampled_from(sorted(known_codes().values(), key=lambda k: k.code)))
    cause: BaseException | None = None
    if deepest > 0:
        cause = draw(
            st.none()
            | failures(deepest - 1)
            | st.builds(ForeignException, st.sampled_from(["ValueError", "OSError"]), st.text(max_size=8))
        )
    return kind(
        draw(st.text(max_size=20)),
        component=draw(st.text(max_size=5)),
        operation=draw(st.text(max_size=5)),
        details=draw(st.dictionaries(st.text(max_size=4), st.text(max_size=6), max_size=3)),
        retryable=draw(st.booleans()),
        cause=cause,
    )


def results(values: st.SearchStrategy[A]) -> st.SearchStrategy[Result[A, Failure]]:
    """Successes and failures about equally often."""
    return values.map(lambda value: cast("Result[A, Failure]", Ok(value))) | failures(0).map(
        lambda error: cast("Result[A, Failure]", Err(error))
    )


def blocks() -> st.SearchStrategy[Block]:
    """Content blocks of most kinds, with private bytes of providers."""
    private = st.lists(st.builds(Private, _NAMES, st.binary(max_size=6)), max_size=2).map(tuple)
    extras = st.none() | json_objects()
    some_text = st.text(max_size=10)
    return st.one_of(
        st.builds(Text, some_text, private=private, extras=extras),
        st.builds(Reasoning, some_text, private=private, id=st.none() | some_text),
        st.builds(
            ToolCall,
            some_text,
            json_objects(),
            id=some_text,
            state=st.sampled_from(["pending", "ok", "error", "denied", "cancelled", "unknown"]),
            output=json_values(3),
            private=private,
        ),
        st.builds(Image, url=some_text),
        st.builds(File, base64=st.sampled_from(["", "aGk=", "AAECAw=="]), mime_type=st.just("application/pdf")),
        st.builds(NonStandard, json_objects(), private=private),
    )


def messages(ids: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Message]:
    """Messages of every role; with ``ids`` each has an id of these, so that they meet each other."""
    roles = cast("list[Role]", ["system", "developer", "user", "assistant", "tool", "function"])
    return st.builds(
        Message,
        st.sampled_from(roles),
        st.lists(blocks(), min_size=1, max_size=3).map(tuple),
        id=ids if ids is not None else st.none() | st.text(max_size=4),
        name=st.none() | st.text(max_size=4),
        tool_call_id=st.none() | st.text(max_size=4),
    )


def gsets() -> st.SearchStrategy[GSet[int]]:
    return st.frozensets(st.integers(0, 9), max_size=5).map(lambda items: GSet(items))


def counters() -> st.SearchStrategy[PNCounter]:
    counts = st.dictionaries(_NAMES, st.integers(0, 9))
    return st.builds(PNCounter, counts, counts)


def registers() -> st.SearchStrategy[LWW[int]]:
    return st.builds(LWW, st.integers(0, 3), st.integers(0, 3).map(float), _NAMES)


def maxima() -> st.SearchStrategy[MaxRegister[int]]:
    return st.integers().map(lambda value: MaxRegister(value))


def vectors() -> st.SearchStrategy[VersionVector]:
    return st.builds(VersionVector, st.dictionaries(_NAMES, st.integers(0, 3)))
