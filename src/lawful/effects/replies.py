"""How a call ended, as the fact that is written down."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, final

from lawful.core.errors import EffectConflicted, EffectRefused, Failure, ValidationError
from lawful.effects import states as st
from lawful.effects.contract import Intent
from lawful.effects.moves import Reply

_log = logging.getLogger("lawful.effects")


@final
@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    value: Any = None
    error: BaseException | None = None
    cause: str = ""
    """With no error: "timeout", "cancel", or "not_started" where it was cancelled before it began."""
    stop: bool = False
    """The worker is being torn down: settle, and do nothing more."""


def reply_of(intent: Intent[Any, Any], ended: Ended) -> Reply:
    """How a call ended, as a fact: only EffectRefused, or never having begun, says that nothing happened."""
    match ended:
        case Ended(error=EffectRefused() as error):
            code, said = error.details.get("code", error.code), redacted(intent, error.message)
            return Reply("refused", None, code, said, error.retryable)
        case Ended(error=EffectConflicted() as error):
            return Reply("conflict", None, error.code, redacted(intent, error.message))
        case Ended(error=BaseException() as error):
            said = error.message if isinstance(error, Failure) else str(error)
            cause = "timeout" if isinstance(error, TimeoutError) else "exception"
            told = redacted(intent, f"{type(error).__name__}: {said}")
            return Reply("lost", None, cause, told[:500].encode(errors="replace").decode())
        case Ended(cause="not_started"):
            return Reply("refused", None, "not_sent", "cancelled before it began", True)
        case Ended(cause="", value=value):
            return Reply("receipt", receipt_of(intent, value, "reply"))
        case _:
            return Reply("lost", None, ended.cause)


def redacted(intent: Intent[Any, Any], text: str) -> str:
    """``text`` without the values of the command's secrets."""
    command: Any = intent.command
    for name in intent.record.secrets:
        value = command.get(name) if isinstance(command, dict) else getattr(command, name, None)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if value is not None and str(value):  # pyright: ignore[reportUnknownArgumentType]
            text = text.replace(str(value), "***")  # pyright: ignore[reportUnknownArgumentType]
    return text


def receipt_of(intent: Intent[Any, Any], value: Any, source: Any) -> st.Receipt:
    """The receipt as it is written down; what cannot be is lost, never the fact that it happened."""
    effect = intent.effect
    try:
        kept = st.Receipt(effect.identify(value), source, effect.told_receipt(value))
    except ValidationError as error:
        _log.warning("%s happened, but its receipt cannot be kept: %s", intent.op_id, error.message)
        return st.Receipt("", source, None, True)
    try:
        effect.read_receipt(kept.value)
    except ValidationError as error:
        _log.warning("%s happened, but who asks for its receipt again will not get it: %s", intent.op_id, error.message)
    return kept
