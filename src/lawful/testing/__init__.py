"""What a program built on this library is tested with; needs the extra ``testing`` (hypothesis, pytest)."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.testing.laws import LawBroken as LawBroken
    from lawful.testing.laws import check_equations as check_equations
    from lawful.testing.laws import check_laws as check_laws
else:
    _TABLE = {
        "check_laws": "lawful.testing.laws",
        "check_equations": "lawful.testing.laws",
        "LawBroken": "lawful.testing.laws",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
