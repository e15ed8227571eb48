"""Pure: which values answer to a filter, which namespaces to a condition; both are data, and are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, cast

from lawful.stores.store_records import ANY, MatchCondition, Namespace

OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")


def accepts(filter: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    """Whether ``value`` answers to a filter that has been checked."""
    for field, wanted in filter.items():
        found = value.get(field)
        tests = cast("Mapping[str, Any]", wanted) if isinstance(wanted, Mapping) else {"$eq": wanted}
        if not all(holds(operator, found, operand) for operator, operand in tests.items()):
            return False
    return True


def holds(operator: str, found: Any, operand: Any) -> bool:
    """Whether ``found`` is to the scalar ``operand`` as ``operator`` says."""
    if operator == "$eq":
        return same(found, operand)
    if operator == "$ne":
        return not same(found, operand)
    if not (_number(found) and _number(operand)) and not (isinstance(found, str) and isinstance(operand, str)):
        return False
    if operator == "$gt":
        return found > operand
    if operator == "$gte":
        return found >= operand
    return found < operand if operator == "$lt" else found <= operand


def same(found: Any, wanted: Any) -> bool:
    """Equality of JSON scalars: 1 is 1.0 but not true."""
    return found == wanted and (type(found) is bool) == (type(wanted) is bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def accepts_namespace(condition: MatchCondition, namespace: Namespace) -> bool:
    """Whether the namespace begins or ends as the condition says, label by label."""
    path, length = condition.path, len(condition.path)
    if length > len(namespace):
        return False
    part = namespace[:length] if condition.match_type == "prefix" else namespace[len(namespace) - length :]
    return all(wanted is ANY or wanted == label for wanted, label in zip(path, part, strict=True))


def literal_start(condition: MatchCondition) -> Namespace:
    """The labels that every namespace begins with that the condition accepts."""
    if condition.match_type != "prefix":
        return ()
    return tuple(label for label in takewhile(lambda label: label is not ANY, condition.path) if isinstance(label, str))


def cut(namespaces: Sequence[Namespace], depth: int | None) -> list[Namespace]:
    """The namespaces, which are in order, with at most ``depth`` labels, each once and still in order."""
    return list(namespaces) if depth is None else list(dict.fromkeys(ns[:depth] for ns in namespaces))
