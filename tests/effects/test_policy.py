"""Policies: every conjunct told, stale items named, boundary seconds exact, and a yes that nobody can forge."""

from __future__ import annotations

import copy
from itertools import product

import pytest

from lawful.core.errors import ConfigurationError
from lawful.core.questions import Principal
from lawful.effects.evidence import Approval, Revision, binding
from lawful.effects.intents import IntentRecord
from lawful.effects.policy import (
    Allowed,
    Authorized,
    Decision,
    Denied,
    Matter,
    NeedsApproval,
    NeedsEvidence,
    Policy,
    RequireApproval,
    RequireEvidence,
    authorize,
    policy,
    publication_policy,
)
from lawful.effects.publication import CheckReport, PublishApproval, publication_allowed
from support.effects import approval, evidence, record

pytestmark = pytest.mark.unit

RULES = publication_policy("release")
INTENT = record(policy="publication", policy_hash=RULES.hash)
GREEN = (evidence("e1", "tests"), evidence("e2", "security"))


@pytest.mark.parametrize("bits", list(product((False, True), repeat=5)))
def test_the_truth_table_of_the_publication_rule(bits: tuple[bool, bool, bool, bool, bool]) -> None:
    """Rows: S2-005"""
    matches, tests, security, same, granted = bits
    report = CheckReport("rev" if matches else "old", tests, security)
    decided = PublishApproval("rev" if same else "old", granted)
    assert publication_allowed("rev", report, decided) is all(bits)


def test_evidence_is_asked_for_before_an_approval() -> None:
    """Rows: S2-042, S2-044"""
    assert RULES.decide(Matter(INTENT)) == NeedsEvidence(("tests", "security"))
    assert RULES.decide(Matter(INTENT, GREEN)) == NeedsApproval("release", 1)
    red = (evidence("e1", "tests", verdict=False), GREEN[1])
    assert RULES.decide(Matter(INTENT, red, (approval(INTENT),))) == NeedsEvidence(("tests",))
    yes = approval(INTENT)
    assert RULES.decide(Matter(INTENT, GREEN, (yes,))) == Allowed((yes.id,))


def test_the_newest_evidence_of_a_kind_counts() -> None:
    old, new = evidence("e1", verdict=False), evidence("e2")
    rule = RequireEvidence("tests")
    assert rule.check(Matter(INTENT, (old, new))).holds
    assert not rule.check(Matter(INTENT, (new, old))).holds


@pytest.mark.parametrize(("now", "counts"), [(99.0, True), (99.999, True), (100.0, False), (101.0, False)])
def test_expiry_and_revocation_count_from_their_very_second(now: float, counts: bool) -> None:
    """Rows: S2-020; Ledger: L8"""
    dated = evidence(valid_until=100.0)
    assert RequireEvidence("tests").check(Matter(INTENT, (dated,), now=now)).holds is counts
    rule = RequireApproval()
    expiring = approval(INTENT, expires_at=100.0)
    assert rule.check(Matter(INTENT, approvals=(expiring,), now=now)).holds is counts
    from msgspec.structs import replace

    revoked = replace(approval(INTENT), revoked_at=100.0)
    assert rule.check(Matter(INTENT, approvals=(revoked,), now=now)).holds is counts


@pytest.mark.parametrize("changed", ["op_id", "tool", "tool_version", "args_hash", "revision", "policy_hash"])
def test_an_approval_is_bound_to_every_part_of_the_intent(changed: str) -> None:
    """Rows: S2-004, S2-045; Ledger: L8"""
    from msgspec.structs import replace

    other: IntentRecord = replace(INTENT, **{changed: "something else"})
    assert binding(other) != binding(INTENT)
    finding = RequireApproval().check(Matter(other, approvals=(approval(INTENT),)))
    assert not finding.holds
    assert "bound to another" in finding.stale[0]


def test_explain_lists_each_conjunct_and_what_is_stale() -> None:
    """Rows: S2-005"""
    shown = (evidence("e0", "tests", revision="old"), GREEN[1])
    findings = RULES.explain(Matter(INTENT, shown, (approval(record(revision="old")),)))
    assert [(f.rule, f.holds) for f in findings] == [
        ("evidence:tests", False),
        ("evidence:security", True),
        ("approval:release", False),
    ]
    assert "revision old" in findings[0].stale[0]
    assert "another operation" in findings[2].stale[0]


