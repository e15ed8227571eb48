"""The tests that every vector store must pass, third parties' too.

In a test module of your own::

    from lawful.testing.conformance_vectors import VectorConformance

    class TestMyVectors(VectorConformance):
        def make_store(self):
            return MyVectors(new_empty_database())

``make_store`` is called for every test and gives a store of scope "local" with nothing in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from lawful.core.errors import ValidationError
from lawful.rag.documents import Passage
from lawful.rag.filters import (
    DEEPEST,
    WIDEST,
    All,
    Compare,
    Either,
    Filter,
    Has,
    Not,
    OneOf,
    field,
    matches,
)
from lawful.rag.ports import Entry, VectorStore

HOSTILE = (
    "'",
    '"',
    "' OR 1=1 --",
    "x'; DROP TABLE passages; --",
    "/* comment */",
    "%",
    "_",
    "a%b_c",
    "\\",
    "$gt",
    '{"$ne": null}',
    "a.b.c",
    "a[0]",
    "$.a",
    "*",
    "x:y",
    "NEAR(a b)",
    "local",
    "",
    "\N{SNOWMAN} e\N{COMBINING ACUTE ACCENT}",
    "\x1f\t\n",
)
"""Texts that mean something to some store's language; as data they must mean themselves."""
NO_NAMES = (*(text for text in HOSTILE if text != "local"), "a b", "1a", "a-b", "é", "x" * 65)
"""Texts that are no name of a field."""


def passage(id: str, text: str = "", document: str = "doc", /, **metadata: Any) -> Passage:
    """A passage with that id."""
    told = text or f"passage {id}"
    return Passage(id, document, told, 0, len(told), "", metadata)


def filters() -> list[Filter]:
    """One of each kind, and some that join them."""
    equal: list[Filter] = [Compare("s", "==", text) for text in ("", "a", "b", "it's", "%", "1", "true")]
    numbers: list[Filter] = [Compare("n", "==", value) for value in (0, 1, 1.0, 2.5, -3, 2**53)]
    ordered: list[Filter] = [field("n") < 1, field("n") <= 1, field("n") > 1, field("n") >= 2.5]
    other: list[Filter] = [
        field("b") == True,  # noqa: E712 - a filter, not a truth value
        field("b") == False,  # noqa: E712
        field("n") == True,  # noqa: E712
        field("b") == 1,
        field("s") == 1,
        field("n") != 1,
        field("none") == "a",
        field("s").one_of("a", 1, True),
        OneOf("s", ()),
        Has("b"),
        Has("none"),
        All(()),
        Either(()),
        Not(Either((Has("b"), Compare("n", ">", 1)))),
        All((Has("n"), Not(Compare("n", "==", 1)))),
        (field("n") > 0) & ((field("s") == "a") | (field("b") == True)),  # noqa: E712
    ]
    return equal + numbers + ordered + other


class _Suite:
    def make_store(self) -> VectorStore:
        """A new, empty store of scope "local"."""
        raise NotImplementedError("a conformance suite needs make_store()")

    @pytest.fixture
    def store(self) -> Iterator[VectorStore]:
        with self.make_store() as made:
            yield made


