"""Which middleware an agent has without being given any: by name, each with its default and what speaks for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from lawful.agents.middleware.base import Middleware
from lawful.agents.middleware.context import PromptCache
from lawful.agents.middleware.framing import Taint
from lawful.agents.middleware.reads import CacheReads
from lawful.agents.middleware.steadying import Counsel
from lawful.core.errors import ConfigurationError, nearest


class Flag(Struct, frozen=True):
    """One switch."""

    name: str
    make: Callable[[], Middleware]
    evidence: str
    """Where it is shown what it gives and what it costs: a page of the documentation, with its anchor."""
    default: bool = False


FLAGS: Final[Mapping[str, Flag]] = {
    flag.name: flag
    for flag in (
        Flag("cache_reads", CacheReads, "docs/middleware.md#flags"),
        Flag("taint", Taint, "docs/middleware.md#flags"),
        Flag("counsel", Counsel, "docs/middleware.md#flags"),
        Flag("prompt_cache", PromptCache, "docs/middleware.md#flags"),
    )
}
"""In the order in which they stand around an agent, the first outermost."""

_ON: Final = frozenset({"1", "true", "on", "yes"})
_OFF: Final = frozenset({"0", "false", "off", "no", ""})


def variable(name: str) -> str:
    """The environment variable that sets a flag: ``LAWFUL_AGENT_TAINT``."""
    return f"LAWFUL_AGENT_{name.upper()}"


def is_on(flag: Flag, given: Mapping[str, bool]) -> bool:
    """What is given in code wins over the environment, and that over the default.

    Raises: ConfigurationError, for a variable that is neither yes nor no.
    """
    if flag.name in given:
        return given[flag.name]
    said = os.environ.get(variable(flag.name))
    if said is None:
        return flag.default
    if said.strip().lower() in _ON:
        return True
    if said.strip().lower() in _OFF:
        return False
    raise ConfigurationError(
        f"{variable(flag.name)}={said!r} is neither yes nor no: 1 or 0", component="agents", operation="flags"
    )


def flagged(own: Sequence[Middleware] = (), given: Mapping[str, bool] | None = None) -> tuple[Middleware, ...]:
    """The middleware of the flags that are on, and then ``own``, which no flag touches; one that is in ``own`` already is
    not added. With all flags off these are ``own`` and nothing else.

    Raises: ConfigurationError, for a flag that there is not, with the nearest name.
    """
    switches = given or {}
    for name in switches:
        if name not in FLAGS:
            raise ConfigurationError(
                f"there is no flag {name!r}.{nearest(name, FLAGS)}", component="agents", operation="flags"
            )
    known = {type(one) for one in own}
    made = (flag.make() for flag in FLAGS.values() if is_on(flag, switches))
    return (*(one for one in made if type(one) not in known), *own)
