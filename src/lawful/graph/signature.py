"""What can be learnt of a user's function without calling it: its name, parameters, hints, and whether it is async."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import partial
from typing import Any, cast, get_type_hints

from msgspec import Struct

from lawful.core.lazy import late

_ASYNC = 0x80 | 0x200  # CO_COROUTINE and CO_ASYNC_GENERATOR
_GENERATOR = 0x20


class Parameter(Struct, frozen=True):
    """One parameter of a function."""

    name: str
    keyword_only: bool = False
    has_default: bool = False


def unwrap(fn: Any) -> Any:
    """The plain function, or the class, beneath partials, methods and callable objects."""
    while True:
        if isinstance(fn, partial):
            fn = fn.func
        elif isinstance(fn, types.MethodType):
            fn = fn.__func__
        elif isinstance(fn, (types.FunctionType, types.BuiltinFunctionType, type)):
            return fn
        else:
            inner = getattr(cast("Any", type(fn)), "__call__", None)  # noqa: B004 - the method itself is wanted
            if not isinstance(inner, types.FunctionType):
                return fn
            return inner


def is_async(fn: Any) -> bool:
    """Whether calling ``fn`` gives something to await."""
    code = getattr(unwrap(fn), "__code__", None)
    return bool(code is not None and code.co_flags & _ASYNC)


def is_generator(fn: Any) -> bool:
    """Whether calling ``fn`` gives a generator."""
    code = getattr(unwrap(fn), "__code__", None)
    return bool(code is not None and code.co_flags & (_GENERATOR | 0x200))


def name_of(fn: Any) -> str:
    """The callable's ``__name__`` (a partial's inner function's), else its class's name."""
    while isinstance(fn, partial):
        fn = fn.func
    found = getattr(fn, "__name__", None)
    return found if isinstance(found, str) else type(fn).__name__


def parameters(fn: Any) -> tuple[Parameter, ...]:
    """The parameters that a caller fills: bound and ``self`` ones left out; () where they cannot be learnt."""
    if isinstance(fn, types.FunctionType) and not hasattr(fn, "__wrapped__"):
        return _of_code(fn)
    try:
        signature = late("inspect").signature(fn)
    except (TypeError, ValueError):
        return ()
    wanted = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY")
    return tuple(
        Parameter(p.name, p.kind.name == "KEYWORD_ONLY", p.default is not p.empty)
        for p in signature.parameters.values()
        if p.kind.name in wanted
    )


def _of_code(fn: types.FunctionType) -> tuple[Parameter, ...]:
    code = fn.__code__
    n, k = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    defaults = len(fn.__defaults__ or ())
    plain = [Parameter(name, False, i >= n - defaults) for i, name in enumerate(names[:n])]
    only = [Parameter(name, True, name in (fn.__kwdefaults__ or {})) for name in names[n : n + k]]
    return (*plain, *only)


def hints(fn: Any) -> dict[str, Any]:
    """The function's type hints with ``Annotated`` kept; those that do not resolve are left out."""
    plain = unwrap(fn)
    if isinstance(plain, type):
        plain = plain.__init__
    raw = getattr(plain, "__annotations__", None)
    if not raw:
        return {}
    try:
        return get_type_hints(plain, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return _one_by_one(plain, raw)


def _one_by_one(plain: Any, raw: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, hint in raw.items():
        probe = types.SimpleNamespace(__annotations__={name: hint}, __globals__=getattr(plain, "__globals__", {}))
        try:
            found |= get_type_hints(probe, globalns=probe.__globals__, localns=_closure(plain), include_extras=True)
        except (NameError, TypeError, AttributeError):
            continue
    return found


def _closure(fn: Any) -> dict[str, Any]:
    code, cells = getattr(fn, "__code__", None), getattr(fn, "__closure__", None)
    if code is None or not cells:
        return {}
    known: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, cells, strict=False):
        try:
            known[name] = cell.cell_contents
        except ValueError:
            continue
    return known


def takes_nothing(fn: Any) -> bool:
    """Whether a plain function has no positional parameter at all."""
    if not isinstance(fn, types.FunctionType) or hasattr(fn, "__wrapped__"):
        return False
    return fn.__code__.co_argcount == 0 and not fn.__code__.co_flags & 0x04


def takes_two(fn: Callable[..., Any]) -> bool:
    """Whether ``fn`` can be called with two positional arguments; True where that cannot be learnt."""
    if isinstance(fn, types.FunctionType) and not hasattr(fn, "__wrapped__"):
        code = fn.__code__
        n, given = code.co_argcount, len(fn.__defaults__ or ())
        many = bool(code.co_flags & 0x04)
        return n - given <= 2 and (n >= 2 or many)
    try:
        signature = late("inspect").signature(fn)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(None, None)
    except TypeError:
        return False
    return True
