"""Stream modes and shapes: what a call asked for, and where the chunks of its run and of all graphs in it go, in order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from lawful.core.context import Slot
from lawful.core.errors import ConfigurationError, nearest
from lawful.core.events import Event
from lawful.core.telling import NOSTREAM
from lawful.graph.found import message_id, metadata_of
from lawful.graph.outbox import Outbox
from lawful.graph.step_task import Task

StreamMode: TypeAlias = Literal["values", "updates", "messages", "custom", "tasks", "checkpoints", "debug", "events"]
MODES: Final = ("values", "updates", "messages", "custom", "tasks", "checkpoints", "debug", "events")
VERSIONS: Final = ("v1", "v2")
_PIECES: Final = frozenset({"messages", "events"})
_WITHIN: Final = frozenset({"messages", "custom", "events"})
"""Modes whose chunks arise while a node runs."""


def modes_of(mode: str | Sequence[str] | None, default: str) -> tuple[frozenset[str], bool]:
    """The modes asked for, and whether a list was given (then each chunk says its mode).

    Raises: ConfigurationError for an unknown mode.
    """
    if mode is not None and not isinstance(mode, (str, list, tuple, set, frozenset)):
        raise ConfigurationError(
            f"A stream mode is a str or a list of them, got {mode!r:.100}.{nearest('', MODES)}",
            component="graph",
            operation="stream",
        )
    asked = [default] if mode is None else [mode] if isinstance(mode, str) else list(mode)
    for one in asked:
        if one not in MODES:
            raise ConfigurationError(
                f"Unknown stream mode {one!r}.{nearest(str(one), MODES)}", component="graph", operation="stream"
            )
    return frozenset(asked), not (mode is None or isinstance(mode, str))


class Shape:
    """What one call asked to see of its run, beside the modes themselves."""

    __slots__ = ("asked", "printed", "several", "subgraphs", "version")

    def __init__(
        self,
        asked: frozenset[str],
        several: bool = False,
        *,
        subgraphs: bool = False,
        version: str | None = None,
        printed: frozenset[str] = frozenset(),
    ) -> None:
        if version is not None and version not in VERSIONS:
            raise ConfigurationError(
                f"Unknown stream version {version!r}.{nearest(str(version), VERSIONS)}",
                component="graph",
                operation="stream",
            )
        self.asked = asked
        self.several = several
        self.subgraphs = subgraphs
        self.version = version or "v1"
        self.printed = printed
        """Modes that are written to standard output, whatever is given to the caller."""


def shape_of(
    mode: str | Sequence[str] | None,
    default: str | None,
    *,
    subgraphs: bool = False,
    version: str | None = None,
    print_mode: str | Sequence[str] = (),
    debug: bool | None = None,
) -> Shape:
    """The shape that a call's options ask for; ``default`` None: nothing is given, at most printed.

    Raises: ConfigurationError for an unknown mode or version.
    """
    asked, several = (frozenset[str](), False) if default is None else modes_of(mode, default)
    told = ("updates", "values") if debug else print_mode
    printed = modes_of(told, "")[0] if told else frozenset[str]()
    return Shape(asked, several, subgraphs=subgraphs, version=version, printed=printed)


class Hub:
    """Takes the chunks of a streamed run, shapes them, and holds them until they are read."""

    __slots__ = ("_bare", "_seen", "_shape", "live", "modes", "ns", "out", "subgraphs", "tells_pieces")

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.modes = shape.asked | shape.printed
        """All that has to be made."""
        self.subgraphs = shape.subgraphs
        self.ns = ""
        """The namespace of the run that is streamed."""
        self._bare = not (shape.printed or shape.several or shape.subgraphs or shape.version == "v2")
        """Whether a chunk is given as it is."""
        self.out = Outbox()
        self._seen: set[str] = set()
        """Ids of the messages that were told, or need not be."""
        self.tells_pieces = not _PIECES.isdisjoint(self.modes)
        """Whether pieces of what models say are read."""
        self.live = self.subgraphs or not _WITHIN.isdisjoint(self.modes)
        """Whether chunks arise while a node runs."""

    @property
    def typed(self) -> bool:
        """Whether states are given as instances of their class."""
        return self._shape.version == "v2"

    def put(self, ns: str, mode: str, payload: Any, interrupts: Any = None) -> None:
        """One chunk, in the shape that was asked for; ``interrupts`` are the open questions, of the values mode only."""
        shape = self._shape
        if self._bare:
            if mode in shape.asked:
                self.out.give(payload)
            return
        if mode in shape.printed:
            self._print(ns, mode, payload)
        if mode not in shape.asked:
            return
        space = tuple(ns.split("|")) if ns and (shape.subgraphs or shape.version == "v2") else ()
        if shape.version == "v2":
            chunk: Any = {"type": mode, "ns": space, "data": payload}
            if mode == "values":
                chunk["interrupts"] = interrupts or ()
        elif shape.subgraphs:
            chunk = (space, mode, payload) if shape.several else (space, payload)
        else:
            chunk = (mode, payload) if shape.several else payload
        self.out.give(chunk)

    def _print(self, ns: str, mode: str, payload: Any) -> None:
        where = f"[{ns}] " if ns else ""
        sys.stdout.write(f"{where}[{mode}] {payload}\n")

    def _shown(self, slot: Slot) -> bool:
        return self.subgraphs or not isinstance(slot, Task) or slot.base.ns == self.ns

    def writer(self, task: Task) -> Callable[[Any], None] | None:
        """Takes what a node passes to its stream writer; None where nobody sees it."""
        if "custom" not in self.modes or not self._shown(task):
            return None
        if self._bare:
            return self.out.offer

        def write(chunk: Any) -> None:
            self.put(task.base.ns, "custom", chunk)
            self.out.press()

        return write

    # What nodes say: the port `lawful.core.telling.Stream`

    def say(
        self,
        slot: Slot,
        message: Any,
        *,
        piece: bool = False,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Put a message or a piece of one into the messages mode; a whole one only if none of its id was there."""
        if (
            "messages" not in self.modes
            or NOSTREAM in (tags or ())
            or not isinstance(slot, Task)
            or not self._shown(slot)
        ):
            return
        known = message_id(message)
        if known is not None:
            if known in self._seen and not piece:
                return
            self._seen.add(known)
        self.put(slot.base.ns, "messages", (message, metadata_of(slot, tags, metadata)))

    def seen(self, slot: Slot, id: str) -> None:
        """The message of this id was told, if the reader sees what ``slot`` says."""
        if self._shown(slot):
            self._seen.add(id)

    def skip(self, id: str) -> None:
        """The message of this id need not be told."""
        self._seen.add(id)

    def event(self, event: Event) -> None:
        """An event, as the events mode shows it; told in the thread where it arose."""
        self.put("", "events", event)

    def press(self) -> None:
        if self.live:  # else a node may run on the reader's own thread
            self.out.press()

    async def room(self) -> None:
        await self.out.room()