class _Keeps(_Suite):
    def test_the_nearest_come_first_with_their_cosine(self, store: VectorStore) -> None:
        store.upsert(
            [Entry(passage("far"), (0, 3, 0)), Entry(passage("mid"), (1, 1, 0)), Entry(passage("near"), (9, 0, 0))]
        )
        hits = store.search((2.0, 0.0, 0.0), 3)
        assert [hit.id for hit in hits] == ["near", "mid", "far"]
        assert [hit.score for hit in hits] == pytest.approx([1.0, math.sqrt(0.5), 0.0], abs=1e-5)
        assert [hit.id for hit in store.search((2.0, 0.0, 0.0), 2)] == ["near", "mid"]

    def test_equal_scores_go_by_id(self, store: VectorStore) -> None:
        store.upsert([Entry(passage(id), (1, 2)) for id in ("c", "a", "b")])
        assert [hit.id for hit in store.search((1, 2), 5)] == ["a", "b", "c"]

    def test_of_equal_ones_at_the_end_the_first_by_id_are_given(self, store: VectorStore) -> None:
        for id in ("f", "c", "e", "a", "d", "b"):  # one by one: they are stored in another order than that of their ids
            store.upsert([Entry(passage(id), (1, 2))])
        store.upsert([Entry(passage("x"), (2, 1)), Entry(passage("w"), (2, 1))])
        assert [hit.id for hit in store.search((1, 2), 2)] == ["a", "b"]
        assert [hit.id for hit in store.search((2, 1), 1)] == ["w"]
        assert [hit.id for hit in store.search((2, 1), 4)] == ["w", "x", "a", "b"]

    def test_a_passage_comes_back_as_it_was(self, store: VectorStore) -> None:
        one = Passage("p", "d", "  text\n", 3, 10, "a/b.md", {"n": 1, "f": 0.1, "b": True, "s": ""}, ("Top", "Sub"))
        store.upsert([Entry(one, (1, 0))])
        [hit] = store.search((1, 0))
        assert hit.passage == one
        assert type(hit.passage.metadata["n"]) is int
        assert hit.passage.metadata["b"] is True

    def test_an_upsert_replaces_and_its_last_entry_counts(self, store: VectorStore) -> None:
        store.upsert([Entry(passage("p", "old", s="old"), (1, 0))])
        store.upsert([Entry(passage("p", "between"), (1, 0)), Entry(passage("p", "new", n=1), (0, 1))])
        [hit] = store.search((0, 1))
        assert (hit.text, hit.score, store.count()) == ("new", pytest.approx(1.0), 1)
        assert store.search((0, 1), where={"s": "old"}) == []
        assert store.present(["p", "q"]) == {"p": hit.passage.digest}

    def test_deleting_says_how_many_there_were(self, store: VectorStore) -> None:
        store.upsert([Entry(passage(id, n=1), (1, 0)) for id in "abcd"])
        assert store.delete(["a", "a", "none", "d"]) == 2
        assert store.delete([]) == 0
        assert (store.ids(), store.count()) == (["b", "c"], 2)
        assert [hit.id for hit in store.search((1, 0), where=field("n") == 1)] == ["b", "c"]
        store.upsert([Entry(passage("a", n=2), (1, 0))])
        assert [hit.id for hit in store.search((1, 0), where=field("n") == 2)] == ["a"]

    def test_an_empty_store_finds_nothing(self, store: VectorStore) -> None:
        assert store.search((1, 0)) == []
        assert (store.count(), store.ids(), store.dimensions, store.delete(["a"])) == (0, [], None, 0)
        assert store.present(["a"]) == {}
        store.upsert([])
        assert store.dimensions is None

    def test_many_passages(self, store: VectorStore) -> None:
        store.upsert([Entry(passage(f"p{i:04}", n=i), (math.cos(i / 1000), math.sin(i / 1000))) for i in range(1200)])
        assert store.count() == len(store.present(store.ids())) == 1200
        assert [hit.id for hit in store.search((1, 0), 3, field("n") >= 700)] == ["p0700", "p0701", "p0702"]
        assert store.delete([f"p{i:04}" for i in range(1100)]) == 1100
        assert [hit.id for hit in store.search((1, 0), 1)] == ["p1100"]


