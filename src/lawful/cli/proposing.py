"""Who proposes the demo's patch: the script, or a model that is asked for it as data and whose word decides nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from lawful.cli.update_rules import MOST_EDITS, Edit, Pin, Proposed, Request, propose, summary_of
from lawful.core.lazy import late
from lawful.models.port import ChatModel

Models: TypeAlias = Callable[[str], ChatModel[Any]]
"""From a name such as "openai:gpt-5" to the model."""

ATTEMPTS: Final = 3
"""Answers that a model may give until one is a patch at all."""


@dataclass(frozen=True)
class Change:
    """One line of one file, replaced."""

    path: str
    line: int
    before: str
    """The line as it stands now, whole."""
    after: str
    """The line as it shall be."""


@dataclass(frozen=True)
class Patch:
    """The whole change."""

    edits: list[Change]


def model_named(name: str) -> ChatModel[Any]:
    """The model of that name. Raises: ConfigurationError, where its name, its package or its key is wanting."""
    made: ChatModel[Any] = late("lawful.models.select", "model")(name)
    return made


def proposed(asked: Request, pins: Sequence[Pin], models: Models = model_named) -> Proposed:
    """A patch as data, by the model that the request names, or by the script where it names none.

    Nothing of it is believed: the scope rules come next, and they do not know who proposed. The summary is not the model's
    to write, since a person reads it before saying yes.

    Raises: OutputInvalid, when the model gave no patch in `ATTEMPTS` answers; the model's own errors.
    """
    if not asked.model:
        return propose(asked, pins)
    with models(asked.model) as model:
        found = late("lawful.models.output", "structured")(model, Patch, prompt_for(asked, pins), attempts=ATTEMPTS)
    patch: Patch = found.value
    edits = tuple(Edit(one.path, one.line, one.before, one.after) for one in patch.edits[: MOST_EDITS + 1])
    tries = f", in {found.attempts} answers" if found.attempts > 1 else ""
    return Proposed(summary_of(asked, pins), f"the model {model.component_id}{tries}", edits)


def prompt_for(asked: Request, pins: Sequence[Pin]) -> str:
    """What the model is asked: the lines that pin the package, as JSON, and nothing else of the repository."""
    lines = "\n".join(json.dumps({"path": pin.path, "line": pin.line, "before": pin.text}) for pin in pins)
    return (
        f"A repository pins the package {asked.package}. Propose the edits that pin version {asked.to} instead, one for each"
        " of these lines, and change nothing but the version in each. Repeat path, line and before exactly.\n\n"
        f"{lines}"
    )
