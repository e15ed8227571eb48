"""What a person is asked and who answers: questions with ids, answers, principals, approvals."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Principal(Struct, frozen=True):
    """Someone who may answer or approve, as the host authenticated them; never text from a model."""

    id: str
    roles: tuple[str, ...] = ()


class Approved(Struct, frozen=True):
    """The answer type of a yes-or-no question: who said yes, or no."""

    granted: bool
    by: str = ""
    reason: str = ""

    def __bool__(self) -> bool:
        return self.granted


class Reply(Struct, frozen=True):
    """An answer on its way to a question: made by ``question.answer(value)``, taken by ``graph.resume``."""

    question: str
    """The question's id."""
    value: Any


class Question(Struct, frozen=True):
    """What a paused run asks.

    ``id`` is 32 hex digits of a hash over thread lineage, namespace path, visit and the question's name or call index;
    never over the payload, whose digest is stored beside it.
    """

    value: Any
    """What the node passed to ``interrupt``."""
    id: str = ""
    node: str = ""
    name: str = ""
    kind: str = "interrupt"
    """"interrupt", "approval", "effect_recovery" (what became of it?) or "effect_fork" (other arguments than recorded)."""
    answer_type: str = ""
    """"approved" where the answer is a yes or no."""
    digest: str = ""
    """Of the payload, to notice that a re-entered node asks something else."""
    ns: str = ""
    """The namespace whose task asks."""
    checkpoint: str = ""
    """The checkpoint which that task runs from."""
    task: str = ""
    details: Mapping[str, Any] = {}

    @property
    def response_schema(self) -> Any:
        """JSON Schema of the answer, where the node gave one to ``interrupt``."""
        return self.details.get("response_schema")

    def answer(self, value: Any) -> Reply:
        """The reply that gives this question ``value``."""
        return Reply(self.id, value)


def id_of(lineage: str, step_key: str, visit: int, what: str) -> str:
    """A question's id: 32 hex digits of where it is asked and ``what`` tells it from others there."""
    text = f"{lineage}\x1f{step_key}\x1f{visit}\x1f{what}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def recovery_id(lineage: str, step_key: str, visit: int, op_id: str, fence: int) -> str:
    """The id of the question what became of attempt ``fence`` of an operation: a later attempt is another question."""
    return id_of(lineage, step_key, visit, f"effect\x1f{op_id}\x1f{fence}")
