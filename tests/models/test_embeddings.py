"""Embedders: one vector a text in order, batches, typed errors, and the SDKs against a server that speaks their wires."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.errors import EmbeddingError, ValidationError
from lawful.core.events import Usage
from lawful.core.llm_errors import ProviderFailed, RateLimited
from lawful.core.retry import RetryPolicy
from lawful.models import Embedder, Embeddings
from lawful.models.embedding import HashEmbedder
from support.wire_server import Answer, WireServer, plain, refusal

pytestmark = [pytest.mark.unit, pytest.mark.property, pytest.mark.integration]


class Counting(Embedder):
    """Gives each text its length, and counts what it was asked."""

    def __init__(self, batch: int = 2, lose: int = 0) -> None:
        self.provider, self.name, self.batch, self.lose = "test", "counting", batch, lose
        self.asked: list[list[str]] = []

    async def vectors(self, texts: Sequence[str]) -> Embeddings:
        self.asked.append(list(texts))
        made = [(float(len(text)),) for text in texts]
        return Embeddings(tuple(made[: len(made) - self.lose]), "m", Usage(len(texts)))


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=9), st.integers(1, 4))
async def test_every_text_gets_its_vector_in_order_whatever_the_batch(texts: list[str], batch: int) -> None:
    embedder = Counting(batch)
    found = await embedder.aembed(texts)
    assert [vector[0] for vector in found.vectors] == [len(text) for text in texts]
    assert max(map(len, embedder.asked)) <= batch
    assert (found.usage.prompt, found.model) == (len(texts), "m")


@pytest.mark.parametrize("texts", [[], "text", [""], ["a", " "], [1]])
def test_nothing_to_embed_is_refused_before_anything_is_sent(texts: Any) -> None:
    embedder = Counting()
    with pytest.raises(ValidationError):
        embedder.embed(texts)
    assert embedder.asked == []


def test_a_missing_vector_is_an_error() -> None:
    with pytest.raises(EmbeddingError, match="1 vectors for 2 texts"):
        Counting(lose=1).embed(["a", "b"])


def _near(one: Sequence[float], two: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, two, strict=True))


def test_hashed_words_are_near_where_words_are_shared() -> None:
    embedder = HashEmbedder()
    cat, cats, rain = embedder.embed(["the black cat sleeps", "a black cat", "rain over Lyon"]).vectors
    assert _near(cat, cats) > _near(cat, rain)
    assert math.isclose(_near(cat, cat), 1.0)
    assert embedder.embed_query("rain over Lyon") == rain
    assert len(rain) == embedder.dimensions
    assert all(map(math.isfinite, embedder.embed_query("!?")))


def _openai(url: str, **more: Any) -> Embedder:
    from lawful.models.embedders import OpenAIEmbedder

    return OpenAIEmbedder("e", base_url=f"{url}/v1", api_key="key-for-tests", retry=None, **more)


def _google(url: str, **more: Any) -> Embedder:
    from lawful.models.embedders import GeminiEmbedder

    return GeminiEmbedder("e", base_url=url, api_key="key-for-tests", retry=None, **more)


def _ollama(url: str, **more: Any) -> Embedder:
    from lawful.models.embedders import OllamaEmbedder

    return OllamaEmbedder("e", base_url=url, api_key="key-for-tests", retry=None, **more)


ANSWERS: dict[str, tuple[str, Any, Answer]] = {
    "openai": (
        "openai",
        _openai,
        plain(
            {
                "object": "list",
                "model": "e-1",
                "data": [
                    {"object": "embedding", "index": 1, "embedding": [3.0, 4.0]},
                    {"object": "embedding", "index": 0, "embedding": [1.0, 2.0]},
                ],
                "usage": {"prompt_tokens": 5, "total_tokens": 5},
            }
        ),
    ),
    "google": ("google.genai", _google, plain({"embeddings": [{"values": [1.0, 2.0]}, {"values": [3.0, 4.0]}]})),
    "ollama": (
        "ollama",
        _ollama,
        plain({"model": "e-1", "embeddings": [[1.0, 2.0], [3.0, 4.0]], "prompt_eval_count": 5}),
    ),
}


@pytest.mark.parametrize("provider", sorted(ANSWERS))
def test_each_provider_gives_vectors_and_typed_errors(provider: str) -> None:
    """Rows: S0-045."""
    package, make, good = ANSWERS[provider]
    pytest.importorskip(package)
    slow = refusal(429, {"error": {"message": "slow down key-for-tests"}}, retry_after="1")
    with WireServer(good, slow, refusal(500, {"error": {"message": "oops"}})) as server:
        with make(server.url) as embedder:
            found = embedder.embed(["one", "two"])
            assert found.vectors == ((1.0, 2.0), (3.0, 4.0))
            with pytest.raises(RateLimited) as limited:
                embedder.embed(["one"])
            with pytest.raises(ProviderFailed):
                embedder.embed(["one"])
            embedder.retry = RetryPolicy(initial_interval=0, jitter=False, max_attempts=2)
            server.answers += [refusal(500, {}), good]
            assert embedder.embed(["one", "two"]).vectors == found.vectors
        assert limited.value.details["retry_after"] == "1"
        assert "key-for-tests" not in str(limited.value.to_json())
        assert len(server.journal) == 5
