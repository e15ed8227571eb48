"""Texts become vectors by the same port, whoever makes them."""

from __future__ import annotations

from lawful.models import embedder

words = embedder("hash")
cat, cats, rain = words.embed(["the black cat sleeps", "a black cat", "rain over Lyon"]).vectors


def near(one: tuple[float, ...], two: tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(one, two, strict=True))


print(near(cat, cats) > near(cat, rain), len(cat))

# prints: True 256
