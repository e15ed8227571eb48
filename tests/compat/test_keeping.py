"""Whatever LangGraph puts, from whatever parent, is given back as it was, however little of it was stored."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.compat.keeping import Keeper
from lawful.core.codec import default
from lawful.journal.ids import new_id
from lawful.journal.memory import MemoryJournal

pytestmark = pytest.mark.property

ITEMS = st.one_of(st.integers(0, 3), st.text(max_size=3), st.sampled_from(["x" * 600, "y" * 600]))
CHANGES = st.one_of(
    st.tuples(st.just("append"), st.lists(ITEMS, max_size=3)),
    st.tuples(
        st.just("set"), st.one_of(st.lists(ITEMS, max_size=3), ITEMS, st.dictionaries(st.text(max_size=2), ITEMS))
    ),
    st.tuples(st.just("drop"), st.none()),
)
STEPS = st.lists(
    st.tuples(st.integers(0, 20), st.dictionaries(st.sampled_from("abc"), CHANGES), st.booleans()),
    min_size=1,
    max_size=12,
)


def changed(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    out = dict(values)
    for key, (how, what) in changes.items():
        if how == "drop":
            out.pop(key, None)
        elif how == "append" and isinstance(out.get(key), list):
            out[key] = [*out[key], *what]
        else:
            out[key] = what
    return out


@given(STEPS)
def test_every_checkpoint_is_read_back_as_it_was_put(steps: list[tuple[int, dict[str, Any], bool]]) -> None:
    journal = MemoryJournal()
    keeper = Keeper(journal, default.child())
    put: list[dict[str, Any]] = []
    last: str | None = None
    for n, (at, changes, afresh) in enumerate(steps):
        parent = put[at % len(put)] if put else None
        if afresh:
            keeper = Keeper(journal, default.child())  # another process
        values = changed(parent["channel_values"] if parent else {}, changes)
        before: dict[str, Any] = parent["channel_versions"] if parent else {}
        last = new_id(float(n), last)
        checkpoint: dict[str, Any] = {
            "v": 4,
            "id": last,
            "ts": "2024-05-01T00:00:00+00:00",
            "channel_values": values,
            "channel_versions": {**before, **dict.fromkeys(changes, n + 1)},
            "versions_seen": {},
            "updated_channels": None,
        }
        keeper.put("t", "", parent["id"] if parent else None, checkpoint, {"source": "loop", "step": n})
        put.append(checkpoint)
    for checkpoint in put:
        found = keeper.get("t", "", checkpoint["id"])
        assert found is not None
        assert found.checkpoint == checkpoint
    assert [each.id for each in keeper.list("t", None)] == [each["id"] for each in reversed(put)]
