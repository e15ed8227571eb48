"""What a node or a conditional edge returned, read into writes, targets and sends; refused where it is not lawful."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from lawful.core.check import Check
from lawful.core.errors import InvalidUpdateError, nearest
from lawful.core.signals import ParentCommand, latch
from lawful.graph.channels import LAST, REDUCED
from lawful.graph.command import END, ROOT, START, Command, Overwrite, Send, overwritten
from lawful.graph.program import Router
from lawful.graph.state import Schema, instance_writes
from lawful.graph.step_task import Task

_log = logging.getLogger("lawful.graph")


class Acceptor:
    """Reads what the nodes of one graph return. ``accept(task, value)`` fills the task or raises InvalidUpdateError."""

    def __init__(
        self,
        *,
        strict: bool,
        kinds: Mapping[str, int],
        checks: Mapping[str, Check],
        schemas: Sequence[Schema],
        visible: frozenset[str],
        root: bool,
    ) -> None:
        self.strict = strict
        self.kinds = kinds
        self.checks = checks
        """By key: the check of a write (of a reducer's update, for a reducer key)."""
        self.schemas = {s.typ: s for s in schemas if s.kind in ("dataclass", "pydantic")}
        self.keys = visible
        """The state keys that a node may write."""
        self.root = root
        self.prepares: dict[str, Any] = {}
        """By key: what completes an update before it is stored (message ids), so that folding it again gives the same."""
        self.fast: dict[str, type] = {}
        """Key to the one exact type that needs no further check."""
        self.quick: dict[str, Callable[[Any], bool]] = {}
        """For other keys: whether a write surely fits; if not, the full check says."""
        if strict:
            for key, check in checks.items():
                exact = check.fast[0] if check.fast else None
                # A dict may be an Overwrite in disguise, where the key has a reducer: that takes the whole check.
                if exact is not None and (kinds.get(key) == LAST or (kinds.get(key) == REDUCED and exact is not dict)):
                    self.fast[key] = exact
                if check.quick is not None:
                    self.quick[key] = check.quick

    def accept(self, task: Task, value: Any) -> None:
        """Read a node's return value."""
        kind: object = type(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if kind is dict and not self.root:  # what nearly every node returns
            self._mapping(task, value)
            return
        if value is None:
            return
        if isinstance(value, Command):
            self.command(task, cast("Command[Any]", value))
        elif isinstance(value, Send):
            self.goto(task, value)
        elif kind is list or kind is tuple:
            self._several(task, value)
        else:
            self.update(task, value)

    def fits(self, key: str, item: Any) -> bool:
        """Whether a write surely fits, by its type or by a look at each of a list; if not, `checked` says."""
        return self.fast.get(key) is type(item) or (key in self.quick and self.quick[key](item))

    def prepare(self, writes: list[tuple[str, Any]]) -> None:
        """Complete the updates of reducers that want it, in place."""
        prepares = self.prepares
        for place, (key, value) in enumerate(writes):
            if key in prepares:
                is_over, inner = overwritten(value)
                done = prepares[key](inner)
                writes[place] = (key, Overwrite(done) if is_over else done)

    def _several(self, task: Task, value: Sequence[Any]) -> None:
        mixed = any(type(item) is Command or type(item) is Send for item in value)
        if mixed or (not self.root and value and all(self._is_update(item) for item in value)):
            for item in value:
                self.accept(task, item)
        else:
            self.update(task, value)

    def _is_update(self, item: Any) -> bool:
        return item is None or isinstance(item, dict) or type(item) in self.schemas

    def update(self, task: Task, value: Any) -> None:
        """Take a state update: a dict, an instance of the state's class, or a bare value."""
        if self.root:
            task.writes.append((ROOT, self.checked(task, ROOT, value)))
        elif type(value) is dict or isinstance(value, Mapping):
            self._mapping(task, value)  # pyright: ignore[reportUnknownArgumentType]
        elif (schema := self._schema_of(value)) is not None:
            self.pairs(task, instance_writes(schema, value, strict=self.strict))
        elif not self.strict and (told := _annotated(value)):
            self.pairs(task, [(k, getattr(value, k)) for k in told if k in self.keys and hasattr(value, k)])
        else:
            raise InvalidUpdateError(
                f"Expected dict, got {value!r:.200}: node {task.node!r} must return a dict, an instance of its state's class,"
                " a Command, a Send, a list of these, or None",
                component="graph",
                operation=f"node {task.node!r}",
                details={"node": task.node, "type": type(value).__name__},
            )

    def _schema_of(self, value: Any) -> Schema | None:
        for cls in type(value).__mro__:
            if cls in self.schemas:
                return self.schemas[cls]
        return None

    def _mapping(self, task: Task, value: Mapping[str, Any]) -> None:
        writes, fast, quick, keys, strict = task.writes, self.fast, self.quick, self.keys, self.strict
        for key, item in value.items():
            if fast.get(key) is type(item) or (key in quick and quick[key](item)):
                writes.append((key, item))
            elif not strict:
                if key in keys:
                    writes.append((key, item))
            else:
                writes.append((key, self.checked(task, key, item)))

    def pairs(self, task: Task, pairs: Sequence[tuple[str, Any]]) -> None:
        """Take (key, value) pairs; keys may repeat."""
        for key, item in pairs:
            if self.strict:
                task.writes.append((key, self.checked(task, key, item)))
            elif key in self.keys:
                task.writes.append((key, item))

    def checked(self, task: Task, key: str, item: Any) -> Any:
        """``item``, if it may be written to ``key``."""
        if not self.strict:
            return item
        if key not in self.keys:
            raise InvalidUpdateError(
                f"Node {task.node!r} wrote {key!r}, which the state does not have.{nearest(str(key), self.keys)}",
                component="graph",
                operation=f"node {task.node!r}",
                details={"node": task.node, "key": str(key)},
            )
        check = self.checks.get(key)
        if check is None:
            return item
        probe = overwritten(item)[1] if self.kinds[key] == REDUCED else item
        problem = check(probe)
        if problem is not None:
            place = "the state" if key == ROOT else f"key {key!r}"
            raise InvalidUpdateError(
                f"Node {task.node!r} wrote to {place}: {problem}",
                component="graph",
                operation=f"node {task.node!r}",
                details={"node": task.node, "key": key},
            )
        return item

    def command(self, task: Task, command: Command[Any]) -> None:
        """Take a Command: its update as writes, its goto beside the static edges, or hand it to the parent."""
        if command.graph is not None:
            if command.graph != Command.PARENT:
                raise InvalidUpdateError(
                    f"Node {task.node!r} commands graph {command.graph!r}; only Command.PARENT can be addressed",
                    component="graph",
                    operation=f"node {task.node!r}",
                )
            signal = ParentCommand(command)
            latch(task, signal)
            raise signal
        if command.resume is not None:
            raise InvalidUpdateError(
                f"Node {task.node!r} returned Command(resume=...): only the caller of a graph answers questions",
                component="graph",
                operation=f"node {task.node!r}",
                details={"node": task.node},
            )
        update: Any = command.update
        if update is not None:
            if not self.root and isinstance(update, (list, tuple)):
                self.pairs(task, [_pair(task, item) for item in cast("Sequence[Any]", update)])
            else:
                self.update(task, update)
        goto: Any = command.goto
        for target in goto if isinstance(goto, (list, tuple)) else (goto,):  # pyright: ignore[reportUnknownVariableType]
            self.goto(task, target)

    def goto(self, task: Task, target: Any) -> None:
        """Go to a node, or send to one."""
        if type(target) is str:
            if target != END and self.known(task, target):
                task.target(target)
        elif isinstance(target, Send):
            if target.node == END:
                raise InvalidUpdateError(
                    f"Node {task.node!r} sends to END; a Send must name a node", component="graph", operation="send"
                )
            if self.known(task, target.node):
                if target.timeout is not None and not task.program.nodes[target.node].awaits:
                    raise InvalidUpdateError(
                        f"Node {task.node!r} sends to {target.node!r} with a timeout, but that is a sync function and cannot"
                        " be stopped: make it async",
                        component="graph",
                        operation="send",
                        details={"node": task.node, "target": target.node},
                    )
                task.send(target)
        elif target == END:
            return
        elif isinstance(target, str):
            if self.known(task, target):
                task.target(target)
        else:
            raise InvalidUpdateError(
                f"Node {task.node!r} goes to {target!r:.100}: expected a node's name or a Send",
                component="graph",
                operation=f"node {task.node!r}",
            )

    def known(self, task: Task, name: str) -> bool:
        """Whether the node exists; strict: else InvalidUpdateError."""
        nodes = task.program.nodes
        if name in nodes and name != START and not nodes[name].handles:
            return True
        if self.strict:
            names = [n for n, node in nodes.items() if not node.hidden and not node.handles]
            raise InvalidUpdateError(
                f"Node {task.node!r} goes to {name!r}, which does not exist.{nearest(name, [*names, END])}",
                component="graph",
                operation=f"node {task.node!r}",
                details={"node": task.node, "target": name},
            )
        _log.warning(
            "Task %s with path %s wrote to unknown channel branch:to:%s, ignoring it.", task.node, task.path, name
        )
        return False

    def routed(self, task: Task, router: Router, found: Any) -> None:
        """Read what a conditional edge returned."""
        if type(found) is str and router.path_map is None and (router.targets is None or not self.strict):
            if found == START:
                raise _no_destination(task, router, found)
            self.goto(task, found)
            return
        allowed = router.targets if self.strict and router.path_map is None else None
        many = cast("Sequence[Any]", found) if isinstance(found, (list, tuple)) else (found,)
        if len(many) > 1 and task.sends is None and (packets := self._packets(task, many)):
            task.sends = packets
            return
        for item in many:
            target = item
            if router.path_map is not None and not isinstance(item, Send):
                target = self._mapped(task, router, item)
            if target is None or target == START:
                raise _no_destination(task, router, item)
            if allowed is not None and isinstance(target, str) and target not in allowed:
                raise InvalidUpdateError(
                    f"The conditional edge {router.name!r} of node {task.node!r} returned {target!r}, which its Literal"
                    f" return annotation does not have.{nearest(target, allowed)}",
                    component="graph",
                    operation=f"node {task.node!r}",
                    details={"node": task.node, "route": target},
                )
            self.goto(task, target)

    def _packets(self, task: Task, found: Sequence[Any]) -> list[Send] | None:
        """The same as a list, if it is Sends alone that need no further look; else None."""
        if set(map(type, found)) != {Send}:
            return None
        nodes = task.program.nodes
        for name in {packet.node for packet in found}:
            if name not in nodes or name == START or nodes[name].handles:
                return None
        return list(found) if all(packet.timeout is None for packet in found) else None

    def _mapped(self, task: Task, router: Router, item: Any) -> Any:
        assert router.path_map is not None
        try:
            return router.path_map[item]
        except (KeyError, TypeError):
            valid = [str(k) for k in router.path_map]
            if item is None:
                raise _no_destination(task, router, item) from None
            raise InvalidUpdateError(
                f"The conditional edge {router.name!r} of node {task.node!r} returned {item!r:.100},"
                f" which its path_map does not have.{nearest(str(item), valid)}",
                component="graph",
                operation=f"node {task.node!r}",
                details={"node": task.node, "route": str(item)},
            ) from None


class Destination(InvalidUpdateError, ValueError):
    """A conditional edge gave nothing to go to."""

    code = "invalid_destination"


def _no_destination(task: Task, router: Router, item: Any) -> Destination:
    return Destination(
        f"Branch did not return a valid destination: the conditional edge {router.name!r} of node {task.node!r}"
        f" returned {item!r}",
        component="graph",
        operation=f"node {task.node!r}",
        details={"node": task.node, "route": str(item)},
    )


def _annotated(value: Any) -> tuple[str, ...]:
    """The names that the value's class annotates: leniently, an instance of any such class is an update."""
    return tuple(getattr(cast("Any", type(value)), "__annotations__", ()))


def _pair(task: Task, item: Any) -> tuple[str, Any]:
    if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], str):  # pyright: ignore[reportUnknownArgumentType]
        return (item[0], item[1])  # pyright: ignore[reportUnknownVariableType]
    raise InvalidUpdateError(
        f"Node {task.node!r}: the update of a Command is a dict, an instance, or (key, value) pairs; got {item!r:.100}",
        component="graph",
        operation=f"node {task.node!r}",
    )
