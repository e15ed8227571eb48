"""Pure: values, writes and triggers of a graph of ours in the form in which LangGraph keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from lawful.compat.langchain_messages import to_langchain
from lawful.compat.planning import SENDS
from lawful.core.codec_types import class_of
from lawful.core.lazy import late
from lawful.core.messages import Message, RemoveMessage
from lawful.graph.asking import question_id
from lawful.graph.command import START, Overwrite, Send
from lawful.graph.draw import graph_within
from lawful.graph.program import Node, Program
from lawful.graph.restored import Restored
from lawful.graph.step_task import Task


def held_by(node: Node) -> Any:
    """The graph that a node is, or that its function names."""
    return node.subgraph if node.subgraph is not None else graph_within(node.fn)


def all_triggers(program: Program, name: str) -> list[str]:
    """Every channel that sets a node off, as LangGraph names and orders them."""
    if name == START:
        return [START]
    if program.direct:
        return sorted(program.nodes[name].triggers)
    return sorted([f"branch:to:{name}", *(join.channel for join in program.joins.values() if join.target == name)])


def waiting_on(program: Program, made: Restored) -> dict[str, str]:
    """By waiting node, the channel that is to set it off: a join that is complete, else the plain one."""
    out: dict[str, str] = {}
    for task in made.head.tasks:
        name = str(task[0])
        if task[1] >= 0 or name == START:
            continue
        if program.direct:
            out[name] = next(t for t in program.nodes[name].triggers if t in made.values)
            continue
        joins = [join.channel for join in program.joins.values() if join.target == name]
        full = [c for c in joins if c in made.values and program.channels[c].get(made.values[c]) is None]
        out[name] = full[0] if full else f"branch:to:{name}"
    return out


def writes_of(body: Sequence[Any], node: Node | None, program: Program) -> list[tuple[str, Any]]:
    """A finished task's writes, with those that LangGraph makes for its edges."""
    writes, targets, sends = body
    out = [(key, plain(value)) for key, value in writes]
    if program.direct:
        return out or [("__no_writes__", None)]
    known = {key for key, _ in out}
    if node is not None:
        out += [(channel, value) for channel, value in node.marks if channel not in known]
    going = dict.fromkeys([*(node.targets if node is not None else ()), *(targets or ())])
    out += [(f"branch:to:{name}", None) for name in going if name in program.nodes]
    out += [(SENDS, plain(Send(*send))) for send in sends or ()]
    return out or [("__no_writes__", None)]


def answers_of(task: Task, made: Restored) -> list[Any]:
    """The answers that the task has had, in the order of its questions."""
    out: list[Any] = []
    while (held := made.answers.get(question_id(task, f"index:{len(out)}"))) is not None:
        out.append(plain(held[0]))
    return out


def plain(value: Any) -> Any:
    """A value as LangGraph keeps it: our messages as langchain's, our packets as its own."""
    if isinstance(value, Message | RemoveMessage):
        return to_langchain(value)
    if isinstance(value, Send):
        timeout = value.timeout
        run = getattr(timeout, "run_timeout", timeout)
        return late("langgraph.types", "Send", extra="langgraph")(value.node, plain(value.arg), timeout=run)
    if isinstance(value, Overwrite):
        return late("langgraph.types", "Overwrite", extra="langgraph")(plain(value.value))
    kind = class_of(value)
    if issubclass(kind, list):
        return [plain(each) for each in value]
    if kind is tuple:
        return tuple(plain(each) for each in value)
    if kind is dict:
        return {key: plain(each) for key, each in cast("dict[Any, Any]", value).items()}
    return value


def metadata_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if not key.startswith("_")}
