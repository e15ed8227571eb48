"""What every store refuses before it reads or writes, so that all back ends refuse the same; and the form of values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn, cast
from uuid import UUID

from lawful.core.canonical import canonical
from lawful.core.errors import (
    ConfigurationError,
    CorruptRecord,
    InvalidFilter,
    InvalidNamespace,
    StoreError,
    ValidationError,
    nearest,
)
from lawful.stores.store_match import OPERATORS
from lawful.stores.store_records import (
    ANY,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Namespace,
    PutOp,
    Record,
    SearchOp,
    TTLConfig,
)

_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TTL_KEYS = ("refresh_on_read", "default_ttl", "sweep_interval_minutes", "omit_expired")
_SIDES = ("prefix", "suffix")


def refuse(message: str, what: str) -> ValidationError:
    return ValidationError(message, component="store", operation=what)


def closed() -> StoreError:
    return StoreError("this store is closed", component="store", operation="closed")


def corrupt(namespace: object, key: object, raw: bytes) -> CorruptRecord:
    error = CorruptRecord(
        f"the stored item {key!a} of namespace {namespace!a} is damaged",
        component="store",
        operation="read",
        details={"namespace": ascii(namespace), "key": ascii(key)},
    )
    error.raw = raw
    return error


def no_index(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"{what} needs a vector index, and this store has none: make the store with index=, or filter by fields",
        component="store",
        operation=what,
    )


def _unkeepable(text: str) -> str:
    """Why no database could keep ``text``, or nothing."""
    if "\x00" in text:
        return "holds a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds a lone surrogate"
    return "" if text else "is empty"


def checked_scope(scope: object) -> str:
    if not isinstance(scope, str) or _unkeepable(scope):
        why = _unkeepable(scope) if isinstance(scope, str) else f"is a {type(scope).__name__}, not a str"
        raise refuse(f"the scope {scope!a} {why}", "scoped")
    return scope


def checked_key(key: object) -> str:
    """The key as text; an int or a UUID becomes its text, as a thread id does."""
    if isinstance(key, UUID) or (isinstance(key, int) and not isinstance(key, bool)):
        return str(key)
    if not isinstance(key, str):
        raise refuse(f"a key must be a str, not {type(key).__name__}: {key!a}", "key")
    if why := _unkeepable(key):
        raise refuse(f"the key {key!a} {why}", "key")
    return key


def checked_namespace(namespace: object) -> Namespace:
    """The namespace of an item: at least one label. Raises: InvalidNamespace."""
    found = checked_prefix(namespace)
    if not found:
        raise _no_namespace(namespace, "is empty: an item's namespace has at least one label")
    return found


def checked_prefix(namespace: object) -> Namespace:
    """A tuple of labels, which may be empty. Raises: InvalidNamespace."""
    if not isinstance(namespace, tuple):
        hint = f"; did you mean ({namespace!a},)?" if isinstance(namespace, str) else ""
        raise _no_namespace(namespace, f"must be a tuple of str, not {type(namespace).__name__}{hint}")
    labels = cast("tuple[object, ...]", namespace)
    for label in labels:
        _check_label(labels, label)
    return cast("Namespace", labels)


def _check_label(namespace: object, label: object) -> None:
    if label is ANY:
        raise _no_namespace(namespace, "holds ANY, which only list_namespaces understands")
    if not isinstance(label, str):
        raise _no_namespace(namespace, f"has a label that is a {type(label).__name__}, not a str: {label!a}")
    if why := _unkeepable(label):
        raise _no_namespace(namespace, f"has the label {label!a}, which {why}")


def _no_namespace(namespace: object, why: str) -> InvalidNamespace:
    return InvalidNamespace(
        f"the namespace {namespace!a} {why}",
        component="store",
        operation="namespace",
        details={"namespace": ascii(namespace)},
    )


def _check_condition(condition: MatchCondition) -> None:
    if condition.match_type not in _SIDES:
        hint = nearest(str(condition.match_type), _SIDES)
        raise refuse(f"a namespace cannot be matched by {condition.match_type!a}.{hint}", "list_namespaces")
    if not isinstance(condition.path, tuple):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _no_namespace(condition.path, "must be a tuple of labels")
    for label in condition.path:
        if label is not ANY:
            _check_label(condition.path, label)


def checked_op(op: object) -> None:
    """Refuse an operation that no back end could do. Raises: ValidationError, InvalidNamespace, InvalidFilter, and others."""
    match op:
        case GetOp():
            checked_namespace(op.namespace)
            checked_key(op.key)
        case PutOp():
            checked_namespace(op.namespace)
            checked_key(op.key)
            minutes(op.ttl)
        case SearchOp():
            checked_prefix(op.namespace_prefix)
            check_filter(op.filter)
            checked_bounds(op.limit, op.offset)
            if op.query is not None and not isinstance(op.query, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise refuse(f"a query must be a str, not {type(op.query).__name__}", "search")
        case ListNamespacesOp():
            for condition in op.match_conditions or ():
                _check_condition(condition)
            checked_bounds(op.limit, op.offset)
            if op.max_depth is not None and not _whole(op.max_depth, 1):
                raise refuse(f"max_depth must be an int of at least 1, not {op.max_depth!a}", "list_namespaces")
        case _:
            raise refuse(f"a batch is made of GetOp, PutOp, SearchOp and ListNamespacesOp, not {op!a}", "batch")


def checked_bounds(limit: object, offset: object) -> None:
    for name, bound in (("limit", limit), ("offset", offset)):
        if not _whole(bound, 0):
            raise refuse(f"{name} must be an int of at least 0, not {bound!a}", name)


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 1 << 62


def minutes(ttl: object) -> float | None:
    """A time to live in minutes, None for ever. Raises: ValidationError, unless it is positive and finite."""
    if ttl is None:
        return None
    if isinstance(ttl, int | float) and not isinstance(ttl, bool) and 0 < ttl < 1e12:
        return float(ttl)
    raise refuse(f"ttl must be a positive number of minutes or None, not {ttl!a}", "ttl")


def checked_ttl_config(config: TTLConfig | None) -> TTLConfig | None:
    """A copy of the configuration. Raises: ConfigurationError, for a key or value that it must not have."""
    if config is None:
        return None
    for key, value in config.items():
        if key not in _TTL_KEYS:
            raise _no_ttl(f"the store's ttl has no {key!a}.{nearest(str(key), _TTL_KEYS)}", str(key))
        timed = key in ("default_ttl", "sweep_interval_minutes")
        if not timed and not isinstance(value, bool):
            raise _no_ttl(f"ttl[{key!r}] must be a bool, not {value!a}", key)
        if timed:
            try:
                minutes(value)
            except ValidationError as error:
                raise _no_ttl(f"ttl[{key!r}]: {error.message}", key) from error
    if config.get("omit_expired") is False:
        raise _no_ttl("omit_expired=False is not possible: an item that has expired is never shown", "omit_expired")
    return config.copy()


def _no_ttl(message: str, key: str) -> ConfigurationError:
    return ConfigurationError(message, component="store", operation="ttl", details={"key": key})


# Filters.


def check_filter(filter: object) -> None:
    """Refuse a filter unless its fields are identifiers, its operators known, its operands scalars. Raises: InvalidFilter."""
    if filter is None:
        return
    if not isinstance(filter, Mapping):
        _no_filter(f"a filter maps fields to what they must be; this is a {type(filter).__name__}", "")
    for field, wanted in cast("Mapping[object, object]", filter).items():
        if not isinstance(field, str) or _FIELD.fullmatch(field) is None:
            _no_filter(f"a filter's field must be an identifier, not {field!a}; paths into a field are not read", field)
        if isinstance(wanted, Mapping):
            _check_operators(field, cast("Mapping[object, object]", wanted))
        else:
            _check_operand(field, wanted)


def _check_operators(field: str, tests: Mapping[object, object]) -> None:
    if not tests:
        _no_filter(f"the filter on {field!r} names no operator.{nearest('', OPERATORS)}", field)
    for operator, operand in tests.items():
        if operator not in OPERATORS:
            hint = nearest(operator, OPERATORS) if isinstance(operator, str) else ""
            _no_filter(f"the filter on {field!r} has the unknown operator {operator!a}.{hint}", field)
        _check_operand(field, operand)
        if operator not in ("$eq", "$ne") and (operand is None or isinstance(operand, bool)):
            _no_filter(f"{operator} on {field!r} orders numbers or text, not {operand!r}", field)


def _check_operand(field: str, operand: object) -> None:
    if type(operand) not in (str, int, float, bool, type(None)):
        _no_filter(f"the filter on {field!r} compares with a JSON scalar, not with a {type(operand).__name__}", field)
    if isinstance(operand, float) and not math.isfinite(operand):
        _no_filter(f"the filter on {field!r} compares with {operand}, which JSON cannot say", field)


def _no_filter(message: str, field: object) -> NoReturn:
    raise InvalidFilter(message, component="store", operation="filter", details={"field": ascii(field)})


# Values.


def encoded(value: object, key: object) -> bytes | None:
    """Canonical JSON of an item's value; None, which deletes, for None. Raises: ValidationError, with the path."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise refuse(f"the value of {key!a} must be a dict, not a {type(value).__name__}", "put")
    try:
        return canonical(dict(cast("Mapping[str, Any]", value)))
    except ValueError as error:
        raise refuse(f"the value of {key!a} holds a number that has no JSON text: {error}", "put") from error


def decoded(record: Record) -> dict[str, Any]:
    """The value of a stored record. Raises: CorruptRecord, which carries the bytes."""
    try:
        found = json.loads(record.value.decode("ascii"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise corrupt(record.namespace, record.key, record.value) from error
    if not isinstance(found, dict):
        raise corrupt(record.namespace, record.key, record.value)
    return cast("dict[str, Any]", found)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(text)
