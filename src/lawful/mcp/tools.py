"""A server's tools as tools of ours: schemas untouched, effect classes from hints only where the server is trusted."""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from lawful.core.errors import EffectRefused, ToolError, ValidationError
from lawful.core.lazy import late
from lawful.effects.capability import Capability, Natural, Opaque, Promise, Seen, Unavailable
from lawful.effects.contract import EffectContext
from lawful.effects.effect import Effect
from lawful.mcp.content import answer_of, text_of
from lawful.mcp.lock import EffectClass
from lawful.mcp.owner import NotSent, Refused
from lawful.tools.definition import AnyTool, Tool
from lawful.tools.signature import Arguments
from lawful.tools.tainted import Tainted
from lawful.tools.traits import Traits

NAME = 64
"""Characters that every provider takes for a tool's name."""


class Calls(Protocol):
    """What a tool needs of its connection."""

    name: str
    timeout: float

    async def receipt(self, tool: str, arguments: Mapping[str, Any], effect: EffectClass) -> dict[str, Any]:
        """One call. Raises: NotSent, Refused, CallUnknown, ToolError."""
        ...


class ServerEffect(Effect[dict[str, Any], dict[str, Any]]):
    """A call of a server's tool that may change the world: claimed before it leaves, its answer kept.

    An answer that tells of an error is an answer. Where none came, an opaque tool is put to a person; one of which a
    repeat does no harm is called again.
    """

    capability: Promise | Capability = Opaque()

    def __init__(self, calls: Calls, tool: str, effect: EffectClass, version: str) -> None:
        self.tool = f"mcp.{calls.name}.{tool}"
        self.version = version
        self.capability = Natural() if effect == "idempotent" else Opaque()
        self.timeout = calls.timeout + 5.0
        self._calls = calls
        self._named = tool
        self._effect: EffectClass = effect

    def key(self, command: dict[str, Any]) -> str | None:
        """Of this place in the run."""
        return None

    async def perform(self, command: dict[str, Any], ctx: EffectContext) -> dict[str, Any]:
        """Call it. Raises: EffectRefused, where it surely was not done; CallUnknown."""
        ctx.before_send()
        try:
            return await self._calls.receipt(self._named, command, "opaque")
        except (NotSent, Refused) as error:
            raise EffectRefused(
                error.message, component=self.tool, details=error.details, retryable=isinstance(error, NotSent)
            ) from error

    async def lookup(self, command: dict[str, Any], ctx: EffectContext) -> Seen[dict[str, Any]]:
        """The protocol has no way to ask whether a call was carried out."""
        return Unavailable("MCP has no look-up")


@dataclass(frozen=True)
class ServerTool(Tool[..., Any]):
    """A server's tool; its arguments are held against the schema that the server gave."""

    original: str = ""
    """The name that the server knows it by."""

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Raises: ValidationError, which says what is wrong at which argument."""
        return valid(self.name, self.arguments.schema, given)


def class_of(listed: Mapping[str, Any], trusted: bool, declared: EffectClass | None) -> EffectClass:
    """The effect class: as declared; from the hints of a trusted server; else opaque, since anybody can claim anything."""
    if declared is not None:
        return declared
    hints: Mapping[str, Any] = listed.get("annotations") or {}
    if not trusted:
        return "opaque"
    if hints.get("readOnlyHint") is True:
        return "read"
    return "idempotent" if hints.get("idempotentHint") is True else "opaque"


def tool_of(calls: Calls, listed: Mapping[str, Any], effect: EffectClass, known: bool, version: str) -> AnyTool:
    """The tool, as the protocol lists it, for an agent. ``known``: somebody vouches for what it does."""
    original = str(listed["name"])
    schema: dict[str, Any] = copy.deepcopy(dict(listed["inputSchema"]))
    does = None if effect == "read" else ServerEffect(calls, original, effect, version)
    return ServerTool(
        name=safe_name(original),
        description=str(listed.get("description") or listed.get("title") or ""),
        arguments=Arguments(schema, tuple(schema.get("properties") or ()), {}, None),
        traits=Traits(
            ingests_external=True,
            sends_out=True,
            pure_read=effect == "read",
            effect=does is not None,
            declared=known,
        ),
        function=_calling(calls, original) if does is None else _performing(calls, does),
        version=version,
        effect=does,
        original=original,
    )


def _calling(calls: Calls, original: str) -> Callable[..., Awaitable[Any]]:
    async def call(**arguments: Any) -> Any:
        return _told(calls, await calls.receipt(original, arguments, "read"))

    return call


def _performing(calls: Calls, effect: ServerEffect) -> Callable[..., Awaitable[Any]]:
    async def call(**arguments: Any) -> Any:
        return _told(calls, await effect(arguments))

    return call


def _told(calls: Calls, receipt: dict[str, Any]) -> Tainted[Any]:
    """What the model is given, marked as written by outsiders. Raises: ToolError, where the server tells of an error."""
    raise_error(calls.name, receipt)
    return Tainted(answer_of(receipt).value, f"mcp:{calls.name}")


def raise_error(server: str, receipt: Mapping[str, Any]) -> None:
    """Raises: ToolError, with all that the server said, if the receipt tells of an error."""
    if not receipt["is_error"]:
        return
    text = text_of(receipt["content"]) or "the server gave no reason"
    raise ToolError(
        text, component=f"mcp:{server}", operation="call", details={"server": server, "outcome": "answered"}
    )


def safe_name(original: str) -> str:
    """The name as every provider takes it; one that had to be changed ends with a part of its digest."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", original)
    if plain == original and 0 < len(plain) <= NAME:
        return plain
    mark = hashlib.sha256(original.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{plain[: NAME - 7]}_{mark}"


# Arguments against a foreign schema


def valid(tool: str, schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, if they fit. References lead nowhere outside the schema, and its patterns are the server's own business:
    a regular expression from outside could take for ever.

    Raises: ValidationError.
    """
    try:
        found = next(iter(_checker(schema).iter_errors(dict(given))), None)
    except (late("jsonschema").SchemaError, late("referencing.exceptions").Unresolvable, RecursionError) as error:
        raise ValidationError(
            f"{tool}: its schema cannot be used: {type(error).__name__}", component=tool, operation="arguments"
        ) from error
    if found is not None:
        where = ".".join(str(step) for step in found.absolute_path)
        raise ValidationError(
            f"{tool} cannot take these arguments: {where + ': ' if where else ''}{found.message[:300]}",
            component=tool,
            operation="arguments",
            details={"argument": where},
        )
    return dict(given)


def _checker(schema: Mapping[str, Any]) -> Any:
    validators = late("jsonschema.validators", extra="mcp")
    base = validators.validator_for(schema, default=late("jsonschema").Draft202012Validator)
    own = base.VALIDATORS["additionalProperties"]

    def closed(validator: Any, value: Any, instance: Any, inside: Mapping[str, Any]) -> Any:
        return () if inside.get("patternProperties") else own(validator, value, instance, inside)

    def passed(validator: Any, value: Any, instance: Any, inside: Any) -> Any:
        return ()

    kind = validators.extend(
        base, {"pattern": passed, "patternProperties": passed, "format": passed, "additionalProperties": closed}
    )
    kind.check_schema(schema)
    return kind(schema, registry=late("referencing").Registry())
