"""Programs written for LangGraph, run as they stand and with their imports changed, and what they show as plain data."""

# Values of two libraries are looked at, of which nothing is known but their form.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import builtins
import dataclasses
import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from support.tree import ROOT

TEXTS = ROOT / "tests" / "data" / "parity"
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
GRAPHS = (
    "GraphRecursionError", "InvalidUpdateError", "EmptyInputError", "NodeTimeoutError", "NodeCancelledError",
    "ParentCommand", "GraphDrained", "EmptyChannelError",
)  # fmt: skip
PYTHONS = (
    "NotImplementedError", "RecursionError", "UnboundLocalError", "KeyError", "TimeoutError", "AttributeError",
    "TypeError", "ValueError", "RuntimeError",
)  # fmt: skip
ROLES = {"user": "human", "assistant": "ai"}
WHOSE = ("langgraph", "lawful", "lenient")


def sections() -> list[str]:
    """The names of the files of programs."""
    return sorted(path.stem for path in TEXTS.glob("*.txt"))


def programs(section: str) -> list[str]:
    """The names of a file's programs: its functions that take nothing, at the left margin."""
    text = (TEXTS / f"{section}.txt").read_text(encoding="utf-8")
    return re.findall(r"^(?:async )?def ([a-z]\w*)\(\):$", text, re.MULTILINE)


def thread(name: str, **more: Any) -> dict[str, Any]:
    """A config of the thread; given to the programs."""
    configurable = {"thread_id": name, **more.pop("configurable", {})}
    return {"configurable": configurable, **more}


def bag(items: Iterable[Any]) -> list[Any]:
    """The items in an order that does not depend on which was ready first; given to the programs."""
    return sorted(items, key=lambda item: ID.sub("", repr(item)))


def load(section: str, whose: str) -> ModuleType:
    """The module of a section: LangGraph's, or with only its imports changed, or these in lenient mode."""
    text = (TEXTS / f"{section}.txt").read_text(encoding="utf-8")
    if whose != "langgraph":
        text = re.sub(r"^(\s*(?:from|import) )langgraph\b", r"\1lawful", text, flags=re.MULTILINE)
    module = ModuleType(f"parity_{section}_{whose}")
    sys.modules[module.__name__] = module
    errors = importlib.import_module("langgraph.errors" if whose == "langgraph" else "lawful.errors")
    vars(module).update(thread=thread, bag=bag, caught=partial(caught, errors))
    exec(compile(text, module.__name__, "exec"), vars(module))
    if whose == "lenient":
        for name in ("StateGraph", "entrypoint", "Pregel"):
            if name in vars(module):
                setattr(module, name, lenient(vars(module)[name]))
    return module


def lenient(made: Any) -> Any:
    """The same class, whose instances are lenient unless they say otherwise."""

    class Lenient:
        __getattr__ = staticmethod(partial(getattr, made))

        def __call__(self, *args: Any, **more: Any) -> Any:
            return made(*args, **{"strict": False, **more})

    return Lenient()


