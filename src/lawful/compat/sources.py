"""A node's source, read and never run: the keys it writes, where it goes, what it calls before it pauses."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias, TypeGuard

from msgspec import Struct

HARMLESS: Final = frozenset(
    {
        "abs", "all", "any", "bool", "bytes", "dict", "enumerate", "filter", "float", "format", "frozenset", "getattr",
        "hasattr", "hash", "id", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next",
        "ord", "print", "range", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "type", "zip", "cast",
        "interrupt", "Command", "Send", "deepcopy", "HumanMessage", "AIMessage", "SystemMessage", "ToolMessage",
    }
)  # fmt: skip
"""Functions that change nothing in the world."""
METHODS: Final = frozenset(
    {
        "get", "items", "keys", "values", "append", "extend", "copy", "join", "split", "strip", "format", "startswith",
        "endswith", "lower", "upper", "replace", "pop", "update", "add", "sort", "index", "count", "isoformat", "encode",
        "decode", "model_dump", "setdefault", "lstrip", "rstrip", "removeprefix", "removesuffix", "union", "title",
    }
)  # fmt: skip
"""Methods of plain values."""

LOGS: Final = frozenset({"critical", "debug", "error", "exception", "info", "log", "warning"})
"""Methods of whatever has "log" in its name."""


Keys: TypeAlias = dict[str, list[ast.expr | None]]
"""Local names that hold an update, and the keys that it has."""


class At(Struct, frozen=True):
    """A name in the source, and its line in the file."""

    name: str
    line: int


class Source(Struct, frozen=True):
    """What a function's source says of it."""

    file: str
    line: int
    written: tuple[At, ...]
    """Keys of the dicts that it returns, or gives to ``Command(update=...)``."""
    returned_names: tuple[At, ...]
    """Texts that it returns, as a route does."""
    gotos: tuple[At, ...]
    """Nodes that its commands and packets name."""
    calls: tuple[At, ...]
    """Calls that may do something to the world, in the order of their lines."""
    pause: int | None
    """The line of its first ``interrupt``."""


