"""Messages for a front end: none of LangGraph's names is here, each says what to use."""

from __future__ import annotations

from lawful.core.lazy import face

__getattr__, __dir__ = face(globals(), {})
