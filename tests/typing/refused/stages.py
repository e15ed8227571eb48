"""Stages of a decision cannot be skipped: what was proposed is no checked patch, and what was checked is not authorized."""

from __future__ import annotations

from dataclasses import dataclass

from lawful import Err, Ok, Result
from lawful.core.errors import ValidationError
from lawful.effects.policy import OPEN, Authorized, Matter, authorize


@dataclass(frozen=True)
class Proposed:
    file: str


@dataclass(frozen=True)
class Checked:
    patch: Proposed


def check(patch: Proposed) -> Result[Checked, ValidationError]:
    return Ok(Checked(patch)) if patch.file == "package.json" else Err(ValidationError("out of scope"))


def publish(patch: Checked) -> Result[str, ValidationError]:
    return Ok(patch.patch.file)


patch = Proposed("package.json")
check(patch).bind(publish)
Ok(patch).bind(publish)  # expect: "Proposed" is not assignable to "Checked"
publish(patch)  # expect: "Proposed" is not assignable to "Checked"
publish(check(patch))  # expect: is not assignable to "Checked"


def claim(yes: Authorized) -> str:
    return yes.op_id


def decided(matter: Matter) -> str:
    return claim(authorize(OPEN, matter))  # expect: is not assignable to "Authorized"
