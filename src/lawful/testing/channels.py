"""What every channel owes the engine, as laws over its writes: so that a checkpoint can be rebuilt from the writes alone."""

from __future__ import annotations

import copy
import operator
from typing import Any

from hypothesis import strategies as st

from lawful.core.codec import default
from lawful.core.errors import Failure
from lawful.core.laws import Equal, Law
from lawful.graph.channels import MISSING, REDUCED, Channel
from lawful.testing.laws import check_equations


def channel_laws(channel: Channel, equal: Equal = operator.eq) -> tuple[Law, ...]:
    """The laws of a channel; arguments of sort "w" are lists of writes, each list one step's.

    - pure: an update changes neither what is stored nor the writes.
    - alike: the same writes give the same value, whenever they are folded.
    - batching, where it merges: two steps' writes in one step give what they give in two.
    - stored, where it is tracked: its value comes back equal from the codec.
    """

    def pure(writes: Any, more: Any) -> tuple[Any, Any]:
        stored = _folded(channel, [writes])
        before = (stored if stored is MISSING else copy.deepcopy(stored)), copy.deepcopy(more)
        _folded(channel, [more], stored)
        return (stored, more), before

    def alike(writes: Any, more: Any) -> tuple[Any, Any]:
        steps = copy.deepcopy([writes, more])
        return _folded(channel, [writes, more]), _folded(channel, steps)

    def batched(writes: Any, more: Any) -> tuple[Any, Any]:
        return _folded(channel, [[*writes, *more]]), _folded(channel, [writes, more])

    def stored(writes: Any) -> tuple[Any, Any]:
        value = _folded(channel, [writes])
        return (None, None) if value is MISSING else (default.decode(default.encode(value)), value)

    laws = [
        Law("pure", "update(s, w) leaves s and w as they were", ("w", "w"), pure, _pairwise(equal)),
        Law("alike", "folding w, then x gives the same each time", ("w", "w"), alike, equal),
    ]
    if channel.kind == REDUCED:
        laws.append(Law("batching", "update(s, w + x) == update(update(s, w), x)", ("w", "w"), batched, equal))
    if channel.tracked:
        laws.append(Law("stored", "decode(encode(s)) == s", ("w",), stored, equal))
    return tuple(laws)


def _folded(channel: Channel, steps: list[Any], stored: Any = None) -> Any:
    """What is stored after ``steps``, as the engine does it: writes that the channel refuses change nothing."""
    value = channel.initial() if stored is None else stored
    for writes in steps:
        if writes or channel.clears:
            try:
                value = channel.update(value, writes)
            except Failure:
                continue
    return value


def _pairwise(equal: Equal) -> Equal:
    return lambda one, other: all(equal(a, b) for a, b in zip(one, other, strict=True))


def check_channel(
    channel: Channel, writes: st.SearchStrategy[Any], *, equal: Equal = operator.eq, max_examples: int = 100
) -> None:
    """Check a channel of one's own on generated writes.

    Raises: LawBroken, which names the law and the smallest writes found.
    """
    steps = st.lists(writes, max_size=3)
    check_equations(repr(channel), channel_laws(channel, equal), {"w": steps}, max_examples=max_examples)
