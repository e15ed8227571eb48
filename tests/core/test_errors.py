"""The thirteen errors: one family, equal by content, the same after JSON, pickle and copy, each code documented."""

from __future__ import annotations

import copy
import json
import pickle
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import assert_never, cast, get_args

import msgspec
import pytest
from hypothesis import given

from lawful.core import error_kinds, errors, llm_errors
from lawful.core.errors import (
    THIRTEEN,
    AgentError,
    ConfigurationError,
    ConversationMemoryError,
    CorruptRecord,
    DocumentLoaderError,
    EmbeddingError,
    Error,
    Failure,
    ForeignException,
    GraphBuildError,
    GraphRecursionError,
    InternalError,
    InvalidThreadId,
    InvalidUpdateError,
    LLMError,
    NetworkError,
    NotInRun,
    ParsingError,
    RunnableError,
    StoreLocked,
    ToolError,
    UnknownMessage,
    ValidationError,
    VectorStoreError,
    from_json,
    known_codes,
    nearest,
)
from lawful.testing.strategies import failures

pytestmark = [pytest.mark.unit, pytest.mark.property]

DOCS = Path(__file__).parents[2] / "docs" / "errors.md"


def family(error: Error) -> str:
    """A match over the union: pyright refuses it as soon as a case is missing."""
    match error:
        case LLMError():
            return "llm"
        case AgentError():
            return "agent"
        case ConversationMemoryError():
            return "memory"
        case ToolError():
            return "tool"
        case VectorStoreError():
            return "vector_store"
        case DocumentLoaderError():
            return "document_loader"
        case EmbeddingError():
            return "embedding"
        case RunnableError():
            return "runnable"
        case ParsingError():
            return "parsing"
        case NetworkError():
            return "network"
        case ConfigurationError():
            return "configuration"
        case ValidationError():
            return "validation"
        case InternalError():
            return "internal"
        case _:
            assert_never(error)


def chain(error: BaseException | None) -> list[tuple[str, str]]:
    """Type and text of an error and its causes."""
    told: list[tuple[str, str]] = []
    while error is not None:
        kind = error.kind if isinstance(error, ForeignException) else type(error).__name__
        text = error.message if isinstance(error, Failure | ForeignException) else str(error)
        told.append((kind, text))
        error = error.__cause__
    return told


def test_there_are_thirteen_and_the_union_lists_them() -> None:
    """Rows: S0-070."""
    assert len(THIRTEEN) == 13
    assert set(get_args(Error)) == set(THIRTEEN)
    assert set(Failure.__subclasses__()) >= set(THIRTEEN)


def test_every_specific_error_is_of_exactly_one_of_the_thirteen() -> None:
    """Rows: S0-070, S1-P13."""
    for kind in known_codes().values():
        assert sum(issubclass(kind, one) for one in THIRTEEN) == 1, kind
    assert {family(cast("Error", kind("x"))) for kind in THIRTEEN} == {kind.code for kind in THIRTEEN}


def test_each_code_is_unique() -> None:
    """Rows: S0-074."""

    def every(kind: type[Failure]) -> set[type[Failure]]:
        return {kind}.union(*(every(child) for child in kind.__subclasses__()))

    homes = (errors.__name__, error_kinds.__name__, llm_errors.__name__)
    ours = [kind for kind in every(Failure) if kind.__module__ in homes]
    codes = [kind.code for kind in ours]
    assert len(set(codes)) == len(codes)
    assert all("code" in vars(kind) for kind in ours), "an error without a code of its own"
    assert set(known_codes()) == set(codes)


def test_the_built_in_bases_that_programs_expect() -> None:
    assert issubclass(GraphRecursionError, RecursionError)
    for kind in (GraphBuildError, InvalidThreadId, UnknownMessage):
        assert issubclass(kind, ValueError)
    assert issubclass(NotInRun, RuntimeError)
    assert issubclass(UnknownMessage, InvalidUpdateError)


