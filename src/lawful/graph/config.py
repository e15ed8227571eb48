"""The config of an invocation: LangGraph's dict, or keywords; checked once, at the edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from lawful.core.errors import ConfigurationError, nearest
from lawful.core.secret import names_secret
from lawful.journal.ids import thread_key

RECURSION_LIMIT: Final = 10_007
DURABILITY: Final = ("sync", "async", "exit")
_LIMITS = frozenset({"recursion_limit", "max_concurrency"})
_KNOWN = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map")


class Target:
    """What of a config names a place in a journal."""

    __slots__ = ("checkpoint", "ns", "parents", "thread")

    def __init__(self, thread: str | None, ns: str, checkpoint: str | None, parents: Mapping[str, str]) -> None:
        self.thread = thread
        self.ns = ns
        self.checkpoint = checkpoint
        self.parents = parents


def target_of(config: Any, thread: Any = None) -> Target:
    """The thread, namespace and checkpoint that ``config`` (a dict, or a bare thread id) names.

    Raises: InvalidThreadId, ConfigurationError.
    """
    if not config and thread is None and (config is None or type(config) is dict):
        return Target(None, "", None, {})
    if thread is None and type(config) is dict and _LIMITS.issuperset(cast("dict[str, Any]", config)):
        return Target(None, "", None, {})
    if config is not None and not isinstance(config, Mapping):
        thread, config = config, None
    told = cast("Mapping[str, Any]", config or {})
    misplaced = [k for k in _KNOWN if k in told]
    if misplaced:
        raise ConfigurationError(
            f"config[{misplaced[0]!r}] belongs inside config['configurable']", component="graph", operation="config"
        )
    held = cast("Any", told.get("configurable")) or cast("Any", {})
    if type(held) is not dict and not isinstance(held, Mapping):
        raise ConfigurationError(
            f"config['configurable'] must be a dict, got {type(held).__name__}", component="graph", operation="config"
        )
    inner = cast("Mapping[str, Any]", held)
    _check_form(told, inner)
    given = thread if thread is not None else inner.get("thread_id")
    key = thread_key(given) if given is not None else None
    checkpoint, ns = inner.get("checkpoint_id"), inner.get("checkpoint_ns") or ""
    if checkpoint is not None and not isinstance(checkpoint, str):
        raise _wrong("checkpoint_id", checkpoint)
    if not isinstance(ns, str):
        raise _wrong("checkpoint_ns", ns)
    return Target(key, ns, checkpoint, inner.get("checkpoint_map") or {})


def check_one_thread(config: Any, thread: Any) -> None:
    """Refuse a call whose keyword ``thread`` and whose config name two threads. Raises: ConfigurationError, naming both."""
    if thread is None or config is None:
        return
    if isinstance(config, Mapping):
        inner: Any = cast("Mapping[str, Any]", config).get("configurable")
        other = cast("Mapping[str, Any]", inner).get("thread_id") if isinstance(inner, Mapping) else None
    else:
        other = config
    if other is not None and thread_key(other) != thread_key(thread):
        raise ConfigurationError(
            f"the call names two threads: thread={thread!r}, and {other!r} in its config; say one of them",
            component="graph",
            operation="config",
            details={"thread": str(thread), "configurable": str(other)},
        )


def _check_form(told: Mapping[str, Any], inner: Mapping[Any, Any]) -> None:
    odd = next((k for k in inner if not isinstance(k, str)), None)
    if odd is not None:
        raise ConfigurationError(
            f"configurable has the key {odd!r}: keys are str", component="graph", operation="config"
        )
    calls: Any = told.get("callbacks")
    if calls is not None and not isinstance(calls, (list, tuple)) and not hasattr(calls, "handlers"):
        raise ConfigurationError(
            f"config['callbacks'] must be a list, got {type(calls).__name__}", component="graph", operation="config"
        )
    for name, kinds in (("metadata", Mapping), ("tags", (list, tuple))):
        if told.get(name) is not None and not isinstance(told[name], kinds):
            raise ConfigurationError(
                f"config[{name!r}] must be a {'dict' if kinds is Mapping else 'list'}, got {type(told[name]).__name__}",
                component="graph",
                operation="config",
            )


def _wrong(name: str, value: Any) -> ConfigurationError:
    return ConfigurationError(
        f"configurable[{name!r}] must be a str, got {type(value).__name__}", component="graph", operation="config"
    )


def recursion_limit(config: Mapping[str, Any], default: int | None = None) -> int:
    """Raises: ValueError (a ConfigurationError) for a limit below 1."""
    limit = config.get("recursion_limit", default or RECURSION_LIMIT)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise LimitError(f"recursion_limit must be at least 1, got {limit!r}", component="graph", operation="config")
    return limit


def concurrency(config: Mapping[str, Any], default: int | None = None) -> int | None:
    """How many tasks of a step may run at once, or None."""
    limit = config.get("max_concurrency", default)
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise LimitError(f"max_concurrency must be at least 1, got {limit!r}", component="graph", operation="config")
    return limit


class LimitError(ConfigurationError, ValueError):
    """A limit that no run could keep."""


def durability_of(given: str | None) -> str:
    """Raises: ConfigurationError for an unknown mode."""
    if given is None:
        return "sync"
    if given not in DURABILITY:
        raise ConfigurationError(
            f"Unknown durability {given!r}.{nearest(str(given), DURABILITY)}", component="graph", operation="config"
        )
    return given


def metadata_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """What checkpoints keep of a config: its metadata and the user's own scalar configurable values."""
    inner: Mapping[str, Any] = config.get("configurable") or {}
    kept = {k: v for k, v in inner.items() if not (k in _KNOWN or k[:1] == "_" or names_secret(k)) and _scalar(v)}
    told: Mapping[str, Any] = config.get("metadata") or {}
    return {**kept, **{k: v for k, v in told.items() if isinstance(k, str) and not k.startswith("_") and _scalar(v)}}  # pyright: ignore[reportUnnecessaryIsInstance]


def _scalar(value: Any) -> bool:
    return value is None or type(value) in (str, int, float, bool)


def names(given: Sequence[str] | str | None, default: tuple[str, ...]) -> frozenset[str]:
    """Breakpoints of one call, which replace the compiled ones."""
    if given is None:
        return frozenset(default)
    if not isinstance(given, (str, list, tuple, set, frozenset)):
        raise ConfigurationError(
            f"Breakpoints are names of nodes, got {given!r:.100}", component="graph", operation="config"
        )
    return frozenset((given,)) if isinstance(given, str) else frozenset(map(str, given))