class _Filters(_Suite):
    def test_a_filter_means_what_matches_says(self, store: VectorStore) -> None:
        rows: list[dict[str, Any]] = [
            {},
            {"s": "a"},
            {"s": "a", "n": 1},
            {"s": "", "b": True},
            {"s": "it's", "n": 2.5},
            {"s": "%", "b": False},
            {"s": "1", "n": 0},
            {"n": 1.0, "b": True},
            {"n": -3},
            {"n": 2**53},
            {"s": "true"},
        ]
        passages = [passage(f"p{i:02}", **row) for i, row in enumerate(rows)]
        store.upsert([Entry(one, (1.0, 0.5)) for one in passages])
        for filter in filters():
            expected = [one.id for one in passages if matches(filter, one.metadata)]
            assert [hit.id for hit in store.search((1.0, 0.5), 50, filter)] == expected, filter

    def test_texts_are_ordered_by_code_points_or_not_at_all(self, store: VectorStore) -> None:
        texts = ["", "A", "Z", "a", "a b", "é", "\N{SNOWMAN}", "\U0001f600"]
        store.upsert([Entry(passage(f"p{i}", s=text), (1, 0)) for i, text in enumerate(texts)])
        if not store.orders_text:
            with pytest.raises(ValidationError):
                store.search((1, 0), where=field("s") < "b")
            return
        for text in texts:
            found = {hit.passage.metadata["s"] for hit in store.search((1, 0), 50, field("s") < text)}
            assert found == {other for other in texts if other < text}

    @pytest.mark.parametrize("text", HOSTILE, ids=repr)
    def test_a_hostile_value_means_itself(self, store: VectorStore, text: str) -> None:
        store.upsert([Entry(passage("it", s=text), (1, 0)), Entry(passage("other", s="another"), (1, 0))])
        assert [hit.id for hit in store.search((1, 0), where={"s": text})] == ["it"]
        assert [hit.id for hit in store.search((1, 0), where=field("s") != text)] == ["other"]
        assert store.count() == 2

    @pytest.mark.parametrize("name", NO_NAMES, ids=repr)
    def test_a_hostile_name_is_refused(self, store: VectorStore, name: str) -> None:
        store.upsert([Entry(passage("it", s="a"), (1, 0))])
        for make in (lambda: field(name) == 1, lambda: {name: 1}, lambda: Compare(name, "==", 1), lambda: Has(name)):
            with pytest.raises(ValidationError):
                store.search((1, 0), where=make())
        with pytest.raises(ValidationError):
            store.upsert([Entry(passage("new", **{name: 1}), (1, 0))])
        assert store.ids() == ["it"]

    def test_a_filter_may_be_as_wide_as_it_may_be(self, store: VectorStore) -> None:
        store.upsert([Entry(passage("it", n=7, s="a"), (1, 0)), Entry(passage("other", n=5000, s="b"), (1, 0))])
        widest = [OneOf("n", tuple(range(WIDEST - 1))), Either(tuple(Compare("n", "==", n) for n in range(WIDEST - 1)))]
        for wide in widest:
            assert [hit.id for hit in store.search((1, 0), where=wide)] == ["it"]
        deep: Filter = Compare("s", "==", "a")
        for _ in range(DEEPEST - 2):
            deep = Not(deep)
        assert [hit.id for hit in store.search((1, 0), where=deep)] == ["it"]

    def test_operators_in_a_value_are_refused(self, store: VectorStore) -> None:
        store.upsert([Entry(passage("it", n=1), (1, 0))])
        wrong: list[Any] = [{"n": {"$gt": 0}}, {"n": [1]}, {"n": None}, "n = 1", Compare("n", "=; --", 1)]  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        for where in wrong:
            with pytest.raises(ValidationError):
                store.search((1, 0), where=where)


class _Scopes(_Suite):
    def test_no_scope_sees_another(self, store: VectorStore) -> None:
        other = store.scoped("other")
        store.upsert([Entry(passage("a", "mine"), (1, 0)), Entry(passage("b"), (1, 1))])
        other.upsert([Entry(passage("a", "theirs"), (1, 0))])
        assert [hit.text for hit in other.search((1, 0), 10)] == ["theirs"]
        assert (other.count(), other.ids(), other.present(["b"])) == (1, ["a"], {})
        assert other.delete(["b"]) == 0
        assert other.delete(["a"]) == 1
        assert [hit.text for hit in store.search((1, 0), 1)] == ["mine"]
        assert store.count() == 2

    @pytest.mark.parametrize(
        "filter",
        [
            {"kind": "note"},
            field("kind") != "memo",
            Not(Has("none")),
            Either((field("kind") == "note", field("n") > 0)),
            All(()),
            OneOf("kind", ("note", "memo")),
        ],
        ids=repr,
    )
    def test_no_filter_leads_into_another_scope(self, store: VectorStore, filter: Filter | dict[str, str]) -> None:
        other = store.scoped("other")
        store.upsert([Entry(passage("mine", kind="note", n=1), (1, 0))])
        other.upsert([Entry(passage("theirs", kind="note", n=1), (1, 0))])
        assert [hit.id for hit in store.search((1, 0), 10, filter)] == ["mine"]
        assert [hit.id for hit in other.search((1, 0), 10, filter)] == ["theirs"]
        assert store.scoped("third").search((1, 0), 10, filter) == []

    @pytest.mark.parametrize("scope", [text for text in HOSTILE if text not in ("", "local")], ids=repr)
    def test_a_hostile_scope_or_id_is_only_a_name(self, store: VectorStore, scope: str) -> None:
        hostile = store.scoped(scope)
        store.upsert([Entry(passage("a"), (1, 0))])
        assert (hostile.search((1, 0)), hostile.count()) == ([], 0)
        hostile.upsert([Entry(passage(scope, scope, scope), (1, 0))])
        assert [hit.passage for hit in hostile.search((1, 0))] == [passage(scope, scope, scope)]
        assert hostile.delete(["%", "*", "_"]) == int(scope in ("%", "*", "_"))
        assert store.ids() == ["a"]

    def test_scopes_and_ids_do_not_run_together(self, store: VectorStore) -> None:
        store.scoped("a").upsert([Entry(passage("b:c"), (1, 0))])
        store.scoped("a:b").upsert([Entry(passage("c"), (1, 0))])
        assert store.scoped("a").ids() == ["b:c"]
        assert store.scoped("a:b").ids() == ["c"]

    def test_a_filter_on_a_field_called_scope_or_id_is_about_the_metadata(self, store: VectorStore) -> None:
        store.upsert([Entry(passage("x", scope="other", id="y", body="b"), (1, 0))])
        store.scoped("other").upsert([Entry(passage("y"), (1, 0))])
        assert [hit.id for hit in store.search((1, 0), where={"scope": "other", "id": "y", "body": "b"})] == ["x"]
        assert store.search((1, 0), where={"scope": "local"}) == []