def source_of(fn: Callable[..., Any]) -> Source | None:
    """What the source of ``fn`` says; None where there is none to read (a lambda, a built-in, code made at run time)."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    plain = inspect.unwrap(fn)
    plain = getattr(plain, "__func__", plain)
    if not inspect.isfunction(plain):
        plain = vars(type(fn)).get("__call__")
    try:
        lines, first = inspect.getsourcelines(plain)  # pyright: ignore[reportArgumentType]
        file = inspect.getsourcefile(plain) or ""  # pyright: ignore[reportArgumentType]
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    found = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)), None)
    return _Reader(file, first, _constants(plain)).read(found) if found is not None else None


def _constants(fn: Any) -> dict[str, str]:
    """Global names that stand for texts, END above all."""
    return {name: value for name, value in getattr(fn, "__globals__", {}).items() if isinstance(value, str)}


class _Reader:
    def __init__(self, file: str, first: int, constants: dict[str, str]) -> None:
        self.file = file
        self.first = first
        self.constants = constants
        self.texts: dict[str, list[ast.expr]] = {}
        """Local names, and what is assigned to them."""

    def read(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Source:
        nodes = list(_own(function))
        local, self.texts = _dicts(nodes), _assigned(nodes)
        calls = sorted((at for node in nodes if isinstance(node, ast.Call) for at in self._call(node)), key=_line)
        pauses = [self._line(n) for n in nodes if isinstance(n, ast.Call) and _called(n) == "interrupt"]
        returns = [n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None]
        written = [at for value in returns for at in self._keys(value, local)]
        commands = [n for n in nodes if isinstance(n, ast.Call) and _called(n) == "Command" and not _leaves(n)]
        written += [at for n in commands for k in n.keywords if k.arg == "update" for at in self._keys(k.value, local)]
        gotos = [at for n in commands for k in n.keywords if k.arg == "goto" for at in self._names(k.value)]
        sends = [n for n in nodes if isinstance(n, ast.Call) and _called(n) == "Send" and n.args]
        gotos += [at for n in sends for at in self._names(n.args[0])]
        routes = tuple(at for value in returns for at in self._names(value))
        pause = min(pauses) if pauses else None
        return Source(self.file, self.first, tuple(written), routes, tuple(gotos), tuple(calls), pause)

    def _line(self, node: ast.AST) -> int:
        return self.first + getattr(node, "lineno", 1) - 1

    def _keys(self, value: ast.expr, local: Keys) -> Iterator[At]:
        """The literal keys of a dict that is an update."""
        match value:
            case ast.Dict():
                yield from self._texts(value.keys)
            case ast.Name(id=name):
                yield from self._texts(local.get(name, ()))
            case ast.IfExp():
                yield from self._keys(value.body, local)
                yield from self._keys(value.orelse, local)
            case ast.BinOp(op=ast.BitOr()):
                yield from self._keys(value.left, local)
                yield from self._keys(value.right, local)
            case ast.List() | ast.Tuple():
                yield from (at for each in value.elts if isinstance(each, ast.Dict) for at in self._texts(each.keys))
                yield from self._texts(each.elts[0] for each in value.elts if _is_pair(each))
            case ast.Call(func=ast.Name(id="dict")):
                yield from (At(k.arg, self._line(k)) for k in value.keywords if k.arg is not None)
            case _:
                return

    def _texts(self, keys: Iterable[ast.expr | None]) -> Iterator[At]:
        for key in keys:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield At(key.value, self._line(key))

    def _names(self, value: ast.expr) -> Iterator[At]:
        """The literal texts that an expression may be."""
        match value:
            case ast.Constant(value=str(text)):
                yield At(text, self._line(value))
            case ast.Name(id=name) if name in self.constants:
                yield At(self.constants[name], self._line(value))
            case ast.Name(id=name):
                for each in self.texts.pop(name, ()):
                    yield from self._names(each)
            case ast.IfExp():
                yield from self._names(value.body)
                yield from self._names(value.orelse)
            case ast.List() | ast.Tuple():
                for each in value.elts:
                    yield from self._names(each)
            case _:
                return

    def _call(self, node: ast.Call) -> Iterator[At]:
        name = _called(node)
        if name is None or name in HARMLESS:
            return
        if isinstance(node.func, ast.Attribute) and (name in METHODS or _is_log(node.func)):
            return
        yield At(ast.unparse(node.func), self._line(node))


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """Everything in a function but what is inside functions and classes of its own."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        yield node
        waiting = [*ast.iter_child_nodes(node), *waiting]


def _called(node: ast.Call) -> str | None:
    match node.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
        case _:
            return None


def _leaves(command: ast.Call) -> bool:
    """Whether it is for another graph than the node's own."""
    return any(
        k.arg == "graph" and not (isinstance(k.value, ast.Constant) and k.value.value is None) for k in command.keywords
    )


def _is_log(method: ast.Attribute) -> bool:
    return method.attr in LOGS and "log" in ast.unparse(method.value).lower()


def _is_pair(each: ast.expr) -> TypeGuard[ast.Tuple]:
    return isinstance(each, ast.Tuple) and len(each.elts) == 2


def _assigned(nodes: list[ast.AST]) -> dict[str, list[ast.expr]]:
    """Local names, with every expression that is assigned to them."""
    out: dict[str, list[ast.expr]] = {}
    for node in nodes:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        for target in targets:
            if isinstance(target, ast.Name) and value is not None:
                out.setdefault(target.id, []).append(value)
    return out


def _dicts(nodes: list[ast.AST]) -> Keys:
    """Local names that are given a dict, with its keys: those it is made with, and those that are set later."""
    out: Keys = {}
    for name, values in _assigned(nodes).items():
        for value in values:
            if isinstance(value, ast.Dict):
                out.setdefault(name, []).extend(value.keys)
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)]):
                out.setdefault(name, []).append(key)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.BitOr(), value=ast.Dict(keys=keys)):
                out.setdefault(name, []).extend(keys)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update"), args=[ast.Dict(keys=keys)]):
                out.setdefault(name, []).extend(keys)
            case _:
                continue
    return out


def _line(at: At) -> int:
    return at.line
