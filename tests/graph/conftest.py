"""Fixtures of the graph tests."""

from __future__ import annotations

from support.graph_fixtures import box, drive, journal, strict

__all__ = ["box", "drive", "journal", "strict"]
