"""The one sanctioned late import, and the module face whose names are imported when they are first asked for."""

from __future__ import annotations

import sys
from importlib import import_module

# A type checker reads this name as true; importing it from typing would cost more than all else here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def late(module: str, attr: str = "", *, extra: str = "") -> Any:
    """The module, or its attribute, imported now if it was not before.

    ``module`` and ``attr`` are literals of the calling code, never stored or received text.

    Raises: ConfigurationError, which says how to install it, if the module is missing and belongs to ``extra``;
    else ModuleNotFoundError.
    """
    known = sys.modules.get(module)
    if known is not None and not attr and not getattr(known.__spec__, "_initializing", False):
        return known  # what every run asks for, without all that import_module looks at
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if not extra or error.name != module.partition(".")[0]:
            raise
        raise import_module("lawful.core.errors").ConfigurationError(
            f'{module!r} is not installed: pip install "lawful[{extra}]"',
            component="import",
            operation=module,
            details={"module": module, "extra": extra},
            cause=error,
        ) from error
    return getattr(found, attr) if attr else found


def face(names: dict[str, Any], table: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A module's ``__getattr__`` and ``__dir__``: each name of ``table`` is imported from its module when first used.

    ``names`` is the ``globals()`` of the module; ``table`` maps a public name to the module that defines it, or to
    "module:attribute" where the two names differ, or to "module:" where the module itself is meant. A name once found is
    kept in ``names``, so that this costs nothing from then on.

    Raises (the functions returned): AttributeError, with the nearest valid name, for a name that is not in ``table``;
    ImportError, which says what to use, for one that LangGraph has there (`lawful.core.absent`).
    """
    own = str(names["__name__"])

    def __getattr__(name: str) -> Any:
        where = table.get(name)
        if where is None and not name.startswith("_") and (hint := late("lawful.core.absent", "instead")(own, name)):
            # Not an AttributeError: `from ... import` would put a text of its own in the place of the hint.
            raise ImportError(f"{own} has no {name}: {hint}", name=own)
        if where is None:
            # Python asks every module for dunder names that it need not have: no hint is worth its cost there.
            hint = "" if name.startswith("__") else late("lawful.core.failure", "nearest")(name, table)
            raise AttributeError(f"module {own!r} has no attribute {name!r}.{hint}", name=name)
        module, colon, attr = where.partition(":")
        value = late(module, attr or ("" if colon else name))
        names[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*names, *table})

    return __getattr__, __dir__
