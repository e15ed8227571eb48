"""What each annotation accepts and refuses, where in the value the miss is, and that nothing is converted."""

from __future__ import annotations

import collections
import enum
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    Protocol,
    TypedDict,
    TypeVar,
    Union,
    runtime_checkable,
)

import pydantic
import pytest
import typing_extensions as tx
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.check import Check, compile_check
from lawful.core.errors import ConfigurationError
from support.children import fresh
from support.exact import cases

pytestmark = pytest.mark.unit

T = TypeVar("T")
Number = TypeVar("Number", int, str)
Bound = TypeVar("Bound", bound=int)
UserId = NewType("UserId", int)
Alias = tx.TypeAliasType("Alias", list[int])


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Item:
    name: str
    price: float | None = None
    kids: list[Item] = field(default_factory=lambda: [])


class Point(NamedTuple):
    x: int
    y: int = 0


class Box(Generic[T]):
    pass


class Movie(TypedDict):
    title: str
    year: tx.NotRequired[int]
    cast: tx.Required[list[Point]]


class Loose(Movie, total=False):
    note: str
    must: tx.Annotated[tx.Required[int], "doc"]


class Model(pydantic.BaseModel):
    n: int


@runtime_checkable
class Closes(Protocol):
    def close(self) -> None: ...


class Silent(Protocol):
    def close(self) -> None: ...


class File:
    def close(self) -> None: ...


MOVIE: Any = {"title": "t", "cast": [Point(1)]}

FITS: list[tuple[Any, list[Any]]] = [
    (int, [1, -(2**80), Level.LOW]),
    (bool, [True, False]),
    (float, [1.5, 1, float("nan")]),
    (complex, [1j, 1.0, 1]),
    (str, ["", "x"]),
    (bytes, [b""]),
    (None, [None]),
    (type(None), [None]),
    (Any, [None, object()]),
    (object, [None, 1]),
    (T, [None, 1]),
    (Bound, [1]),
    (Number, [1, "x"]),
    (UserId, [3]),
    (Alias, [[1]]),
    (int | str | None, [1, "x", None]),
    (Optional[int], [1, None]),  # noqa: UP045
    (Union[list[int], dict[str, int]], [[1], {"a": 1}, [], {}]),
    (int | Any, ["x"]),
    (Literal[1, "a", None, Colour.RED], [1, "a", None, Colour.RED]),
    (Literal[1, 2], [1, 2]),
    (list, [[], [1, "x"]]),
    (list, [[1]]),
    (list[Any], [[1, "x"]]),
    (list[int], [[], [1, 2]]),
    (list[float], [[1, 1.5]]),
    (list[list[int]], [[[1], []]]),
    (tuple, [(), (1,), [1]]),
    (tuple, [(1, 2), []]),
    (tuple[()], [(), []]),
    (tuple[int, str], [(1, "a"), [1, "a"]]),
    (tuple[int, ...], [(), (1, 2), [1, 2]]),
    (set[int], [set(), {1}]),
    (frozenset[str], [frozenset({"a"})]),
    (AbstractSet[int], [{1}, frozenset({1})]),
    (dict, [{}, {1: 2}]),
    (dict[str, int], [{}, {"a": 1}]),
    (dict[str, Any], [{"a": object()}]),
    (dict[int, list[str]], [{1: ["a"]}]),
    (Mapping[str, int], [{"a": 1}, MappingProxyType({"a": 1})]),
    (Sequence[int], [[1], (1, 2), range(3)]),
    (Iterable[int], [[1], {1}, (1,)]),
    (Iterator[int], [iter([1])]),
    (collections.deque[int], [collections.deque([1])]),
    (collections.Counter[str], [collections.Counter("ab")]),
    (collections.OrderedDict[str, int], [collections.OrderedDict(a=1)]),
    (Callable, [print]),
    (Callable[[int], str], [str]),
    (type[int], [int, str]),
    (Colour, [Colour.RED]),
    (Level, [Level.LOW]),
    (Item, [Item("a"), Item("a", 1, [Item("b", 2.5)])]),
    (Point, [Point(1, 2)]),
    (Box[int], [Box()]),
    (Box, [Box()]),
    (Decimal, [Decimal(1)]),
    (Model, [Model(n=1)]),
    (pydantic.BaseModel, [Model(n=1)]),
    (Closes, [File()]),
    (Silent, [3]),
    (Movie, [MOVIE, {**MOVIE, "year": 1999}]),
    (Loose, [{**MOVIE, "must": 1}, {**MOVIE, "must": 1, "note": "x"}]),
    (list[Movie], [[MOVIE]]),
    (Annotated[int, "doc", len], [1]),
    (tx.NotRequired[int], [1]),
    (typing.Final[int], [1]),
    (tx.LiteralString, ["x"]),
    (Annotated[int, pydantic.Field(gt=0)], [1]),
    (Annotated[list[int], pydantic.Field(max_length=2)], [[1, 2]]),
    (dict[str, Annotated[str, pydantic.StringConstraints(pattern="^a")]], [{"k": "ab"}]),
    (pydantic.SecretStr, [pydantic.SecretStr("x")]),
    (pydantic.PositiveInt, [4]),
]


