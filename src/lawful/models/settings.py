"""The settings that every model understands; each provider's own class adds what only that provider has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from lawful.core.errors import ConfigurationError, nearest


class ModelConfig(Struct, frozen=True, kw_only=True):
    """How a model should answer. None: as the provider does by itself."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    """Tokens that the answer may have."""
    stop: tuple[str, ...] = ()
    """Texts at which the answer ends."""
    seed: int | None = None
    timeout: float | None = None
    """Seconds for the whole answer, its retries and waits included."""


ConfigT = TypeVar("ConfigT", bound=ModelConfig)


def configured(kind: type[ConfigT], settings: Mapping[str, Any], where: str) -> ConfigT:
    """A ``kind`` with these settings.

    Raises: ConfigurationError for a setting that it does not have, with the nearest, or one of the wrong type.
    """
    known = kind.__struct_fields__
    for name in settings:
        if name not in known:
            raise ConfigurationError(
                f"{where} has no setting {name!r}.{nearest(name, known)}",
                component="models",
                operation=where,
                details={"setting": name},
            )
    try:
        return msgspec.convert(dict(settings), kind, strict=True)
    except msgspec.ValidationError as error:
        raise ConfigurationError(
            f"{where}: a setting is of the wrong type: {error}", component="models", operation=where
        ) from error


def held_to(config: object, kind: type[ConfigT], where: str) -> ConfigT:
    """The config, if it is this provider's.

    Raises: ConfigurationError, if it is another's.
    """
    if isinstance(config, kind):
        return config
    raise ConfigurationError(
        f"{where} is configured by a {kind.__name__}, not by a {type(config).__name__}",
        component="models",
        operation=where,
    )
