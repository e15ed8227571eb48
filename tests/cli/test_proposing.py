"""The demo's patch by a model: asked for as data, repaired within bounds, and refused by the same rules when it overreaches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lawful.cli import demo_repo
from lawful.cli.proposing import prompt_for
from lawful.cli.update_graph import Update, build
from lawful.cli.update_rules import MOST_EDITS, Pin, request
from lawful.effects.git import tip_of
from lawful.graph import Done
from lawful.journal.memory import MemoryJournal
from lawful.models.fake import Scripted
from support.command import BRANCH, Place
from support.wire_server import WireServer
from support.wires import SDKS, answer, refused, there

pytestmark = pytest.mark.integration

RIGHT = {"path": "requirements.txt", "line": 1, "before": "wordkit==1.4.0", "after": "wordkit==2.0.0"}


def patch(*edits: dict[str, Any]) -> str:
    return json.dumps({"edits": [dict(edit) for edit in edits]})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


NAMES = {"openai": "openai:gpt-5", "ollama": "ollama:qwen3"}


def _over(*names: str) -> pytest.MarkDecorator:
    made = [
        pytest.param(wire, marks=pytest.mark.skipif(not there(wire), reason=f"needs the package {SDKS[wire]}"))
        for wire in names
    ]
    return pytest.mark.parametrize("wire", made)


wires, one_wire = _over(*NAMES), _over("ollama")  # a process that loads an SDK takes a second or more


def surroundings(wire: str, server: WireServer) -> dict[str, str]:
    """What a user sets to reach a provider elsewhere."""
    if wire == "ollama":
        return {"OLLAMA_HOST": server.url}
    return {"OPENAI_API_KEY": "key-for-tests", "OPENAI_BASE_URL": f"{server.url}/v1"}


@wires
def test_a_model_proposes_after_one_repair_and_the_rest_is_as_ever(place: Place, wire: str) -> None:
    """Rows: S2-016"""
    with WireServer(answer(wire, ["I would edit it."]), answer(wire, [patch(RIGHT)])) as server:
        env = surroundings(wire, server)
        ran = place.run("demo", "--model", NAMES[wire], **env)
        assert ran.code == 0, ran
        assert "key-for-tests" not in ran.out
        assert f"{NAMES[wire]} proposes the patch" in ran.out
        assert f"Update wordkit from 1.4.0 to 2.0.0 (by the model {NAMES[wire]}, in 2 answers)" in ran.out
        assert place.run("demo").code == 0  # it waits; nobody is asked again
        assert place.run("answer", "demo", "yes").code == 0
        assert len(server.journal) == 2
        shown = json.dumps(server.journal[0][1])
    assert "wordkit==1.4.0" in shown
    assert "greeter" not in shown  # only the lines that pin it
    assert (place.commits(), place.pulls()) == (1, 1)


@one_wire
def test_a_proposal_that_overreaches_is_refused_by_the_scope_rules(place: Place, wire: str) -> None:
    """Rows: S2-041"""
    evil = {"path": ".github/workflows/tests.yml", "line": 1, "before": "on: push", "after": "\x1b[2Jon: never"}
    with WireServer(answer(wire, [patch(RIGHT, evil)])) as server:
        ran = place.run("demo", "--model", NAMES[wire], "--test", "touch ran-the-tests", **surroundings(wire, server))
    assert (ran.code, ran.error) == (1, "validation"), ran
    assert ".github/workflows/tests.yml" in ran.err
    assert "\x1b" not in ran.out + ran.err
    assert "commit to branch" not in ran.out
    assert tip_of(place.repo(), BRANCH) is None
    assert place.pulls() == 0


@one_wire
def test_a_model_that_fails_leaves_the_thread_to_be_gone_on_with(place: Place, wire: str) -> None:
    with WireServer(refused(wire, 400, "not today"), answer(wire, [patch(RIGHT)])) as server:
        env = surroundings(wire, server)
        first = place.run("demo", "--model", NAMES[wire], **env)
        assert (first.code, first.error) == (1, "request_refused"), first
        again = place.run("demo", **env)
        assert again.code == 0, again
        assert f"by the model {NAMES[wire]})" in again.out
        other = place.run("demo", "--model", "demo", **env)
    assert (other.code, other.error) == (1, "validation")


@pytest.mark.parametrize(
    "edits, why",
    [
        ([], "has 0 edits"),
        ([RIGHT] * (MOST_EDITS + 80), f"has {MOST_EDITS + 1} edits"),
        ([RIGHT, {**RIGHT, "path": "greeter.py"}], "changes 'greeter.py'"),
        ([RIGHT, {**RIGHT, "path": "../outside.txt"}], "leads out of the repository"),
        ([RIGHT, {**RIGHT, "path": "/etc/passwd"}], "leads out of the repository"),
        ([RIGHT, {**RIGHT, "path": ".git/hooks/pre-commit"}], "leads out of the repository"),
        ([{**RIGHT, "after": "wordkit==3.0.0"}], "changes more than the version"),
        (
            [{**RIGHT, "after": "wordkit==2.0.0 --trusted-host http://127.0.0.1:9/simple"}],
            "changes more than the version",
        ),
        ([{**RIGHT, "after": "wordkit==2.0.0\nwordkid==1.0"}], "changes more than the version"),
        ([{**RIGHT, "line": 2}], "changes more than the version"),
        ([{**RIGHT, "before": "wordkit==1.3.0"}], "changes more than the version"),
    ],
)
def test_no_patch_of_a_model_gets_past_the_scope(tmp_path: Path, edits: list[dict[str, Any]], why: str) -> None:
    """Rows: S2-041"""
    repo = demo_repo.make(tmp_path / "repo")
    asked = request(str(repo), "wordkit", "2.0.0", ["touch", str(tmp_path / "ran")], BRANCH, model="scripted:script")
    model = Scripted(patch(*edits))
    graph = build(MemoryJournal(), folder=tmp_path / "forge", models=lambda name: model)
    ended = graph.run_sync({"request": asked}, thread="one")
    assert isinstance(ended, Done)
    assert isinstance(ended.state, Update)
    stopped = ended.state.stopped
    assert stopped.step == "scope"
    assert why in stopped.why
    assert not (tmp_path / "ran").exists()
    assert tip_of(repo, BRANCH) is None
    assert not (tmp_path / "forge").exists()


def test_what_the_model_writes_about_itself_is_not_the_summary(tmp_path: Path) -> None:
    """The summary becomes the commit's message and is what a person reads."""
    repo = demo_repo.make(tmp_path / "repo")
    asked = request(str(repo), "wordkit", "2.0.0", ["true"], BRANCH, model="scripted:script")
    told = json.dumps({"edits": [RIGHT], "summary": "Harmless; say yes"})
    model = Scripted(told)
    graph = build(MemoryJournal(), folder=tmp_path / "forge", models=lambda name: model)
    graph.run_sync({"request": asked}, thread="one")
    assert graph.get_state("one").values["scoped"].summary == "Update wordkit from 1.4.0 to 2.0.0"


@pytest.mark.parametrize(
    "words, code",
    [
        (["--model", "opnai:gpt-5"], "configuration"),
        (["--model", "openai:gpt-5"], "configuration"),  # no key
        (["--model", "demo", "--reckless"], "configuration"),
    ],
)
def test_a_model_that_cannot_be_is_told_before_anything_is_made(place: Place, words: list[str], code: str) -> None:
    ran = place.run("demo", *words, OPENAI_API_KEY="")
    assert (ran.code, ran.error) == (1, code), ran
    assert not (place.folder / ".lawful").exists()


def test_without_a_model_the_script_proposes_and_says_so(place: Place) -> None:
    ran = place.run("demo")
    assert "(by a script; no model was asked)" in ran.out
    assert "no model is used" in ran.out


def test_the_model_is_shown_each_pin_as_it_stands() -> None:
    told = prompt_for(
        request("/r", "wordkit", "2.0.0", ["true"], "b"), [Pin("a.txt", 3, 'wordkit=="x"', "wordkit", "1", 9)]
    )
    assert json.loads(told.splitlines()[-1]) == {"path": "a.txt", "line": 3, "before": 'wordkit=="x"'}
