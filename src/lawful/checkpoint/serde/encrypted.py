"""Encryption of LangGraph's savers: the name says what does the same here."""

from __future__ import annotations

from lawful.core.lazy import face

__getattr__, __dir__ = face(globals(), {})
