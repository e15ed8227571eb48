"""When a chain of deltas is worth a snapshot: the geometric rule that bounds both the bytes kept and the bytes read."""

from __future__ import annotations

OVERHEAD = 128
"""Bytes that a row costs beside its delta."""
FLOOR = 512
"""What a row is charged at least: without it tiny or empty deltas would never add up, and chains would grow for ever."""
FACTOR = 2
"""A snapshot is written once the deltas since the last one weigh this many times what it weighs."""


def charge(delta_bytes: int) -> int:
    """What a delta of so many bytes adds to the weight of its chain; an empty delta is charged as well."""
    return max(FLOOR, delta_bytes + OVERHEAD)


def due(weight: int, snapshot_bytes: int) -> bool:
    """Whether to write a snapshot now.

    ``weight`` is the sum of `charge` since the last snapshot, this step's included; ``snapshot_bytes`` is what the snapshot
    would add to the store (values that are stored already, as chunks, add only their digest). So snapshots add at most
    half of what deltas are charged, and a checkpoint is rebuilt from at most about three times its own bytes.
    """
    return weight >= FACTOR * snapshot_bytes
