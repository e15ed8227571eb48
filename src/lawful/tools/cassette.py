"""Tools that record what came of each call, and tools that give it again without doing anything: a cassette, JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec

from lawful.core.cassettes import Line, NotRecorded, add_line, blotted, lines_of, no_cassette
from lawful.core.errors import Failure, ToolError, from_json
from lawful.core.messages import ToolCall
from lawful.tools.definition import AnyTool, Tool
from lawful.tools.dispatch import plain
from lawful.tools.sources import Given, Rated, taken
from lawful.tools.tainted import Tainted
from lawful.tools.toolset import Toolset


class Tape(Protocol):
    """What stands at the boundary of a tool."""

    async def call(self, tool: AnyTool, call: ToolCall) -> Any:
        """What comes of the call."""
        ...


@dataclass(frozen=True)
class TapedTool(Tool[..., Any]):
    """A tool whose calls go through a tape; its name, schema, traits and checks are those of the tool inside."""

    inner: AnyTool | None = None
    tape: Tape | None = None

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """As of the tool inside."""
        assert self.inner is not None
        return self.inner.checked(given)

    async def acall(self, call: ToolCall) -> Any:
        """By the tape."""
        assert self.inner is not None
        assert self.tape is not None
        return await self.tape.call(self.inner, call)


class ToolRecorder:
    """Adds what came of each call to the file ``path``: ``Agent(..., tools=ToolRecorder("tools.jsonl").over(tools))``.

    What looks like a key is blotted out, so is what stands under a name such as "password", and so are ``secrets``. A call
    that pauses the run is recorded when it has an outcome.
    """

    def __init__(self, path: str | os.PathLike[str], *, secrets: Iterable[str] = ()) -> None:
        self._path = Path(path)
        self._secrets = tuple(secrets)

    def over(self, tools: Toolset | Sequence[Any]) -> Toolset:
        """The same tools, recorded."""
        return Toolset([_taped(one, self) for one in _set(tools)])

    async def call(self, tool: AnyTool, call: ToolCall) -> Any:
        """Call the tool and write down what came of it."""
        with _Recording(self._path, self._secrets, {"tool": tool.name, "args": call.args}) as line:
            found = await tool.acall(call)
            given = taken(found)
            line["output"] = plain(given.value)
            line |= {
                key: told for key, told in (("outside", given.outside), ("reliability", given.reliability)) if told
            }
            return found


class _Recording:
    """One line, written at the end of its call: with what came of it, or with the error; not where the run was paused."""

    def __init__(self, path: Path, secrets: Iterable[str], line: Line) -> None:
        self._path, self._secrets, self._line = path, secrets, line

    def __enter__(self) -> Line:
        return self._line

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Failure):
            self._line["error"] = error.to_json()
        elif isinstance(error, Exception):
            self._line["raised"] = f"{type(error).__name__}: {error}"
        elif error is not None:
            return
        add_line(self._path, self._line, self._secrets)


class ToolReplayer:
    """Gives from the file ``path`` what came of each call when it was recorded, in the order of equal calls; no tool runs,
    and no effect is performed.

    The gates stand before it as before the tools themselves. Raises (when called): NotRecorded, which is told to no model;
    ConfigurationError for a file that is no cassette.
    """

    def __init__(self, path: str | os.PathLike[str], *, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._left: dict[str, list[Line]] = {}
        for line in lines_of(Path(path), "tool", "args"):
            if not {"output", "error", "raised"} & line.keys():
                raise no_cassette(f"{path} is no cassette of tools: a line has no outcome")
            self._left.setdefault(_key(line["tool"], line["args"]), []).append(line)

    @property
    def left(self) -> int:
        """Outcomes that were not given yet."""
        return sum(map(len, self._left.values()))

    def over(self, tools: Toolset | Sequence[Any]) -> Toolset:
        """The same tools, answered from the record."""
        return Toolset([_taped(one, self, effect=None, function=_not_here) for one in _set(tools)])

    async def call(self, tool: AnyTool, call: ToolCall) -> Any:
        """What the record says."""
        args = json.loads(json.dumps(call.args))
        found = self._left.get(_key(tool.name, blotted(args, self._secrets)))
        if not found:
            raise NotRecorded(f"no outcome is recorded for {tool.name}({call.args!s:.200}), or all were given")
        line = found.pop(0)
        if "error" in line:
            raise from_json(line["error"])
        if "raised" in line:
            raise ToolError(line["raised"], component=tool.name, operation="replay")
        return _marked(Given(line["output"], line.get("outside"), line.get("reliability")))


def _marked(given: Given) -> Any:
    value = given.value if given.outside is None else Tainted(given.value, given.outside)
    return value if given.reliability is None else Rated(value, given.reliability)


def _key(tool: str, args: Any) -> str:
    return f"{tool} {msgspec.json.encode(args, order='sorted').decode()}"


def _set(tools: Toolset | Sequence[Any]) -> Toolset:
    return tools if isinstance(tools, Toolset) else Toolset(tools)


def _taped(tool: AnyTool, tape: Tape, **changes: Any) -> AnyTool:
    given: dict[str, Any] = {one.name: getattr(tool, one.name) for one in fields(cast("Any", Tool))}
    return TapedTool(**{**given, **changes}, inner=tool, tape=tape)


def _not_here(*args: Any, **kwargs: Any) -> Any:
    raise NotRecorded("a replayed tool is called by an agent, not as a function")