def test_every_code_has_its_section_in_the_docs_and_no_other_has() -> None:
    """Rows: S1-P13."""
    sections = re.findall(r"^#{2,4} `([a-z_]+)`", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(sections) == sorted(known_codes())


def test_every_code_of_a_single_part_has_its_row_in_the_docs() -> None:
    """Rows: S1-P13."""
    text = DOCS.read_text(encoding="utf-8")
    rows = dict(
        re.findall(r"^\| `([a-z_]+)` \| `?(\w+)", text[text.index("## Errors of single parts") :], re.MULTILINE)
    )
    found: set[str] = set()
    for path in (Path(__file__).parents[2] / "src").rglob("*.py"):
        if "core" not in path.parts:
            found |= set(re.findall(r'^    code = "([a-z_]+)"$', path.read_text(encoding="utf-8"), re.MULTILINE))
    assert {"turn_open", "mcp_refused"} <= found
    assert set(rows) == found


def test_each_section_names_its_class_and_says_what_to_do() -> None:
    parts = re.split(r"^#{2,4} ", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = {found.group(1): part for part in parts if (found := re.match(r"`([a-z_]+)`", part))}
    for code, kind in known_codes().items():
        assert f"`{kind.__name__}`" in sections[code], code
        assert "What to do:" in sections[code], code


@given(failures())
def test_json_round_trip_keeps_the_error_and_its_chain_of_causes(error: Failure) -> None:
    """Rows: S0-071, S0-072."""
    told = json.loads(json.dumps(error.to_json()))
    back = from_json(told)
    assert back == error
    assert hash(back) == hash(error)
    assert back.retryable == error.retryable
    assert back.context.timestamp == error.context.timestamp
    assert chain(back) == chain(error)
    assert back.to_json() == told


@given(failures())
def test_pickle_and_copy_keep_the_error(error: Failure) -> None:
    """Rows: S0-072."""
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):  # noqa: S301
        assert twin == error
        assert twin.retryable == error.retryable
        assert chain(twin) == chain(error)


def test_a_copy_keeps_raw_bytes_and_reduces_a_foreign_cause_to_its_text() -> None:
    error = CorruptRecord("row 3 does not decode", cause=ValueError("bad byte"))
    error.raw = b"\x00\xff"
    twin = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert twin.raw == b"\x00\xff"
    assert str(twin.__cause__) == "ValueError: bad byte"


class Refund(ToolError):
    """An error of a user's, with a signature of its own."""

    code = "refund"

    def __init__(self, cents: int) -> None:
        super().__init__(f"{cents} cents", details={"cents": str(cents)})
        self.cents = cents


def test_a_users_error_copies_and_is_read_back_as_its_family() -> None:
    error = Refund(5)
    twin = copy.copy(error)
    assert (twin, twin.cents) == (error, 5)
    back = from_json(error.to_json())
    assert type(back) is ToolError
    assert back.details == {"cents": "5", "unknown_code": "refund"}


def test_a_code_of_nobody_becomes_an_internal_error_that_names_it() -> None:
    back = from_json({"code": "from_the_future", "message": "x"})
    assert type(back) is InternalError
    assert back.details["unknown_code"] == "from_the_future"


@pytest.mark.parametrize(
    "told",
    [
        [],
        "no",
        None,
        {"code": "store", "details": [1]},
        {"code": "store", "timestamp": "yesterday"},
        {"code": "store", "cause": "x"},
    ],
)
def test_what_is_no_error_is_refused_by_type(told: object) -> None:
    with pytest.raises(ParsingError):
        from_json(told)  # pyright: ignore[reportArgumentType]


def test_a_hostile_depth_of_causes_is_cut() -> None:
    told: dict[str, object] = {"code": "tool", "message": "0"}
    for n in range(20_000):
        told = {"code": "tool", "message": str(n), "cause": told}
    assert 10 < len(chain(from_json(told))) < 200
    first = last = ToolError("0")
    for n in range(20_000):
        last.__cause__ = ToolError(str(n))
        last = last.__cause__
    last.__cause__ = first
    assert len(json.dumps(first.to_json())) < 20_000


def test_text_with_lone_surrogates_can_be_written_down() -> None:
    error = ToolError("name \udcff", details={"path": "\udcfe"}, cause=OSError("\ud800"))
    told = error.to_json()
    assert msgspec.json.decode(msgspec.json.encode(told)) == told
    assert told["message"] == "name \\udcff"


def test_equality_goes_by_content_and_never_by_time() -> None:
    early = datetime(2001, 1, 1, tzinfo=UTC)
    assert ToolError("x", timestamp=early) == ToolError("x")
    assert hash(ToolError("x", timestamp=early)) == hash(ToolError("x"))
    assert ToolError("x") != ToolError("y")
    assert ToolError("x") != NetworkError("x")
    assert ToolError("x", operation="a") != ToolError("x", operation="b")
    assert ToolError("x", details={"k": "1"}) != ToolError("x", details={"k": "2"})
    assert ToolError("x") != ValueError("x")


def test_the_time_is_that_of_making() -> None:
    """Rows: S0-071."""
    before = datetime.now(UTC)
    assert before <= ToolError("x").context.timestamp <= datetime.now(UTC)


def test_which_errors_another_try_may_cure() -> None:
    """Rows: S0-074."""
    curable = {code for code, kind in known_codes().items() if kind("x").retryable}
    of_models = {"rate_limited", "provider_failed", "malformed_reply", "model_timeout", "stream_broken"}
    rest = {"llm", "vector_store", "embedding", "network", "node_timeout", "thread_busy", "store_locked"}
    assert curable == rest | of_models
    assert ToolError("x", retryable=True).retryable
    assert not StoreLocked("x", retryable=False).retryable


def test_bare_takes_the_traceback_from_the_whole_chain_and_survives_a_circle() -> None:
    try:
        try:
            raise ValueError("inner")
        except ValueError as inner:
            raise ToolError("outer") from inner
    except ToolError as caught:
        error = caught
    assert error.__cause__ is not None
    error.__cause__.__cause__ = error
    assert error.bare() is error
    assert error.__traceback__ is None
    assert error.__cause__.__traceback__ is None


def test_nearest_names_the_likely_one_else_the_valid_ones() -> None:
    assert nearest("serach", ["search", "write"]) == " Did you mean 'search'?"
    assert nearest("zzz", ["b", "a"]) == " Valid: 'a', 'b'."
    assert nearest("x", []) == ""
    assert nearest("zzz", [f"name{n}" for n in range(20)]).endswith(", ….")
