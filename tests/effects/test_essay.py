"""The essay's ten scenarios, on the example programs that the documentation shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from docs_src import essay_decisions as decisions
from docs_src import essay_publication as publication
from docs_src import essay_results as results
from docs_src.essay_decisions import Authorized, AwaitingApproval, Proposed, prepare

from lawful import Err, Ok
from lawful.effects import NotFound, Unavailable
from lawful.effects.publication import CheckReport, PublishApproval

pytestmark = pytest.mark.unit

PATCH = Proposed("acme/shop", ("package.json",))
PASSED = CheckReport("abc123", tests=True, security=True)
YES = PublishApproval("abc123", granted=True)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """The examples keep the forge in lists of their own."""
    yield
    for each in (publication.pulls, publication.trouble, publication.shows, results.calls):
        each.clear()


def test_a_patch_that_passes_everything_is_authorized_and_published() -> None:
    """Rows: S2-040, S2-003"""
    got = prepare(PATCH, PASSED, YES)
    assert isinstance(got, Ok)
    assert isinstance(got.value, Authorized)
    assert got.value.checked.report == PASSED
    assert publication.publish(got.value.checked.scoped.revision) == "Succeeded, 1 at the forge"


@pytest.mark.parametrize(
    "patch", [Proposed("acme/shop", ("package.json", "ci.yml")), Proposed("other/shop", ("package.json",))]
)
def test_a_patch_out_of_scope_is_refused_and_no_check_is_looked_at(
    patch: Proposed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows: S2-041, S2-010"""

    def looked(scoped: object) -> object:
        raise AssertionError("the checks were looked at")

    monkeypatch.setattr(decisions, "accept_checks", lambda report: looked)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert isinstance(prepare(patch, PASSED, YES), Err)


@pytest.mark.parametrize("tests, security", [(False, True), (True, False), (False, False)])
def test_failing_checks_end_it_before_an_approval_is_asked_for(tests: bool, security: bool) -> None:
    """Rows: S2-042"""
    got = prepare(PATCH, CheckReport("abc123", tests=tests, security=security), None)
    assert decisions.told(got) == "a required check failed"


def test_evidence_about_another_revision_is_refused() -> None:
    """Rows: S2-043, S2-004"""
    assert isinstance(prepare(PATCH, CheckReport("older", tests=True, security=True), YES), Err)


def test_a_missing_approval_is_a_state_of_its_own() -> None:
    """Rows: S2-044, S2-009"""
    assert prepare(PATCH, PASSED, None) == Ok(AwaitingApproval("abc123"))


def test_an_approval_of_another_revision_does_not_count() -> None:
    """Rows: S2-045"""
    assert isinstance(prepare(PATCH, PASSED, PublishApproval("older", granted=True)), Err)


def test_the_decision_is_total_and_yes_in_one_case_alone() -> None:
    """Rows: S2-005"""
    for tests, security, evidence, approved, granted in product((True, False), repeat=5):
        report = CheckReport("abc123" if evidence else "older", tests=tests, security=security)
        got = prepare(PATCH, report, PublishApproval("abc123" if approved else "older", granted=granted))
        assert got.is_ok() is all((tests, security, evidence, approved, granted))


def test_a_publication_whose_reply_is_lost_is_found_and_is_there_once() -> None:
    """Rows: S2-046, S2-001"""
    publication.trouble.append("lose")
    assert publication.publish("abc123") == "Succeeded, 1 at the forge"


@pytest.mark.parametrize("seen", [NotFound(), Unavailable("down")])
@pytest.mark.parametrize("trouble, there", [("lose", 1), ("cut", 0)])
def test_a_look_up_that_settles_nothing_leaves_it_open_and_sends_nothing(
    seen: NotFound | Unavailable, trouble: str, there: int
) -> None:
    """Rows: S2-047, S2-026"""
    publication.trouble.append(trouble)
    publication.shows.append(seen)
    assert publication.publish("abc123") == f"Unknown, {there} at the forge"


def test_a_failed_result_skips_its_continuation() -> None:
    """Rows: S2-048"""
    failed = results.less_one(0)
    assert isinstance(failed, Err)
    assert failed.bind(results.halved) is failed
    assert results.calls == []
    results.less_one(9).bind(results.halved)
    assert results.calls == [8]


@pytest.mark.parametrize("n", [-4, -1, 0, 1, 2, 7, 8])
def test_the_monad_laws_on_representative_cases(n: int) -> None:
    """Rows: S2-049, S2-008"""
    unit, f, g = results.unit, results.halved, results.less_one
    assert unit(n).bind(f) == f(n)
    for m in (unit(n), f(n), g(n)):
        assert m.bind(unit) == m
        assert m.bind(f).bind(g) == m.bind(lambda x: f(x).bind(g))
