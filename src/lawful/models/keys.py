"""Where a provider's key comes from, and what is said when there is none."""

from __future__ import annotations

import os

from lawful.core.errors import ConfigurationError


def key_for(provider: str, given: str | None, *names: str, free: bool = False) -> str:
    """The key: ``given``, else the first of the environment's variables that is set; "" where none is needed (``free``).

    Raises: ConfigurationError, which names the variable and how to try without a key.
    """
    if given:
        return given
    for name in names:
        found = os.environ.get(name, "").strip()
        if found:
            return found
    if free:
        return ""
    raise ConfigurationError(
        f"{provider} needs a key: set {' or '.join(names)}, or pass api_key=. "
        'To try without one: model("demo"), or model("ollama:...") with a model of your own',
        component="models",
        operation=provider,
        details={"provider": provider, "variable": names[0] if names else ""},
    )
