"""Protocols of LangGraph's engine: none is here, each name says what to use."""

from __future__ import annotations

from lawful.core.lazy import face

__getattr__, __dir__ = face(globals(), {})
