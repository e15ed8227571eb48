"""Pure: the values of LangGraph's DeltaChannels, which it stores as what was written, added up by the graph's own reducers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lawful.compat.calling import unsayable
from lawful.compat.envelope import register_kept
from lawful.compat.planning import value_of
from lawful.compat.tables import StoredCheckpoint, StoredWrite
from lawful.core.codec import Registry
from lawful.graph.channel_forms import DeltaChannel
from lawful.graph.channels import MISSING
from lawful.graph.program import Program


def check_whole(row: StoredCheckpoint, where: str) -> None:
    """Raises: ValidationError, for a checkpoint that cannot be read without its graph."""
    deltas = row.metadata.get("counters_since_delta_snapshot") or ()
    lacking = [k for k in deltas if k not in row.checkpoint["channel_values"]]
    if lacking:
        raise unsayable(
            f"{where} keeps {lacking[0]!r} as deltas, of a DeltaChannel: name its graph, --graph module:name"
        )
    if "__end__" in row.checkpoint["channel_versions"]:
        raise unsayable(f"{where} is an entrypoint's: name it, --graph module:flow")


def summed(
    program: Program, row: StoredCheckpoint, base: Mapping[str, Any], writes: Sequence[StoredWrite], where: str
) -> dict[str, Any]:
    """By key, the value at a checkpoint: ``base`` is those of the one before it, ``writes`` what was written there.

    Raises: ValidationError, where a reducer fails.
    """
    channels = {k: c for k, c in program.channels.items() if isinstance(c, DeltaChannel)}
    if not channels:
        return {}
    here, stored = register_kept(program.registry.child()), row.checkpoint["channel_values"]
    made: dict[str, Any] = {}
    for key, channel in channels.items():
        if key in stored:
            made[key] = _real(program, here, value_of(key, stored[key]))
            continue
        given = [_real(program, here, w.value) for w in writes if w.channel == key]
        value = base.get(key, MISSING)
        value = channel.initial() if value is MISSING else value
        made[key] = _updated(channel, value, given, f"{where}, key {key!r}") if given else value
    return {key: value for key, value in made.items() if value is not MISSING}


def _real(program: Program, here: Registry, value: Any) -> Any:
    """A value as the graph's code knows it: langchain's messages are only held until then."""
    return program.registry.decode(here.encode(value))


def _updated(channel: DeltaChannel, value: Any, given: Sequence[Any], where: str) -> Any:
    try:
        return channel.update(value, given)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise unsayable(f"{where}: its reducer fails on what was written: {type(error).__name__}: {error}") from error
