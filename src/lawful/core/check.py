"""`compile_check`: whether a value is of an annotated type, compiled once per annotation and without any coercion."""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Any, Union, final, get_args, get_origin

from lawful.core.check_types import Compiler, Miss, Test, told
from lawful.core.errors import ConfigurationError


@final
class Check:
    """The compiled check of one annotation: call it with a value."""

    __slots__ = ("_test", "always", "annotation", "fast", "quick", "where")

    def __init__(
        self,
        annotation: Any,
        where: str,
        test: Test | None,
        fast: tuple[type, ...],
        quick: Callable[[Any], bool] | None = None,
    ) -> None:
        self.annotation = annotation
        self.where = where
        self.fast = fast
        """The types for which ``type(value) is t`` is the whole check."""
        self.always = test is None
        """Every value passes."""
        self.quick = quick
        """If it is True of a value, the value passes; a cheap look before the whole check."""
        self._test = test

    def __call__(self, value: Any) -> str | None:
        """None if ``value`` fits; else where it does not and why, as "items[3].name: expected int, got str 'x'"."""
        if self._test is None or type(value) in self.fast:
            return None
        try:
            miss: Miss | None = self._test(value)
        except RecursionError:
            miss = "", "is nested too deeply, or contains itself"
        if miss is None:
            return None
        path, why = miss
        place = (self.where + path).removeprefix("." if not self.where else "")
        return f"{place}: {why}" if place else why

    def __repr__(self) -> str:
        return f"Check({told(self.annotation)}, where={self.where!r})"


def compile_check(annotation: Any, *, where: str = "") -> Check:
    """The check for values of ``annotation``, whose forward references the caller has resolved.

    bool does not pass for int; int passes for float, and list for tuple; nothing is converted. Classes are checked by
    isinstance, and dataclasses, NamedTuples and TypedDicts field by field; constraints that pydantic knows
    (``Annotated[int, Field(gt=0)]``) by pydantic in strict mode.

    Raises: ConfigurationError, which names ``where``, for what is no type.
    """
    try:
        test, fast = Compiler().compile(annotation)
    except TypeError as error:
        place = f"{where}: " if where else ""
        raise ConfigurationError(
            f"{place}{told(annotation)} cannot be checked: {error}",
            component="check",
            operation="compile",
            details={"where": where},
            cause=error,
        ) from error
    return Check(annotation, where, test, tuple(sorted(fast, key=_by_name)), _quick_list(annotation))


def _quick_list(annotation: Any) -> Callable[[Any], bool] | None:
    """For a list of elements told by their exact types, or a union with one: whether the value is such a list."""
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if origin is Union or origin is UnionType:
        return next((quick for member in arguments if (quick := _quick_list(member)) is not None), None)
    if origin is not list or len(arguments) != 1:
        return None
    _, fast = Compiler().compile(arguments[0])
    if not fast:
        return None
    covers = fast.issuperset
    return lambda value: type(value) is list and covers(map(type, value))  # pyright: ignore[reportUnknownArgumentType]


def _by_name(cls: type) -> str:
    return cls.__qualname__
