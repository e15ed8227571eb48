"""The functional form, at the place where LangGraph has it."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.functional import entrypoint as entrypoint
    from lawful.graph.functional import task as task
else:
    _TABLE = {
        "entrypoint": "lawful.graph.functional",
        "task": "lawful.graph.functional",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