@pytest.mark.parametrize("note, values", FITS, ids=lambda v: re.sub(" at 0x[0-9a-f]+", "", str(v))[:40])
def test_what_fits_passes(note: Any, values: list[Any]) -> None:
    check = compile_check(note, where="key")
    assert [check(value) for value in values] == [None] * len(values)


MISSES: list[tuple[Any, Any, str]] = [
    (int, True, "key: expected int, got bool True"),
    (int, "5", "key: expected int, got str '5'"),
    (int, 1.0, "key: expected int, got float 1.0"),
    (int, None, "key: expected int, got None"),
    (float, False, "key: expected float, got bool False"),
    (float, "1", "key: expected float, got str '1'"),
    (bool, 1, "key: expected bool, got int 1"),
    (str, b"x", "key: expected str, got bytes b'x'"),
    (bytes, bytearray(b"x"), "key: expected bytes, got bytearray bytearray(b'x')"),
    (None, 0, "key: expected None, got int 0"),
    (Bound, "x", "key: expected int, got str 'x'"),
    (Number, 1.0, "key: expected int | str, got float 1.0"),
    (UserId, "3", "key: expected int, got str '3'"),
    (int | None, "x", "key: expected int | None, got str 'x'"),
    (list[int] | None, [1, "a"], "key[1]: expected int, got str 'a'"),
    (list[int] | dict[str, list[int]], {"k": [1, "a"]}, "key['k'][1]: expected int, got str 'a'"),
    (Literal[1, "a"], True, "key: expected 1 | 'a', got bool True"),
    (Literal["on", "off"], ["on"], "key: expected 'on' | 'off', got list ['on']"),
    (list[int], (1,), "key: expected list[int], got tuple (1,)"),
    (list[int], [1, True], "key[1]: expected int, got bool True"),
    (list[list[float]], [[1], [2, "x"]], "key[1][1]: expected float, got str 'x'"),
    (tuple, {1}, "key: expected tuple, got set {1}"),
    (tuple[()], (1,), "key: expected tuple[()], got 1 elements: tuple (1,)"),
    (tuple[int, str], (1,), "key: expected tuple[int, str], got 1 elements: tuple (1,)"),
    (tuple[int, str], (1, 2), "key[1]: expected str, got int 2"),
    (tuple[int, ...], [1, "a"], "key[1]: expected int, got str 'a'"),
    (set[int], [1], "key: expected set[int], got list [1]"),
    (set[int], frozenset({1}), "key: expected set[int], got frozenset frozenset({1})"),
    (set[int], {"a"}, "key{str 'a'}: expected int, got str 'a'"),
    (dict[str, int], {"a": "b"}, "key['a']: expected int, got str 'b'"),
    (dict[str, int], {1: 1}, "key.key(1): expected str, got int 1"),
    (Mapping[str, int], [1], "key: expected Mapping[str, int], got list [1]"),
    (Sequence[int], [1, "x"], "key[1]: expected int, got str 'x'"),
    (Callable[[int], str], 3, "key: expected a callable, got int 3"),
    (type[int], 3, "key: expected type, got int 3"),
    (Colour, 1, "key: expected Colour, got int 1"),
    (Item, {"name": "a"}, "key: expected Item, got dict {'name': 'a'}"),
    (list[Item], [Item("a"), Item(3)], "key[1].name: expected str, got int 3"),  # type: ignore[arg-type]
    (Item, Item("a", 1, [Item("b", "c")]), "key.kids[0].price: expected float | None, got str 'c'"),  # type: ignore[arg-type]
    (Point, (1, 2), "key: expected Point, got tuple (1, 2)"),
    (Point, Point("a"), "key.x: expected int, got str 'a'"),  # type: ignore[arg-type]
    (Closes, 3, "key: expected Closes, got int 3"),
    (Movie, [], "key: expected Movie, got list []"),
    (Movie, {"title": "t"}, "key: expected Movie, missing 'cast'"),
    (Movie, {**MOVIE, "yaer": 1}, "key: unknown key 'yaer' for Movie. Did you mean 'year'?"),
    (Movie, {**MOVIE, "year": "x"}, "key.year: expected int, got str 'x'"),
    (Movie, {**MOVIE, "cast": [Point(1, "y")]}, "key.cast[0].y: expected int, got str 'y'"),  # type: ignore[arg-type]
    (Loose, MOVIE, "key: expected Loose, missing 'must'"),
    (Annotated[int, pydantic.Field(gt=0)], 0, "key: Input should be greater than 0, got 0"),
    (Annotated[int, pydantic.Field(gt=0)], "5", "key: expected int, got str '5'"),
    (Annotated[int, pydantic.Field(gt=0)], True, "key: expected int, got bool True"),
    (Model, {"n": 1}, "key: expected Model, got dict {'n': 1}"),
    (typing.Never, 1, "key: expected no value at all, got int 1"),
]


