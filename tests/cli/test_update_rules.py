"""The pure rules of a dependency update: which lines are pins, what a patch may do, and that it does just that."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from lawful.cli.update_rules import (
    RULES,
    Edit,
    Proposed,
    apply,
    check_scope,
    normal,
    pins_in,
    pins_of,
    propose,
    request,
)
from lawful.core.errors import ValidationError
from lawful.core.result import Err, Ok
from lawful.effects.branch_commit import BranchCommit
from lawful.effects.evidence import Evidence
from lawful.effects.intents import IntentRecord
from lawful.effects.policy import Matter, NeedsApproval, NeedsEvidence

pytestmark = pytest.mark.unit

ASKED = request("/repo", "fast-kit", "2.0", ["true"], "update")
TEXT = "# head\nfast_kit==1.0\nother==3\n"
PINS = tuple(pin for n, text in enumerate(TEXT.splitlines(), 1) for pin in pins_in("requirements.txt", n, text))
MINE = pins_of("fast-kit", PINS).unwrap()


@pytest.mark.parametrize(
    "text, found",
    [
        ("kit==1.0", ("kit", "1.0")),
        ("  Fast.Kit[a,b] == 1!2.0rc1+x ; python_version<'3'", ("Fast.Kit", "1!2.0rc1+x")),
        ("kit==1.0 # why", ("kit", "1.0")),
        ("kit>=1.0", None),
        ("kit==1.*", None),
        ("kit==1.0,<2", None),
        ("kit==1.0 \\", None),
        ("kit==1.0 --hash=sha256:00", None),
        ("# kit==1.0", None),
        ("-e kit==1.0", None),
        ("kit===1.0", None),
        ("kit==1.0#x", None),
        ("", None),
    ],
)
def test_which_lines_of_requirements_are_pins(text: str, found: tuple[str, str] | None) -> None:
    pins = pins_in("requirements.txt", 7, text)
    assert [(pin.name, pin.version) for pin in pins] == ([found] if found else [])
    assert all(text[pin.at : pin.at + len(pin.version)] == pin.version for pin in pins)


def test_several_pins_in_one_line_of_a_toml_file() -> None:
    pins = pins_in("pyproject.toml", 1, 'deps = ["kit[x]==1.0", \'other == 2 ; x\', "loose>=1", "no==1.*"]')
    assert [(pin.name, pin.version) for pin in pins] == [("kit", "1.0"), ("other", "2")]


@pytest.mark.parametrize("package", ["", "-x", "a b", "../x", "a\n", "a" * 101, "é"])
def test_no_names(package: str) -> None:
    with pytest.raises(ValidationError):
        request("/repo", package, "1.0", ["true"], "b")


@pytest.mark.parametrize("version", ["", "v1", "1 0", "1.0\n", "1;x", "1" * 61, "-1"])
def test_no_versions(version: str) -> None:
    with pytest.raises(ValidationError):
        request("/repo", "kit", version, ["true"], "b")


def test_a_package_that_is_not_pinned_names_the_nearest() -> None:
    match pins_of("fast-kat", PINS):
        case Err(error):
            assert "Did you mean 'fast_kit'?" in error.message
        case Ok(pins):
            pytest.fail(f"found {pins}")


def test_the_proposal_is_in_scope_and_does_only_what_was_asked() -> None:
    """Rows: S2-003"""
    patch = propose(ASKED, MINE)
    match check_scope(ASKED, MINE, patch):
        case Ok(scoped):
            assert apply(TEXT, scoped.edits) == TEXT.replace("fast_kit==1.0", "fast_kit==2.0")
        case Err(error):
            pytest.fail(error.message)


EDIT = propose(ASKED, MINE).edits[0]


@pytest.mark.parametrize(
    "edits",
    [
        (),
        (EDIT,) * 21,
        (replace(EDIT, path="../requirements.txt"),),
        (replace(EDIT, path="/etc/passwd"),),
        (replace(EDIT, path=".git/config"),),
        (replace(EDIT, path="setup.py"),),
        (EDIT, Edit("ci.yml", 1, "", "x")),
        (replace(EDIT, line=3, before="other==3", after="other==2.0"),),
        (replace(EDIT, after="fast_kit==2.0\nevil==1"),),
        (replace(EDIT, after="evil_kit==2.0"),),
        (replace(EDIT, after="fast_kit==9.9"),),
        (replace(EDIT, before="fast_kit==0.9"),),
        (EDIT, replace(EDIT, line=1)),
    ],
    ids=range(13),
)
def test_any_other_patch_is_out_of_scope(edits: tuple[Edit, ...]) -> None:
    """Rows: S2-041, S2-010"""
    assert isinstance(check_scope(ASKED, MINE, Proposed("s", "someone", edits)), Err)


_word = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=12
)


@pytest.mark.property
@settings(max_examples=60)
@given(st.lists(_word, max_size=6), st.integers(0, 6), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_only_the_edited_line_changes(lines: list[str], place: int, end: str, last: bool) -> None:
    place = min(place, len(lines))
    text = end.join([*lines[:place], "fast_kit==1.0", *lines[place:]]) + (end if last else "")
    [pin] = pins_in("requirements.txt", place + 1, "fast_kit==1.0")
    [edit] = propose(ASKED, [pin]).edits
    expected = end.join([*lines[:place], "fast_kit==2.0", *lines[place:]]) + (end if last else "")
    assert apply(text, [edit]) == expected


@pytest.mark.parametrize("line", [0, 2, 9])
def test_an_edit_of_another_line_is_refused(line: int) -> None:
    with pytest.raises(ValidationError):
        apply("fast_kit==1.0\nx\n", [replace(EDIT, line=line)])


def test_names_are_compared_as_packages_are() -> None:
    assert normal("Fast._Kit") == normal("fast-kit")


@pytest.mark.parametrize("revision, counts", [("c1", True), ("c2", False)])
def test_evidence_counts_for_its_own_commit_only(revision: str, counts: bool) -> None:
    """Rows: S2-043"""
    intent = IntentRecord("local", "op", "tool", "1", {}, "h", "k", BranchCommit().promised, revision="c1")
    evidence = tuple(Evidence(kind, kind, revision, True, "me", 1.0) for kind in ("scope", "tests"))
    said = RULES.decide(Matter(intent, evidence, now=2.0))
    assert isinstance(said, NeedsApproval if counts else NeedsEvidence)
