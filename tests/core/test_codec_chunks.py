"""Large pieces are stored apart by their content, and a list that only grows stores only what is new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lawful.core import codec
from lawful.core.errors import CorruptRecord

pytestmark = pytest.mark.unit


class Store:
    """Chunks as a journal keeps them, with the bytes that each encoding added."""

    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}
        self.used: set[bytes] = set()
        self.added = 0

    def chunk(self, data: bytes) -> bytes:
        digest = codec.digest16(data)
        self.used.add(digest)
        if digest not in self.kept:
            self.added += len(data)
            self.kept[digest] = data
        return digest

    def encode(self, value: Any) -> bytes:
        self.used = set()
        self.added = 0
        return codec.encode(value, chunk=self.chunk)

    def decode(self, blob: bytes) -> Any:
        return codec.decode(blob, chunks=self.kept)


@pytest.mark.parametrize(
    "leaf", ["x" * 512, b"x" * 512, "\ud800" * 600, "é" * 4000], ids=["str", "bytes", "surrogates", "accents"]
)
def test_a_long_text_is_one_chunk_wherever_it_stands(leaf: Any) -> None:
    store = Store()
    blobs = [store.encode(value) for value in (leaf, [leaf], {"k": leaf}, {1: leaf}, (leaf, {"k": [leaf]}))]
    assert len(store.kept) == 1
    assert [store.decode(blob) for blob in blobs] == [leaf, [leaf], {"k": leaf}, {1: leaf}, (leaf, {"k": [leaf]})]
    assert max(map(len, blobs)) < 80


def test_short_pieces_stay_inline() -> None:
    store = Store()
    store.encode({"text": "x" * 500, "rows": [{"n": n} for n in range(50)]})
    assert store.kept == {}


def test_an_unchanged_part_is_stored_once() -> None:
    store = Store()
    state: dict[str, Any] = {"profile": {f"field{n}": n for n in range(100)}, "turn": 1}
    store.encode(state)
    store.encode({**state, "turn": 2})
    assert store.added == 0
    assert len(store.kept) == 1


def small_dict(n: int) -> Any:
    return {"role": "user", "content": f"message {n}", "id": n}


def integer(n: int) -> Any:
    return n * 7919


def short_text(n: int) -> Any:
    return f"{n:05}" * 90


def long_text(n: int) -> Any:
    return f"{n:06}" * 200


def small_tuple(n: int) -> Any:
    return (n, (n, "x"))


@pytest.mark.parametrize("top", [True, False], ids=["the list itself", "inside a dict"])
@pytest.mark.parametrize("row", [small_dict, integer, short_text, long_text, small_tuple])
@pytest.mark.parametrize("length", [300, 2000, 10_000])
def test_a_list_that_grows_stores_only_what_is_new(length: int, row: Callable[[int], Any], top: bool) -> None:
    store = Store()
    rows = [row(n) for n in range(length)]

    def shape(items: list[Any]) -> Any:
        return items if top else {"rows": items, "n": 1}

    blob = store.encode(shape(rows))
    whole = store.added + len(blob)
    for extra in range(length, length + 20):
        rows.append(row(extra))
        blob = store.encode(shape(rows))
        # The open groups of each level and the one row, whatever the length.
        assert store.added + len(blob) < 26_000
    assert store.decode(blob) == shape(rows)
    if whole > 400_000:
        assert len(blob) + store.added < whole / 12


def test_the_callback_sees_every_digest_that_reading_needs() -> None:
    store = Store()
    store.encode(["unrelated" * 100])
    blob = store.encode({"rows": [{"n": n, "text": "t" * 30} for n in range(30_000)], "big": ("x" * 600,)})
    needed = {digest: store.kept[digest] for digest in store.used}
    assert len(needed) < len(store.kept)
    assert codec.decode(blob, chunks=needed)["rows"][29_999] == {"n": 29_999, "text": "t" * 30}


def test_a_missing_chunk_is_a_corrupt_record_that_names_it() -> None:
    store = Store()
    blob = store.encode({"text": "x" * 600})
    (digest,) = store.kept
    with pytest.raises(CorruptRecord, match=digest.hex()) as caught:
        codec.decode(blob, where="key 'text'")
    assert caught.value.raw == blob
    assert "key 'text'" in caught.value.message


def test_chunks_that_refer_to_each_other_without_end_are_refused() -> None:
    looped = b"\xd8\x01" + b"A" * 16
    with pytest.raises(CorruptRecord, match="deep"):
        codec.decode(looped, chunks={b"A" * 16: looped})


def test_chunks_that_expand_without_bound_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lawful.core.codec_read.MAX_LOADED", 100_000)
    chunks: dict[bytes, bytes] = {b"%016d" % 0: b"\xc0" * 1}
    for level in range(1, 40):
        chunks[b"%016d" % level] = b"\x92" + (b"\xd8\x01" + b"%016d" % (level - 1)) * 2
    with pytest.raises(CorruptRecord, match="expand"):
        codec.decode(chunks[b"%016d" % 39], chunks=chunks)