@pytest.mark.parametrize("note, value, message", MISSES, ids=lambda v: re.sub(" at 0x[0-9a-f]+", "", str(v))[:40])
def test_what_does_not_fit_is_told_with_its_place(note: Any, value: Any, message: str) -> None:
    assert compile_check(note, where="key")(value) == message


def test_without_a_place_the_message_starts_with_the_inner_path() -> None:
    assert compile_check(int)("x") == "expected int, got str 'x'"
    assert compile_check(Movie)({**MOVIE, "year": "x"}) == "year: expected int, got str 'x'"
    assert compile_check(list[int])(["x"]) == "[0]: expected int, got str 'x'"


def test_long_values_are_shortened() -> None:
    told = compile_check(int, where="k")("x" * 10_000)
    assert told is not None
    assert len(told) < 100


def test_a_value_whose_repr_fails_is_still_told() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError("no")

    told = compile_check(int, where="k")(Odd())
    assert told is not None
    assert "Odd" in told


def test_a_value_that_contains_itself_is_a_miss() -> None:
    loop = Item("a")
    loop.kids.append(loop)
    assert compile_check(Item, where="k")(loop) == "k: is nested too deeply, or contains itself"


@pytest.mark.parametrize("note", ["Unresolved", list[typing.ForwardRef("Nowhere")], 3, len], ids=str)  # type: ignore[misc]
def test_what_is_no_type_is_refused_at_build(note: Any) -> None:
    with pytest.raises(ConfigurationError, match="colour") as caught:
        compile_check(note, where="colour")
    assert caught.value.details["where"] == "colour"


@pytest.mark.parametrize("note", [note for note, _ in FITS], ids=str)
def test_fast_types_are_a_full_check(note: Any) -> None:
    check = compile_check(note)
    samples = [value for _, values in FITS for value in values]
    for value in samples:
        if type(value) in check.fast:
            # The slow road says the same.
            assert _slow(check, value) is None


