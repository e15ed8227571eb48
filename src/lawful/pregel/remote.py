"""Graphs on LangGraph's platform: none is here, each name says so."""

from __future__ import annotations

from lawful.core.lazy import face

__getattr__, __dir__ = face(globals(), {})
