"""How a filter is asked of a table of fields in SQL: names and values are always bound, never text of the query."""

from __future__ import annotations

from typing import Any, Final, assert_never

from lawful.rag.documents import Scalar
from lawful.rag.filters import All, Compare, Either, Filter, Has, Not, OneOf, kind

_ORDERS: Final = {"==": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_COLUMN: Final = {"b": "flag", "n": "num", "s": "txt"}


def condition(filter: Filter, row: str, table: str, mark: str = "?", ids: str = "item") -> tuple[str, list[Any]]:
    """The filter as a condition on the row whose key is the expression ``row``, and its values in order.

    ``table`` has a line for each field of each row: the row's key in the column ``ids``, ``name``, and the value in one of
    ``txt``, ``num`` and ``flag``. ``row``, ``table`` and ``ids`` are literals of the calling code.
    """
    found: list[Any] = []

    def has(name: str, more: str) -> str:
        found.insert(len(found) - more.count(mark), name)
        return f"EXISTS (SELECT 1 FROM {table} f WHERE f.{ids} = {row} AND f.name = {mark}{more})"

    def told(one: Filter) -> str:
        match one:
            case Compare(name, order, value):
                found.append(_bound(value))
                return has(name, f" AND f.{_COLUMN[kind(value)]} {_ORDERS[order]} {mark}")
            case OneOf(name, values):
                by_kind = {each: [value for value in values if kind(value) == each] for each in _COLUMN}
                lists: list[str] = []
                for each, same in by_kind.items():
                    found.extend(map(_bound, same))
                    lists += [f"f.{_COLUMN[each]} IN ({', '.join([mark] * len(same))})"] if same else []
                return has(name, f" AND ({' OR '.join(lists)})") if lists else "(1 = 0)"
            case Has(name):
                return has(name, "")
            case All(parts):
                return _joined("AND", [told(part) for part in parts]) if parts else "(1 = 1)"
            case Either(parts):
                return _joined("OR", [told(part) for part in parts]) if parts else "(1 = 0)"
            case Not(part):
                return f"NOT {told(part)}"
            case _:
                assert_never(one)

    return told(filter), found


def _joined(word: str, parts: list[str]) -> str:
    # In halves: SQLite takes a chain for a tree as deep as the chain is long, and 1000 levels at most.
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_joined(word, parts[:half])} {word} {_joined(word, parts[half:])})"


def columns(value: Scalar) -> tuple[str | None, float | None, int | None]:
    """A value as the columns ``txt``, ``num``, ``flag`` keep it."""
    match kind(value):
        case "b":
            return None, None, int(value)
        case "n":
            return None, _number(value), None
        case "s":
            return str(value), None, None


def _bound(value: Scalar) -> Any:
    return int(value) if isinstance(value, bool) else _number(value) if kind(value) == "n" else value


def _number(value: Any) -> Any:
    # Up to 2**53 a double holds every integer, so that 1 and 1.0 are one number in every store.
    return float(value)
