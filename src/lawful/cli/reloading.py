"""A named agent whose module, and the modules beside it, are imported anew when their files were saved."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, cast

from lawful.agents.agent import Agent
from lawful.cli.graphs import thing
from lawful.core.errors import ConfigurationError, Failure


class Watched:
    """``module:name``, read when it is made and again by `read`."""

    def __init__(self, named: str) -> None:
        sys.dont_write_bytecode = True  # two savings within a second would leave the first one's bytecode in use
        self._named = named
        self._found: Any = thing(named)
        self._times = self._now()

    def agent(self) -> Agent[Any]:
        """The agent. Raises: ConfigurationError, if something else is there."""
        found = self._found
        if not isinstance(found, Agent):
            raise ConfigurationError(
                f"{self._named} is a {type(found).__name__}, not an agent", component="cli", operation="chat"
            )
        return cast("Agent[Any]", found)

    def changed(self) -> bool:
        """Whether a file was saved since it was read last."""
        return self._now() != self._times

    def read(self) -> None:
        """Import what was saved again, and then the agent's own module.

        Raises: ConfigurationError, if that fails; then the agent is what it was.
        """
        before, self._times = self._times, self._now()
        own = self._named.partition(":")[0]
        saved = [name for name, at in self._times.items() if before.get(name) != at and name != own]
        importlib.invalidate_caches()
        try:
            for name in [*saved, own]:
                importlib.reload(sys.modules[name])
            self._found = thing(self._named)
        except (
            Failure,
            SyntaxError,
            ImportError,
            NameError,
            AttributeError,
            TypeError,
            ValueError,
            LookupError,
        ) as error:
            raise ConfigurationError(
                f"{self._named} cannot be read anew, so it stays as it was: {type(error).__name__}: {error}",
                component="cli",
                operation="chat",
            ) from error

    def _now(self) -> dict[str, int]:
        """When each module of the current folder was saved, in nanoseconds."""
        here = os.getcwd() + os.sep
        found: dict[str, int] = {}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file is None or not file.startswith(here) or "site-packages" in file or name == "__main__":
                continue
            try:
                found[name] = os.stat(file).st_mtime_ns
            except OSError:
                found[name] = 0
        return found