def play(section: str, name: str, whose: str) -> dict[str, Any]:
    """What one program shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = load(section, whose)
        found = vars(module)[name]()
        if inspect.iscoroutine(found):
            found = asyncio.run(found)
    shown = Shown().of(found)
    assert isinstance(shown, dict)
    return shown


def caught(errors: ModuleType, call: Callable[[], Any], *facts: str) -> Any:
    """What the call gives, or the kinds of what it raises and which of the facts its text has."""
    try:
        return call()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"raised": kinds(errors, error), "says": [fact for fact in facts if fact in str(error)]}


def kinds(errors: ModuleType, error: BaseException) -> list[str]:
    """What it is of the classes that both libraries have a name for, the most particular one first."""
    graphs = [name for name in GRAPHS if isinstance(error, getattr(errors, name))]
    pythons = [name for name in PYTHONS if isinstance(error, getattr(builtins, name))]
    return [*graphs, *pythons, "Exception" if isinstance(error, Exception) else "BaseException"]


class Shown:
    """Values of either library as plain data; ids become numbers in the order in which they are met."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, str):
            return ID.sub(lambda match: self.ids.setdefault(match[0], f"<{len(self.ids)}>"), str.__str__(value))
        if value is None or isinstance(value, bool | int | float | bytes):
            return value
        if isinstance(value, Mapping):
            return {self.of(key): self.of(each) for key, each in value.items()}
        form = self.form(value)
        if form is not None:
            return form
        if isinstance(value, list | tuple):
            return (
                type(value)(self.of(each) for each in value) if type(value) in (list, tuple) else [*map(self.of, value)]
            )
        if isinstance(value, set | frozenset):
            return bag(map(self.of, value))
        return self.other(value)

    def form(self, value: Any) -> Any:
        """The forms that both libraries have classes of their own for."""
        match type(value).__name__:
            case "StateSnapshot":
                return self.snapshot(value)
            case "PregelTask":
                return self.task(value)
            case "Interrupt" | "Question":
                return {"Interrupt": self.of(value.value)}
            case "Send":
                return {"Send": [value.node, self.of(value.arg)]}
            case "GraphOutput":
                return {"value": self.of(value.value), "interrupts": self.of(list(value.interrupts))}
            case "Item" | "SearchItem":
                return {"Item": [self.of(tuple(value.namespace)), value.key, self.of(value.value)]}
            case _:
                return self.message(value) if hasattr(value, "content") else None

    def snapshot(self, snap: Any) -> dict[str, Any]:
        return {
            "values": self.of(snap.values),
            "next": self.of(snap.next),
            "config": self.config(snap.config),
            "parent": self.config(snap.parent_config),
            "metadata": self.metadata(snap.metadata),
            "tasks": self.of(snap.tasks),
            "interrupts": self.of(snap.interrupts),
        }

    def config(self, config: Any) -> Any:
        if config is None:
            return None
        kept = ("thread_id", "checkpoint_ns", "checkpoint_id")
        return {key: self.of(config["configurable"].get(key, "")) for key in kept}

    def metadata(self, metadata: Any) -> Any:
        if metadata is None:
            return None
        return {key: self.of(each) for key, each in metadata.items() if key not in ("run_id", "thread_id")}

    def task(self, task: Any) -> dict[str, Any]:
        state = task.state
        if isinstance(state, dict) and "configurable" in state:
            state = self.config(state)
        names = ("id", "name", "path", "error", "interrupts", "result")
        return {**{name: self.of(getattr(task, name)) for name in names}, "state": self.of(state)}

    def message(self, message: Any) -> dict[str, Any]:
        role = str(getattr(message, "type", None) or message.role)
        text = message.text if isinstance(message.text, str) else message.text()
        shown = {"role": ROLES.get(role, role).removesuffix("MessageChunk").lower(), "text": self.of(str(text))}
        return {**shown, "id": self.of(message.id)}

    def other(self, value: Any) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {each.name: self.of(getattr(value, each.name)) for each in dataclasses.fields(value)}
            return {type(value).__name__: fields}
        dump = getattr(value, "model_dump", None)
        if dump is not None:
            return {type(value).__name__: self.of(dump())}
        if isinstance(value, BaseException):
            return {"error": type(value).__name__, "text": self.of(str(value))}
        return f"<{type(value).__name__}>"


def differing(theirs: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """The labels under which the two show different things."""
    labels = {*theirs, *ours}
    return sorted(str(label) for label in labels if not same(theirs.get(label, "absent"), ours.get(label, "absent")))


def same(theirs: Any, ours: Any) -> bool:
    """Equal; an error of ours may be of more kinds, and say more of the facts that were asked for."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and "raised" in theirs and "raised" in ours:
        return theirs["raised"][0] in ours["raised"] and set(theirs["says"]) <= set(ours["says"])
    return theirs == ours
