"""The names that graphs reserve."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.core.telling import NOSTREAM
    from lawful.graph.command import END as END
    from lawful.graph.command import START as START

    TAG_NOSTREAM = NOSTREAM
else:
    _TABLE = {
        "START": "lawful.graph.command",
        "END": "lawful.graph.command",
        "TAG_NOSTREAM": "lawful.core.telling:NOSTREAM",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
