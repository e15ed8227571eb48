"""LangGraph's type variables: each name says what to do."""

from __future__ import annotations

from lawful.core.lazy import face

__getattr__, __dir__ = face(globals(), {})
