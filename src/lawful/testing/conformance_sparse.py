"""The tests that every store of words must pass, third parties' too.

In a test module of your own::

    from lawful.testing.conformance_sparse import SparseConformance

    class TestMyWords(SparseConformance):
        def make_store(self):
            return MyWords(new_empty_folder())

``make_store`` is called for every test and gives a store of scope "local" with nothing in it. It takes words as they are,
or without their endings: nothing here depends on that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lawful.core.errors import ValidationError
from lawful.rag.documents import Passage
from lawful.rag.filters import WIDEST, All, Compare, Filter, Has, Not, OneOf, field, matches
from lawful.rag.ports import SparseStore
from lawful.testing.conformance_vectors import HOSTILE, NO_NAMES, filters, passage

TEXTS = {
    "a": "the cat sat on the mat",
    "b": "the dog sat on the log with the cat and another cat",
    "c": "rain over lyon",
    "d": "a mat for the rain",
    "e": "nothing of that kind here at all",
    **{f"f{i}": f"other things number {i} that one may say" for i in range(15)},
}


class _Suite:
    def make_store(self) -> SparseStore:
        """A new, empty store of scope "local"."""
        raise NotImplementedError("a conformance suite needs make_store()")

    @pytest.fixture
    def store(self) -> Iterator[SparseStore]:
        with self.make_store() as made:
            yield made


class _Ranks(_Suite):
    def test_any_of_the_words_finds_and_the_best_comes_first(self, store: SparseStore) -> None:
        store.upsert([passage(id, text) for id, text in TEXTS.items()])
        hits = store.search("cat mat lyon", 10)
        assert {hit.id for hit in hits} == {"a", "b", "c", "d"}
        assert hits[0].id == "a", "two of the words are in it"
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(hit.score > 0 for hit in hits)
        assert [hit.id for hit in store.search("cat mat lyon", 2)] == [hit.id for hit in hits[:2]]
        assert store.search("elephant", 10) == []

    def test_a_rare_word_weighs_more_than_a_common_one(self, store: SparseStore) -> None:
        store.upsert([passage(f"p{i}", "common filler text") for i in range(20)])
        store.upsert([passage("rare", "unusual filler text")])
        assert store.search("common unusual", 1)[0].id == "rare"

    def test_more_of_a_word_and_less_beside_it_weighs_more(self, store: SparseStore) -> None:
        store.upsert(
            [
                passage("once", "moon and much else that is said here"),
                passage("often", "moon moon moon and much else here"),
                passage("short", "moon"),
                *(passage(f"p{i}", "of other things one may say a lot too") for i in range(5)),
            ]
        )
        ids = [hit.id for hit in store.search("moon", 10)]
        assert set(ids) == {"once", "often", "short"}
        assert ids[-1] == "once"

    def test_equal_scores_go_by_id(self, store: SparseStore) -> None:
        for id in ("c", "a", "d", "b"):  # one by one: the order of storing is another than that of ids
            store.upsert([passage(id, "the same text")])
        assert [hit.id for hit in store.search("same", 10)] == ["a", "b", "c", "d"]
        assert [hit.id for hit in store.search("same", 2)] == ["a", "b"]

    def test_capitals_and_accents_make_no_difference(self, store: SparseStore) -> None:
        store.upsert(
            [passage("r", "Été à LYON"), passage("d", "e\N{COMBINING ACUTE ACCENT}t\u00e9 encore"), passage("x", "x")]
        )
        assert {hit.id for hit in store.search("ete", 10)} == {"r", "d"}
        assert [hit.id for hit in store.search("lyon", 10)] == ["r"]

    def test_headings_are_searched_with_the_text(self, store: SparseStore) -> None:
        store.upsert([Passage("p", "d", "See below.", 0, 10, headers=("Installation", "Windows")), passage("q")])
        assert [hit.id for hit in store.search("windows")] == ["p"]
        assert store.delete(["p"]) == 1
        assert store.search("windows") == []

    def test_a_long_question(self, store: SparseStore) -> None:
        store.upsert([passage(id, text) for id, text in TEXTS.items()])
        assert store.search(" ".join(["cat", *(f"word{i}" for i in range(5000))]), 1)[0].id in ("a", "b")
        assert store.search("?! -- ...", 5) == []
        assert store.search("", 5) == []


class _Keeps(_Suite):
    def test_a_passage_comes_back_as_it_was(self, store: SparseStore) -> None:
        one = Passage("p", "d", "  text\n", 3, 10, "a/b.md", {"n": 1, "f": 0.1, "b": True, "s": ""}, ("Top", "Sub"))
        store.upsert([one, passage("q", "other")])
        [hit] = store.search("text")
        assert hit.passage == one
        assert type(hit.passage.metadata["n"]) is int
        assert store.present(["p", "none"]) == {"p": one.digest}

    def test_replacing_and_deleting_leave_no_words_behind(self, store: SparseStore) -> None:
        store.upsert([passage("p", "alpha beta", n=1), passage("q", "alpha")])
        store.upsert([passage("p", "between"), passage("p", "gamma")])
        assert store.search("beta") == []
        assert store.search("between") == []
        assert [hit.id for hit in store.search("gamma")] == ["p"]
        assert store.search("gamma", where=field("n") == 1) == []
        assert (store.ids(), store.count()) == (["p", "q"], 2)
        assert store.delete(["p", "p", "none"]) == 1
        assert store.delete([]) == 0
        assert store.search("gamma") == []
        assert (store.ids(), store.count()) == (["q"], 1)
        assert store.present(["p", "q"]).keys() == {"q"}

    def test_an_empty_store_finds_nothing(self, store: SparseStore) -> None:
        assert store.search("a") == []
        assert (store.count(), store.ids(), store.delete(["a"]), store.present(["a"])) == (0, [], 0, {})
        store.upsert([])
        assert store.count() == 0

    def test_many_passages(self, store: SparseStore) -> None:
        store.upsert([passage(f"p{i:04}", f"word{i} all", n=i) for i in range(1200)])
        assert store.count() == len(store.present(store.ids())) == 1200
        assert [hit.id for hit in store.search("word700 word1100", 5)] == ["p0700", "p1100"]
        assert [hit.id for hit in store.search("all", 3, field("n") >= 700)] == ["p0700", "p0701", "p0702"]
        assert store.delete([f"p{i:04}" for i in range(1100)]) == 1100
        assert store.search("all", 1)[0].id == "p1100"
        assert store.count() == 100


class _Filters(_Suite):
    def test_a_filter_means_what_matches_says(self, store: SparseStore) -> None:
        rows: list[dict[str, Any]] = [
            {},
            {"s": "a", "n": 1},
            {"s": "", "b": True},
            {"s": "it's", "n": 2.5},
            {"n": 2.5, "b": False},
            {"n": 1.0},
            {"n": 0},
            {"n": -3},
            {"n": 2**53},
            {"s": "1"},
            {"s": "true", "b": True},
            {"s": "%"},
        ]
        passages = [passage(f"p{i:02}", "word", **row) for i, row in enumerate(rows)]
        store.upsert(passages)
        for filter in filters():
            expected = [one.id for one in passages if matches(filter, one.metadata)]
            assert [hit.id for hit in store.search("word", 50, filter)] == expected, filter

    def test_texts_are_ordered_by_code_points(self, store: SparseStore) -> None:
        texts = ["", "A", "Z", "a", "a b", "é", "\N{SNOWMAN}", "\U0001f600"]
        store.upsert([passage(f"p{i}", "word", s=text) for i, text in enumerate(texts)])
        for text in texts:
            found = {hit.passage.metadata["s"] for hit in store.search("word", 50, field("s") < text)}
            assert found == {other for other in texts if other < text}

    def test_a_long_value_is_told_from_another(self, store: SparseStore) -> None:
        long = "x" * 100_000
        store.upsert([passage("a", "word", s=long), passage("b", "word", s=f"{long}y")])
        assert [hit.id for hit in store.search("word", where={"s": long})] == ["a"]
        assert [hit.id for hit in store.search("word", where=field("s") != long)] == ["b"]

    @pytest.mark.parametrize("text", HOSTILE, ids=repr)
    def test_a_hostile_value_means_itself(self, store: SparseStore, text: str) -> None:
        store.upsert([passage("it", "word", s=text), passage("other", "word", s="another")])
        assert [hit.id for hit in store.search("word", where={"s": text})] == ["it"]
        assert [hit.id for hit in store.search("word", where=field("s") != text)] == ["other"]
        assert store.count() == 2

    @pytest.mark.parametrize("name", NO_NAMES, ids=repr)
    def test_a_hostile_name_is_refused(self, store: SparseStore, name: str) -> None:
        store.upsert([passage("it", "word", s="a")])
        for make in (lambda: field(name) == 1, lambda: {name: 1}, lambda: Compare(name, "==", 1), lambda: Has(name)):
            with pytest.raises(ValidationError):
                store.search("word", where=make())
        with pytest.raises(ValidationError):
            store.upsert([passage("new", "word", **{name: 1})])
        assert store.ids() == ["it"]

    def test_a_filter_may_be_as_wide_as_it_may_be(self, store: SparseStore) -> None:
        store.upsert([passage("it", "word", n=7), passage("other", "word", n=5000)])
        assert [hit.id for hit in store.search("word", where=OneOf("n", tuple(range(WIDEST - 1))))] == ["it"]

    def test_operators_in_a_value_are_refused(self, store: SparseStore) -> None:
        store.upsert([passage("it", "word", n=1)])
        wrong: list[Any] = [{"n": {"$gt": 0}}, {"n": [1]}, {"n": None}, "n = 1", Compare("n", "=; --", 1)]  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        for where in wrong:
            with pytest.raises(ValidationError):
                store.search("word", where=where)


class _Words(_Suite):
    @pytest.mark.parametrize(
        "text",
        [
            *HOSTILE,
            "cat OR",
            "NOT cat",
            "-cat",
            "+cat",
            'told:"cat',
            "told:cat",
            "cat*",
            "^cat",
            "{cat",
            "cat NEAR/2 mat",
            "cat AND dog",
            "[a TO z]",
            "cat~2",
            "cat^9",
            "(cat",
            "id:other",
            "/c.t/",
            "IN [cat]",
        ],
        ids=repr,
    )
    def test_a_question_is_words_only(self, store: SparseStore, text: str) -> None:
        store.upsert([passage("hit", f"plain {text} words", s=text), passage("other", "quite different")])
        found = [hit.id for hit in store.search(text, 10)]
        assert found in ([], ["hit"])
        assert found == ["hit"] or not any(one.isalnum() for one in text)
        assert store.count() == 2


class _Scopes(_Suite):
    def test_no_scope_sees_another_nor_counts_its_words(self, store: SparseStore) -> None:
        store.upsert([passage(id, text) for id, text in TEXTS.items()])
        before = store.search("cat", 10)
        other = store.scoped("other")
        other.upsert([passage(f"x{i}", "cat cat cat") for i in range(20)])
        assert store.search("cat", 10) == before
        assert {hit.id[0] for hit in other.search("cat sat", 50)} == {"x"}
        assert store.delete(["x1"]) == 0
        assert other.present(["a"]) == {}
        assert (store.count(), other.count()) == (len(TEXTS), 20)
        assert (store.ids(), other.delete(["x0", "a"])) == (sorted(TEXTS), 1)

    @pytest.mark.parametrize(
        "scope", [text for text in HOSTILE if text not in ("", "local")] + ["..", "/tmp", "a/../b"], ids=repr
    )
    def test_a_hostile_scope_or_id_is_only_a_name(self, store: SparseStore, scope: str) -> None:
        hostile = store.scoped(scope)
        store.upsert([passage("a", "word")])
        assert (hostile.search("word"), hostile.count()) == ([], 0)
        hostile.upsert([passage(scope, f"word {scope}", scope)])
        assert [hit.passage for hit in hostile.search("word")] == [passage(scope, f"word {scope}", scope)]
        assert hostile.delete(["%", "*", "_"]) == int(scope in ("%", "*", "_"))
        assert store.ids() == ["a"]

    @pytest.mark.parametrize(
        "filter", [{"kind": "note"}, field("kind") != "memo", Not(Has("none")), All(()), field("n") > 0], ids=repr
    )
    def test_no_filter_leads_into_another_scope(self, store: SparseStore, filter: Filter | dict[str, str]) -> None:
        other = store.scoped("other")
        store.upsert([passage("mine", "word", kind="note", n=1)])
        other.upsert([passage("theirs", "word", kind="note", n=1)])
        assert [hit.id for hit in store.search("word", 10, filter)] == ["mine"]
        assert [hit.id for hit in other.search("word", 10, filter)] == ["theirs"]
        assert store.scoped("third").search("word", 10, filter) == []

    def test_a_filter_on_a_field_called_scope_or_id_is_about_the_metadata(self, store: SparseStore) -> None:
        store.upsert([passage("x", "word", scope="other", id="y", body="b")])
        store.scoped("other").upsert([passage("y", "word")])
        assert [hit.id for hit in store.search("word", where={"scope": "other", "id": "y", "body": "b"})] == ["x"]
        assert store.search("word", where={"scope": "local"}) == []


class _Refuses(_Suite):
    @pytest.mark.parametrize("scope", ["", None, 1, {"$ne": 1}, "a\0b", "x" * 513, "\ud800"])
    def test_what_is_no_scope_or_id(self, store: SparseStore, scope: Any) -> None:
        with pytest.raises(ValidationError):
            store.scoped(scope)
        with pytest.raises(ValidationError):
            store.delete([scope])
        with pytest.raises(ValidationError):
            store.upsert([passage("good", "word"), passage(scope, "text")])
        with pytest.raises(ValidationError):
            store.delete("abc")
        assert store.count() == 0

    @pytest.mark.parametrize("text", [None, 1, "a\0b", "\ud800"])
    def test_what_is_no_text(self, store: SparseStore, text: Any) -> None:
        with pytest.raises(ValidationError):
            store.search(text)

    @pytest.mark.parametrize("k", [0, -1, 1.5, True, "1", 4097])
    def test_a_number_of_hits_that_is_none(self, store: SparseStore, k: Any) -> None:
        with pytest.raises(ValidationError):
            store.search("word", k)


class SparseConformance(_Ranks, _Keeps, _Filters, _Words, _Scopes, _Refuses):
    """Subclass it as ``Test…`` and give it ``make_store()``."""
