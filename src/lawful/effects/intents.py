"""`IntentRecord`: one intended effect as it is written down, and how operations get their ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct

from lawful.core.errors import ConfigurationError, ValidationError, nearest
from lawful.effects.capability import Capability
from lawful.effects.digests import digest

Risk: TypeAlias = Literal["low", "medium", "high"]
OnFork: TypeAlias = Literal["ask", "new", "forbid"]


class IntentRecord(Struct, frozen=True):
    """One intended external effect, as data: whoever has it may look at it, keep it and compare it, not perform it."""

    scope: str
    """The tenant."""
    op_id: str
    tool: str
    tool_version: str
    args: Any
    """The command as JSON."""
    args_hash: str
    idempotency_key: str
    """The same over all attempts; at most 255 characters."""
    capability: Capability
    revision: str | None = None
    """Hash of the thing acted on."""
    key: str = ""
    """The business key, if any."""
    policy: str = ""
    policy_hash: str = ""
    risk: Risk = "medium"
    once_per_key: bool = False
    """Another lineage that plans the same operation takes part in it instead of being refused."""
    lineage: str = ""
    """The thread that this work descends from; "" outside a run."""
    thread: str = ""
    step_key: str = ""
    occurrence: int = 0
    run: str = ""
    requester: str = ""
    """A principal's id, where the host named one."""
    compensates: str | None = None
    max_attempts: int = 5
    send_budget: float = 10.0
    """Seconds from a claim within which the request must leave."""
    timeout: float = 20.0
    """Seconds that one call may take."""
    labels: Mapping[str, Any] = {}
    """JSON scalars by name: what aggregates sum up and compare."""
    secrets: tuple[str, ...] = ()
    """Arguments that ``args`` does not hold; their digest alone is part of ``args_hash``."""
    forked_from: str | None = None
    """The operation that the same place of the program planned with other arguments."""


def business_id(tool: str, key: str) -> str:
    """The operation id of a business key: readable where it is short.

    Raises: ValidationError for an empty key or one with control characters or lone surrogates.
    """
    given: Any = key
    if not isinstance(given, str) or not key or not key.isprintable():
        raise ValidationError(
            f"the key of effect {tool!r} must be printable text that is not empty, not {key!r}",
            component=tool,
            operation="plan",
        )
    plain = f"{tool.replace('%', '%25').replace(':', '%3A')}:{key}"  # the first colon ends the tool's name
    return plain if len(plain) <= 200 else f"{tool[:100]}:{digest('key', [tool, key])}"


def scalars(labels: Mapping[str, Any], tool: str) -> Mapping[str, Any]:
    """``labels`` as records keep them. Raises: ValidationError for a value that is no JSON scalar."""
    for name, value in labels.items():
        if not isinstance(value, (str, int, float, bool, type(None))):
            raise ValidationError(
                f"label {name!r} of effect {tool!r} is text, a number, a boolean or None, not {value!r:.100}",
                component=tool,
                operation="plan",
            )
    return labels


def without(args: Any, secrets: tuple[str, ...], tool: str) -> Any:
    """``args`` as records keep them: secrets left out. Raises: ConfigurationError for a secret that is no argument."""
    if not secrets:
        return args
    told = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
    for name in secrets:
        if name not in told:
            raise ConfigurationError(
                f"effect {tool!r} has no argument {name!r} to keep secret.{nearest(name, told)}",
                component=tool,
                operation="plan",
            )
    return {name: value for name, value in told.items() if name not in secrets}


def derived_id(scope: str, lineage: str, tool: str, step_key: str, occurrence: int, name: str) -> str:
    """The operation id of an effect without a key: equal over retries, resumes and forks, new in each loop turn."""
    return f"{tool[:100]}:{digest('operation', [scope, lineage, tool, step_key, occurrence, name])[:32]}"


def idempotency_key(scope: str, op_id: str) -> str:
    """What the provider is given to recognise a repeat: 64 hex digits."""
    return digest("idempotency", [scope, op_id])