def test_several_approvers_and_not_the_requester() -> None:
    rule = RequireApproval("release", count=2, exclude_requester=True)
    intent = record(requester="alice")
    by_two = (approval(intent, "alice"), approval(intent, "bob"))
    assert rule.check(Matter(intent, approvals=by_two)).verdict == NeedsApproval("release", 1)
    by_three = (*by_two, approval(intent, "carol"))
    assert rule.check(Matter(intent, approvals=by_three)).holds
    twice = (approval(intent, "bob"), approval(intent, "bob", expires_at=9.0))
    assert rule.check(Matter(intent, approvals=twice)).verdict == NeedsApproval("release", 1)


def test_a_role_must_be_held() -> None:
    intern = Approval.of(INTENT, Principal("dan"), at=0.0)
    assert not RequireApproval("release").check(Matter(INTENT, approvals=(intern,))).holds
    assert RequireApproval().check(Matter(INTENT, approvals=(intern,))).holds


def test_a_no_is_final() -> None:
    no = approval(INTENT, granted=False)
    assert isinstance(RULES.decide(Matter(INTENT, GREEN, (approval(INTENT, "bob"), no))), Denied)


def test_an_approval_is_used_up_by_a_claim_but_serves_the_same_operations_retry() -> None:
    yes = approval(INTENT)
    rule = RequireApproval()
    assert rule.check(Matter(INTENT, approvals=(yes,))).holds
    assert not rule.check(Matter(INTENT, approvals=(yes,), consumed=(yes.id,))).holds
    assert rule.check(Matter(INTENT, approvals=(yes,), consumed=(yes.id,), retry=True)).holds
    twice = approval(INTENT, max_uses=2)
    assert rule.check(Matter(INTENT, approvals=(twice,), consumed=(twice.id,))).holds


def test_the_hash_follows_what_a_policy_demands() -> None:
    hashes = {
        Policy("p").hash,
        Policy("p", version="2").hash,
        Policy("q").hash,
        Policy("p", (RequireEvidence("tests"),)).hash,
        Policy("p", (RequireEvidence("security"),)).hash,
        Policy("p", (RequireApproval("a"),)).hash,
        Policy("p", (RequireApproval("a", 2),)).hash,
    }
    assert len(hashes) == 7
    assert Policy("p", (RequireEvidence("tests"),)).hash == Policy("p", (RequireEvidence("tests"),)).hash


def test_a_policy_of_one_function() -> None:
    @policy("small", version="3")
    def small(matter: Matter) -> Decision:
        return Decision.allow() if matter.now < 10 else Decision.refuse("too late")

    assert small.decide(Matter(INTENT, now=9.0)) == Allowed()
    assert small.decide(Matter(INTENT, now=10.0)) == Denied("too late")


def test_a_policy_that_gives_no_decision_is_told_so() -> None:
    wrong = policy("wrong")(lambda matter: True)  # pyright: ignore[reportArgumentType, reportUnknownLambdaType]
    with pytest.raises(ConfigurationError, match=r"Decision\.allow"):
        wrong.decide(Matter(INTENT))


def test_a_yes_comes_from_authorize_alone() -> None:
    """Rows: S2-018"""
    yes = authorize(RULES, Matter(INTENT, GREEN, (approval(INTENT),)))
    assert isinstance(yes, Authorized)
    assert yes.op_id == INTENT.op_id
    with pytest.raises(TypeError):
        Authorized(Matter(INTENT), RULES.hash, (), object())
    with pytest.raises(TypeError):
        copy.copy(yes)
    with pytest.raises(TypeError):
        yes.op_id = "other"
    assert authorize(RULES, Matter(INTENT)) == NeedsEvidence(("tests", "security"))
    assert authorize(Policy("open"), Matter(INTENT), Decision.refuse("not ours")) == Denied("not ours")


def test_a_revision_is_a_hash_of_content() -> None:
    assert Revision.of({"a": 1}) == Revision.of({"a": 1})
    assert Revision.of({"a": 1}) != Revision.of({"a": 1.0})
