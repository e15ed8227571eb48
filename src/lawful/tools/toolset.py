"""`Toolset`: several tools as one value: join, rename, filter, prefix, ask a person first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, final

from lawful.core.errors import ConfigurationError, nearest
from lawful.tools.definition import AnyTool, as_tool


@final
class Toolset:
    """Tools by name, in order; every method gives another set.

    Raises: ConfigurationError, where two tools have one name.
    """

    __slots__ = ("_tools",)

    def __init__(self, tools: Iterable[Any] = ()) -> None:
        self._tools: dict[str, AnyTool] = {}
        given: Any = tools
        if not isinstance(given, Iterable) or isinstance(given, str):
            raise ConfigurationError(
                f"tools are given in a list: [...], not {given!r:.80}", component="tools", operation="Toolset"
            )
        for given in _flat(tools):
            made = as_tool(given)
            if made.name in self._tools:
                raise ConfigurationError(
                    f"two tools are called {made.name!r}: rename one, as in Toolset([...]).renamed({{{made.name!r}: ...}})",
                    component="tools",
                    operation="Toolset",
                    details={"tool": made.name},
                )
            self._tools[made.name] = made

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> AnyTool:
        """Raises: ConfigurationError, with the nearest name."""
        found = self._tools.get(name)
        if found is None:
            raise ConfigurationError(
                f"there is no tool {name!r}.{nearest(name, self._tools)}", component="tools", operation="Toolset"
            )
        return found

    def __add__(self, other: Iterable[Any]) -> Toolset:
        return Toolset([*self, *other])

    def __repr__(self) -> str:
        return f"Toolset({', '.join(self._tools)})"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def get(self, name: str) -> AnyTool | None:
        """The tool of this name, or None."""
        return self._tools.get(name)

    def renamed(self, names: Mapping[str, str]) -> Toolset:
        """With other names, old to new. Raises: ConfigurationError, for a name that it does not have."""
        for old in names:
            self[old]
        return Toolset(one.with_(name=names.get(one.name, one.name)) for one in self)

    def prefixed(self, prefix: str) -> Toolset:
        """With a prefix before every name, as for two servers that have tools of one name."""
        return Toolset(one.with_(name=f"{prefix}{one.name}") for one in self)

    def only(self, *names: str) -> Toolset:
        """Of these names alone, in this order."""
        return Toolset(self[name] for name in names)

    def without(self, *names: str) -> Toolset:
        """All but these."""
        for name in names:
            self[name]
        return Toolset(one for one in self if one.name not in names)

    def filtered(self, keep: Callable[[AnyTool], bool]) -> Toolset:
        """Those that ``keep`` is true of."""
        return Toolset(one for one in self if keep(one))

    def asking_first(self, *names: str) -> Toolset:
        """With a person's yes needed before each call of these tools; of all, if none is named."""
        wanted = set(names or self.names)
        for name in names:
            self[name]
        return Toolset(one.with_(approval=True) if one.name in wanted else one for one in self)


def _flat(tools: Iterable[Any]) -> Iterator[Any]:
    for given in tools:
        if isinstance(given, Toolset):
            yield from given
        else:
            yield given