class _Refuses(_Suite):
    @pytest.mark.parametrize("scope", ["", None, 1, {"$ne": 1}, "a\0b", "x" * 513, "\ud800"])
    def test_what_is_no_scope_or_id(self, store: VectorStore, scope: Any) -> None:
        with pytest.raises(ValidationError):
            store.scoped(scope)
        with pytest.raises(ValidationError):
            store.delete([scope])
        with pytest.raises(ValidationError):
            store.upsert([Entry(passage(scope, "text"), (1, 0))])
        with pytest.raises(ValidationError):
            store.delete("abc")

    @pytest.mark.parametrize("vector", [(), (0.0, 0.0), (math.nan, 1), (math.inf, 1), (1e40, 0), ("x", 1), None])
    def test_a_vector_without_a_direction(self, store: VectorStore, vector: Any) -> None:
        with pytest.raises(ValidationError):
            store.upsert([Entry(passage("good"), (1, 0)), Entry(passage("p"), vector)])
        assert store.count() == 0
        with pytest.raises(ValidationError):
            store.search(vector)

    def test_vectors_of_another_length(self, store: VectorStore) -> None:
        with pytest.raises(ValidationError):
            store.upsert([Entry(passage("a"), (1, 0)), Entry(passage("b"), (1, 0, 0))])
        assert store.count() == 0
        store.upsert([Entry(passage("a"), (1, 0))])
        assert store.dimensions == store.scoped("other").dimensions == 2
        for wrong in (lambda: store.upsert([Entry(passage("b"), (1, 0, 0))]), lambda: store.search((1, 0, 0))):
            with pytest.raises(ValidationError, match="2 dimensions, not 3"):
                wrong()
        with pytest.raises(ValidationError):
            store.scoped("other").upsert([Entry(passage("b"), (1, 0, 0))])
        assert store.count() == 1

    @pytest.mark.parametrize("k", [0, -1, 1.5, True, "1", 4097])
    def test_a_number_of_hits_that_is_none(self, store: VectorStore, k: Any) -> None:
        with pytest.raises(ValidationError):
            store.search((1, 0), k)

    @pytest.mark.parametrize("value", [None, [1], {"a": 1}, math.nan, math.inf, 2**53 + 2, "\ud800", "a\0b", b"x"])
    def test_metadata_that_some_store_would_lose(self, store: VectorStore, value: Any) -> None:
        with pytest.raises(ValidationError):
            store.upsert([Entry(passage("a"), (1, 0)), Entry(passage("b", m=value), (1, 0))])
        assert store.count() == 0


class VectorConformance(_Keeps, _Filters, _Scopes, _Refuses):
    """Subclass it as ``Test…`` and give it ``make_store()``."""
