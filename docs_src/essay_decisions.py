"""The dependency update's pure decisions: scope, checks and authority as functions from values to values, first error kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lawful import Err, Ok, Result
from lawful.core.errors import ValidationError
from lawful.effects.publication import CheckReport, PublishApproval, publication_allowed


@dataclass(frozen=True)
class Proposed:
    repository: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Scoped:
    patch: Proposed
    revision: str  # of the checkout that the patch was applied in


@dataclass(frozen=True)
class Checked:
    scoped: Scoped
    report: CheckReport


@dataclass(frozen=True)
class Authorized:
    checked: Checked


@dataclass(frozen=True)
class AwaitingApproval:
    revision: str  # a state of its own: a missing approval is no empty text


def validate_scope(patch: Proposed) -> Result[Scoped, ValidationError]:
    if patch.repository != "acme/shop":
        return Err(ValidationError(f"{patch.repository} is not allowed"))
    for file in patch.files:
        if file not in ("package.json", "package-lock.json"):
            return Err(ValidationError(f"{file} is prohibited"))
    return Ok(Scoped(patch, "abc123"))


def accept_checks(report: CheckReport) -> Callable[[Scoped], Result[Checked, ValidationError]]:
    def accept(scoped: Scoped) -> Result[Checked, ValidationError]:
        if report.revision != scoped.revision:
            return Err(ValidationError(f"the report is about {report.revision}, not {scoped.revision}"))
        if not report.tests or not report.security:
            return Err(ValidationError("a required check failed"))
        return Ok(Checked(scoped, report))

    return accept


def authorize(
    approval: PublishApproval | None,
) -> Callable[[Checked], Result[Authorized | AwaitingApproval, ValidationError]]:
    def decide(checked: Checked) -> Result[Authorized | AwaitingApproval, ValidationError]:
        revision = checked.scoped.revision
        if approval is None:
            return Ok(AwaitingApproval(revision))
        if not publication_allowed(revision, checked.report, approval):
            return Err(ValidationError(f"the approval is about {approval.revision} or says no"))
        return Ok(Authorized(checked))

    return decide


def prepare(
    patch: Proposed, report: CheckReport, approval: PublishApproval | None
) -> Result[Authorized | AwaitingApproval, ValidationError]:
    return validate_scope(patch).bind(accept_checks(report)).bind(authorize(approval))


def told(result: Result[Authorized | AwaitingApproval, ValidationError]) -> str:
    match result:
        case Ok(value):
            return type(value).__name__
        case Err(error):
            return error.message


if __name__ == "__main__":
    patch = Proposed("acme/shop", ("package.json", "package-lock.json"))
    passed, yes = CheckReport("abc123", tests=True, security=True), PublishApproval("abc123", granted=True)
    print("authorized:", told(prepare(patch, passed, yes)))
    print("scope:", told(prepare(Proposed("acme/shop", (".github/workflows/ci.yml",)), passed, yes)))
    print("tests:", told(prepare(patch, CheckReport("abc123", tests=False, security=True), yes)))
    print("stale evidence:", told(prepare(patch, CheckReport("old", tests=True, security=True), yes)))
    print("no approval:", told(prepare(patch, passed, None)))
    print("stale approval:", told(prepare(patch, passed, PublishApproval("old", granted=True))))

# prints: authorized: Authorized
# prints: scope: .github/workflows/ci.yml is prohibited
# prints: tests: a required check failed
# prints: stale evidence: the report is about old, not abc123
# prints: no approval: AwaitingApproval
# prints: stale approval: the approval is about old or says no