def _slow(check: Check, value: Any) -> Any:
    test = check._test  # pyright: ignore[reportPrivateUsage]
    return None if test is None else test(value)


@pytest.mark.parametrize(
    "note, fast",
    cases(
        (int, {int}),
        (float, {int, float}),
        (str | None, {str, type(None)}),
        (list, {list}),
        (list[Any], {list}),
        (dict[str, Any], set()),
        (dict[Any, Any], {dict}),
        (list[int], set()),
        (list[int] | int, {int}),
        (tuple, {tuple, list}),
        (Colour, {Colour}),
        (Model, {Model}),
        (Movie, set()),
        (Item, set()),
        (Any, set()),
    ),
    ids=str,
)
def test_which_types_are_fast(note: Any, fast: set[type]) -> None:
    check = compile_check(note)
    assert set(check.fast) == fast
    assert check.always == (note is Any)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3) | st.tuples(inner, inner)
    ),
    max_leaves=8,
)


def _is(value: Any, note: str) -> bool:
    """The same question answered without the checker, for a few types."""
    if note == "int":
        return type(value) is int
    if note == "float":
        return type(value) in (int, float)
    if note == "list[int] | None":
        return value is None or (type(value) is list and all(type(item) is int for item in value))  # pyright: ignore
    if note == "dict[str, float]":
        return type(value) is dict and all(type(item) in (int, float) for item in value.values())  # pyright: ignore
    return type(value) in (list, tuple) and len(value) == 2 and type(value[0]) is bool  # pyright: ignore


NOTES: dict[str, Any] = {
    "int": int,
    "float": float,
    "list[int] | None": list[int] | None,
    "dict[str, float]": dict[str, float],
    "tuple[bool, Any]": tuple[bool, Any],
}


@pytest.mark.property
@given(plain, st.sampled_from(sorted(NOTES)))
def test_the_checker_agrees_with_a_plain_reading(value: Any, note: str) -> None:
    before = repr(value)
    assert (compile_check(NOTES[note])(value) is None) == _is(value, note)
    assert repr(value) == before


@given(
    st.recursive(plain, lambda inner: st.lists(inner, max_size=3), max_leaves=4),
    st.sampled_from([list[int], list[str] | int, list[int | None] | None, list[bool] | list[int], list[list[int]]]),
)
def test_the_quick_look_accepts_nothing_that_the_whole_check_refuses(value: Any, note: Any) -> None:
    check = compile_check(note)
    quick = check.quick
    assert (quick is None) == (note == list[list[int]])
    if quick is not None and quick(value):
        assert check(value) is None


@pytest.mark.parametrize("value", [[1, "x"], (1,), [True], None])
def test_the_quick_look_knows_lists_of_exact_types_only(value: Any) -> None:
    quick = compile_check(list[int] | int).quick
    assert quick is not None
    assert quick([1, 2])
    assert not quick(value)


def test_a_class_within_a_function_is_checked_as_far_as_its_names_are_found() -> None:
    class Unseen(TypedDict):
        n: int

    class Local(TypedDict):
        plain: int
        inner: Unseen
        maybe: tx.NotRequired[Unseen]

    check = compile_check(Local, where="k")
    assert check({"plain": 1, "inner": {"n": "x"}}) is None
    assert check({"plain": 1}) is None
    assert check({"plain": "x"}) == "k.plain: expected int, got str 'x'"
    assert (
        check({"plain": 1, "iner": 1}) == "k: unknown key 'iner' for " + Local.__qualname__ + ". Did you mean 'inner'?"
    )


def test_one_check_serves_many_values_without_growing() -> None:
    check = compile_check(list[Movie], where="k")
    for _ in range(3):
        assert check([MOVIE]) is None
        assert check([{}]) == "k[0]: expected Movie, missing 'title', 'cast'"


def test_pydantic_is_imported_only_for_its_own_types() -> None:
    program = (
        "import sys; from lawful.core.check import compile_check as c;"
        "c(dict[str, list[int]])({'a': [1]}); print('pydantic' in sys.modules)"
    )
    assert fresh(program).strip() == "False"
