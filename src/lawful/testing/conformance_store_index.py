"""What a store with a vector index promises about searches by a query, as tests."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lawful.core.clock import FixedClock
from lawful.core.errors import ConfigurationError, EmbeddingError, ValidationError
from lawful.stores.store_port import Store
from lawful.stores.store_records import GetOp, IndexConfig, PutOp, SearchOp
from lawful.testing.conformance_kit import START
from lawful.testing.conformance_store_kit import StoreSuite

_QUIET = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow]
)
LETTERS = "abcd"


def letters(texts: list[str]) -> list[list[float]]:
    """How often each of four letters stands in a text: near are those with the same letters."""
    return [[float(text.count(letter)) for letter in LETTERS] for text in texts]


async def letters_later(texts: list[str]) -> list[list[float]]:
    await asyncio.sleep(0)
    return letters(texts)


INDEX: IndexConfig = {"dims": len(LETTERS), "embed": letters, "fields": ["text"]}


class IndexPromises(StoreSuite):
    """A query finds what the index has, the nearest first; everything else is as without one."""

    @pytest.fixture
    def indexed(self, clock: FixedClock) -> Iterator[Store]:
        with self.make_indexed(clock, None, INDEX) as made:
            yield made

    def test_the_nearest_comes_first_with_its_score(self, indexed: Store) -> None:
        for key, text in (("far", "ccc"), ("near", "aab"), ("nearer", "aaaa"), ("apart", "bbd")):
            indexed.put(("n", key), key, {"text": text})
        found = indexed.search(("n",), query="a")
        assert [item.key for item in found] == ["nearer", "near", "apart", "far"]
        assert [item.score for item in found] == pytest.approx([1.0, 2 / math.sqrt(5), 0.0, 0.0], abs=1e-6)
        assert (found[0].value, found[0].namespace) == ({"text": "aaaa"}, ("n", "nearer"))
        assert [item.key for item in indexed.search((), query="a", limit=1, offset=1)] == ["near"]
        assert indexed.search((), query="a", limit=0) == []
        assert [item.score for item in indexed.search(("n",), query=" ")] == [None] * 4

    def test_the_equally_near_come_newest_write_first(self, indexed: Store) -> None:
        for key in "klmk":
            indexed.put(("n",), key, {"text": "ab"})
        assert [item.key for item in indexed.search((), query="b")] == ["k", "m", "l"]

    def test_a_put_says_what_of_it_is_embedded(self, indexed: Store) -> None:
        value: dict[str, Any] = {"text": "a", "more": {"parts": [{"t": "b"}, {"t": "c"}, {"t": None}]}}
        indexed.put(("n",), "as configured", value)
        indexed.put(("n",), "not at all", value, index=False)
        indexed.put(("n",), "elsewhere", value, index=["more.parts[*].t"])
        indexed.put(("n",), "nothing there", {"other": "a"})

        def scores(query: str) -> dict[str, float | None]:
            return {item.key: round(item.score or 0.0, 4) for item in indexed.search(("n",), query=query)}

        assert scores("a") == {"as configured": 1.0, "elsewhere": 0.0}
        # The nearest of an item's texts counts, not their mean.
        assert scores("c") == {"as configured": 0.0, "elsewhere": 1.0}
        assert len(indexed.search(("n",))) == 4
        assert indexed.get(("n",), "not at all") is not None
        with pytest.raises(ValidationError, match="path"):
            indexed.put(("n",), "wrong", value, index=["text", "more..parts"])
        assert indexed.get(("n",), "wrong") is None

    def test_what_was_put_before_is_not_found_by(self, indexed: Store) -> None:
        indexed.put(("n",), "changed", {"text": "a"})
        indexed.put(("n",), "changed", {"text": "b"})
        indexed.put(("n",), "bared", {"text": "a"})
        indexed.put(("n",), "bared", {"text": "a"}, index=False)
        indexed.put(("n",), "gone", {"text": "a"})
        indexed.delete(("n",), "gone")
        indexed.batch([PutOp(("n",), "twice", {"text": "a"}), PutOp(("n",), "twice", {"text": "bd"})])
        assert {item.key: round(item.score or 0, 3) for item in indexed.search((), query="b")} == {
            "changed": 1.0,
            "twice": round(1 / math.sqrt(2), 3),
        }
        indexed.put(("n",), "gone", {"text": "c"}, index=False)
        assert {item.key for item in indexed.search((), query="a")} == {"changed", "twice"}

    def test_a_filter_holds_for_the_near(self, indexed: Store) -> None:
        for n in range(6):
            indexed.put(("n",), f"k{n}", {"text": "a" * n + "b", "even": n % 2 == 0})
        found = indexed.search(("n",), query="a", filter={"even": True}, limit=2)
        assert [item.key for item in found] == ["k4", "k2"]
        assert indexed.search(("n",), query="a", filter={"even": 7}) == []

    def test_scopes_are_never_crossed_by_a_query(self, indexed: Store) -> None:
        other = indexed.scoped("acme")
        indexed.put(("n",), "k", {"text": "a"})
        assert other.search((), query="a") == []
        other.put(("n",), "k", {"text": "b"})
        assert [round(item.score or 0, 3) for item in indexed.search((), query="a")] == [1.0]

    @_QUIET
    @given(
        placed=st.lists(st.sampled_from([("a",), ("a", "b"), ("ab",), ("a.b",), ("a%", "b")]), max_size=5, unique=True),
        prefix=st.sampled_from([(), ("a",), ("a", "b"), ("a%",), ("ab",)]),
        texts=st.lists(st.text("abcd ", min_size=1, max_size=4), min_size=5, max_size=5),
    )
    def test_a_query_finds_what_a_search_finds(
        self, placed: list[tuple[str, ...]], prefix: tuple[str, ...], texts: list[str]
    ) -> None:
        """In the order of the cosines, as far as the items have a text."""
        with self.make_indexed(FixedClock(START), None, INDEX) as store:
            store.batch([PutOp(ns, "k", {"text": text}) for ns, text in zip(placed, texts, strict=False)])
            found = store.search(prefix, query="ab")
            listed = [item for item in store.search(prefix) if item.value["text"].strip()]
            assert sorted(item.namespace for item in found) == sorted(item.namespace for item in listed)
            expected = [_cosine(letters([item.value["text"]])[0], [1.0, 1.0, 0.0, 0.0]) for item in found]
            assert [item.score for item in found] == pytest.approx(expected, abs=1e-6)
            assert expected == sorted(expected, reverse=True) or sorted(expected, reverse=True) == pytest.approx(
                expected
            )

    def test_the_expired_is_not_found_and_the_found_live_on(self, clock: FixedClock) -> None:
        with self.make_indexed(clock, {"refresh_on_read": True}, INDEX) as store:
            store.put(("n",), "read", {"text": "a"}, ttl=1)
            store.put(("n",), "unread", {"text": "b"}, ttl=1)
            clock.advance(40)
            assert [item.key for item in store.search((), query="a", limit=1)] == ["read"]
            clock.advance(40)
            assert [item.key for item in store.search((), query="b")] == ["read"]
            assert store.sweep_ttl() == 1
            store.put(("n",), "unread", {"text": "c"}, index=False)
            assert [item.key for item in store.search((), query="b")] == ["read"]

    def test_a_batch_is_one_transaction_here_too(self, indexed: Store) -> None:
        indexed.put(("n",), "k", {"text": "a"})
        ops = [PutOp(("n",), "l", {"text": "a"}), SearchOp(("n",), query="a"), GetOp(("n",), "l")]
        found = indexed.batch(ops)[1]
        assert isinstance(found, list)
        assert [getattr(item, "key", None) for item in found] == ["k"]
        assert len(indexed.search((), query="a")) == 2

    @pytest.mark.parametrize(
        ("given", "why"),
        [
            ([[1.0]], "1 numbers"),
            ([], "0 vectors"),
            ([[1.0, 0, 0, 0]] * 2, "2 vectors"),
            ([[math.nan, 0, 0, 0]], "not finite"),
            (["abcd"], "no vector"),
            ([None], "no vector"),
        ],
        ids=["length", "none", "two", "nan", "text", "nothing"],
    )
    def test_vectors_that_cannot_be_are_refused_before_anything_is_written(
        self, clock: FixedClock, given: list[Any], why: str
    ) -> None:
        def embed(texts: list[str]) -> list[Any]:
            return given

        with self.make_indexed(clock, None, {**INDEX, "embed": embed}) as store:
            with pytest.raises(EmbeddingError, match=why):
                store.put(("n",), "k", {"text": "a"})
            assert store.search(()) == []
            with pytest.raises(EmbeddingError, match=why):
                store.search((), query="a")

    def test_what_the_embedder_raises_is_raised_and_nothing_written(self, clock: FixedClock) -> None:
        def fails(texts: list[str]) -> Any:
            raise ConnectionError("no model")

        with self.make_indexed(clock, None, {**INDEX, "embed": fails}) as store:
            with pytest.raises(ConnectionError, match="no model"):
                store.batch([PutOp(("n",), "plain", {"other": 1}), PutOp(("n",), "k", {"text": "a"})])
            assert store.search(()) == []
            store.put(("n",), "k", {"text": "a"}, index=False)

    async def test_the_forms_for_asyncio_await_an_async_embedder(self, clock: FixedClock) -> None:
        with self.make_indexed(clock, None, {**INDEX, "embed": letters_later}) as store:
            await store.aput(("n",), "k", {"text": "a"})
            await store.abatch([PutOp(("n",), "l", {"text": "ab"})])
            assert [item.key for item in await store.asearch((), query="a")] == ["k", "l"]
            assert await store.aget(("n",), "k") is not None
            for call in (lambda: store.put(("n",), "m", {"text": "a"}), lambda: store.search((), query="a")):
                with pytest.raises(ConfigurationError, match="aput, asearch"):
                    call()
            store.put(("n",), "plain", {"other": 1})

    async def test_the_forms_for_asyncio_take_a_plain_function_too(self, indexed: Store) -> None:
        await indexed.aput(("n",), "k", {"text": "a"})
        assert [item.score for item in await indexed.asearch((), query="a")] == pytest.approx([1.0])


def _cosine(one: list[float], two: list[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*two)
    return sum(a * b for a, b in zip(one, two, strict=True)) / lengths if lengths else 0.0
