"""The base of managed values."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.managed import Managed

    ManagedValue = Managed
else:
    _TABLE = {
        "ManagedValue": "lawful.graph.managed:Managed",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
