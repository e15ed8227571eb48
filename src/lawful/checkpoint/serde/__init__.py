"""Serializers of LangGraph's savers: stored values are the affair of registered codecs here."""

from __future__ import annotations

from lawful.core.lazy import face

__getattr__, __dir__ = face(globals(), {})
