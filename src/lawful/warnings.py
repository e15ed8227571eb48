"""LangGraph's warnings: there are none here."""

from __future__ import annotations

from lawful.core.lazy import face

__getattr__, __dir__ = face(globals(), {})
