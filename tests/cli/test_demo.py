"""`lawful demo` and `lawful answer` as a person runs them: paused, yes, no, refused, stale, several at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from lawful.cli import demo_repo
from lawful.cli.publishing import DemoCommit, Play
from lawful.cli.update_graph import RULES, build
from lawful.cli.update_rules import request
from lawful.core.errors import ValidationError
from lawful.effects import EffectContext
from lawful.effects.branch_commit import BranchMove, Committed
from lawful.effects.git import git, tip_of
from lawful.graph import Done, Paused
from lawful.journal.memory import MemoryJournal
from support.command import BRANCH, Place, commits, ended
from support.git_repo import ME

pytestmark = pytest.mark.integration

STEPS = ["read", "propose", "scope", "test", "judge", "approve", "commit", "publish"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def steps(out: str) -> list[str]:
    """The steps that a run told, in order, before it asked."""
    told = [line.split()[0] for line in out.splitlines() if line.startswith("  ") and line[2:3].strip()]
    return [word for word in told if word in STEPS]


def test_it_runs_to_the_pause_and_shows_what_it_asks(place: Place) -> None:
    """Rows: S2-016, S2-044"""
    ran = place.run("demo")
    assert ran.code == 0, ran
    assert ran.err == ""
    assert steps(ran.out)[:5] == STEPS[:5]
    question = ran.out[ran.out.index("commit to branch") :]
    for part in ("- wordkit==1.4.0", "+ wordkit==2.0.0", "tests: yes (python -m unittest: exit code 0)", "digest"):
        assert part in question
    assert "answer demo yes" in question
    assert "\x1b" not in ran.out
    assert tip_of(place.repo(), BRANCH) is None
    # A second look changes nothing and asks the same.
    again = place.run("demo")
    assert again.code == 0, again
    assert again.out[again.out.index("commit to branch") :] == question


def test_yes_makes_exactly_one_commit(place: Place) -> None:
    """Rows: S2-040"""
    place.run("demo")
    main = tip_of(place.repo(), "main")
    ran = place.run("answer", "demo", "yes", "--by", "Ada Lovelace")
    assert ran.code == 0, ran
    assert steps(ran.out) == ["approve", "commit", "publish"]
    assert place.commits() == 1
    assert place.pulls() == 1
    assert "The forge holds 1 pull request for that branch: #1" in ran.out
    assert git(place.repo(), "show", f"{BRANCH}:requirements.txt").out == "wordkit==2.0.0"
    assert git(place.repo(), "diff", "--name-only", "main", BRANCH).out == "requirements.txt"
    assert tip_of(place.repo(), "main") == main
    assert git(place.repo(), "status", "--porcelain").out == ""
    assert git(place.repo(), "worktree", "list", "--porcelain").out.count("worktree ") == 1
    tip = tip_of(place.repo(), BRANCH)
    assert place.run("answer", "demo", "yes").error == "unknown_question"
    assert place.run("answer", "demo", "no").error == "unknown_question"
    for verb in ("demo", "recover"):
        assert place.run(verb).code == 0
    assert tip_of(place.repo(), BRANCH) == tip
    assert place.run("show", "demo", "--json").json()["values"]["approved_by"] == "Ada Lovelace"


def test_no_commits_nothing(place: Place) -> None:
    place.run("demo", "--test", "true")
    ran = place.run("answer", "demo", "no", "--by", "Grace")
    assert ran.code == 0, ran
    assert "Grace said no" in ran.out
    assert tip_of(place.repo(), BRANCH) is None
    shown = place.run("show", "demo", "--json").json()
    assert shown["status"] == "stopped at approve"
    assert [each["state"] for each in shown["effects"]] == ["Cancelled", "Cancelled"]
    assert place.pulls() == 0
    assert "has ended already" in place.run("demo").out


def test_a_patch_out_of_scope_is_refused_before_any_test_runs(place: Place) -> None:
    """Rows: S2-041"""
    ran = place.run("demo", "--reckless", "--test", "touch ran")
    assert (ran.code, ran.error) == (1, "validation")
    assert ".github/workflows/tests.yml" in ran.err
    assert steps(ran.out) == ["read", "propose", "scope"]
    assert tip_of(place.repo(), BRANCH) is None


@pytest.mark.parametrize(
    "options, why",
    [
        (["--to", "3.0.0"], "exit code 1"),
        (["--test", "false"], "exit code 1"),
        (["--test", "no-such-command-here"], "could not be started"),
        (["--test", "sh -c 'echo >> greeter.py'"], "the tests changed greeter.py"),
    ],
)
def test_failing_tests_end_it_and_nobody_is_asked(place: Place, options: list[str], why: str) -> None:
    """Rows: S2-042"""
    ran = place.run("demo", *options)
    assert (ran.code, ran.error) == (1, "checks_failed")
    assert why in ran.err
    assert "answer demo" not in ran.out
    assert git(place.repo(), "for-each-ref", "--format=%(refname)").out == "refs/heads/main"
    shown = place.run("show", "demo", "--json").json()
    assert (shown["effects"], shown["questions"], shown["next"]) == ([], [], [])


@pytest.mark.parametrize("branch", [BRANCH, "release"], ids=["made meanwhile", "moved meanwhile"])
def test_a_branch_that_moved_after_the_question_is_left_as_it_is(place: Place, branch: str) -> None:
    """Rows: S2-045"""
    demo_repo.make(place.repo())
    if branch == "release":
        git(place.repo(), "branch", "release", "main")
    place.run("demo", "--test", "true", "--branch", branch)
    other = git(place.repo(), "commit-tree", "main^{tree}", "-p", "main", "-m", "by somebody else", env=ME).out
    git(place.repo(), "update-ref", f"refs/heads/{branch}", other)
    ran = place.run("answer", "demo", "yes")
    assert (ran.code, ran.error) == (1, "effect_refused")
    assert other in ran.err
    assert tip_of(place.repo(), branch) == other
    for verb in ("demo", "recover"):
        place.run(verb)
    assert tip_of(place.repo(), branch) == other


def test_a_branch_that_moves_between_approval_and_send_is_left_as_it_is(tmp_path: Path) -> None:
    """Rows: S2-045"""
    repo = demo_repo.make(tmp_path / "repo")
    other = git(repo, "commit-tree", "main^{tree}", "-p", "main", "-m", "by somebody else", env=ME).out

    class Late(DemoCommit):
        async def perform(self, command: BranchMove, ctx: EffectContext) -> Committed:
            git(repo, "update-ref", f"refs/heads/{BRANCH}", other)
            return await super().perform(command, ctx)

    graph = build(MemoryJournal(), commit=Late(Play(), RULES))
    asked = request(str(repo), "wordkit", "2.0.0", ["true"], BRANCH)
    paused = graph.run_sync({"request": asked}, thread="t")
    assert isinstance(paused, Paused)
    done = graph.resume_sync("t", paused.questions[0].answer(True), by="ada")
    assert isinstance(done, Done)
    assert done.state.stopped.code == "effect_refused"
    assert tip_of(repo, BRANCH) == other


def test_another_threads_update_of_the_same_branch_finds_nothing_to_do(place: Place) -> None:
    demo_repo.make(place.folder / "repo")
    options = ["--repo", "repo", "--package", "wordkit", "--to", "2.0.0", "--test", "true", "--yes"]
    assert place.run("demo", *options).code == 0
    second = place.run("demo", *options, "--thread", "second")
    assert second.code == 0, second
    assert "is at 2.0.0 already" in second.out
    assert commits(place.folder / "repo", BRANCH) == 1


# Somebody's own repository


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A repository with pins in two files, and with unfinished work lying about."""
    repo = tmp_path / "own"
    (repo / "sub").mkdir(parents=True)
    git(repo, "init", "--quiet", "--initial-branch=main")
    (repo / "pyproject.toml").write_text(
        "[project]\ndependencies = [\n  \"Fast_Kit[x]==1.0; python_version>'3'\",\n]\n"
    )
    (repo / "sub" / "requirements-dev.txt").write_bytes(b"# tools\r\nfast.kit == 1.0  # pinned\r\nother==2\r\n")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "-m", "Start", env=ME)
    (repo / "pyproject.toml").write_text("unfinished\n")
    (repo / "new.txt").write_text("new\n")
    git(repo, "add", "new.txt")
    return repo


def test_a_repository_of_ones_own_with_unfinished_work(place: Place, own: Path) -> None:
    before = git(own, "status", "--porcelain").out
    index = (own / ".git" / "index").read_bytes()
    options = ["--repo", str(own / "sub"), "--package", "fast-kit", "--to", "1.1"]
    ran = place.run("demo", *options, "--test", "grep -q 1.1 pyproject.toml")
    assert ran.code == 0, ran
    assert "answer fast-kit-1.1 yes" in ran.out
    assert place.run("answer", "fast-kit-1.1", "yes").code == 0
    branch = "lawful/fast-kit-1.1"
    assert commits(own, branch) == 1
    changed = git(own, "diff", "--unified=0", "main", branch).out
    assert "+  \"Fast_Kit[x]==1.1; python_version>'3'\"," in changed
    assert "+fast.kit == 1.1  # pinned" in changed
    assert git(own, "diff", "--numstat", "main", branch).out.split("\n") == [
        "1\t1\tpyproject.toml",
        "1\t1\tsub/requirements-dev.txt",
    ]
    assert (own / "pyproject.toml").read_text() == "unfinished\n"
    assert git(own, "status", "--porcelain").out == before
    assert (own / ".git" / "index").read_bytes() == index


def test_a_repository_whose_ids_are_sha256(place: Place) -> None:
    repo = place.folder / "wide"
    repo.mkdir()
    if git(repo, "init", "--quiet", "--object-format=sha256", "--initial-branch=main", check=False).code != 0:
        pytest.skip("this git knows no sha256")
    (repo / "requirements.txt").write_text("kit==1.0\n")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "-m", "Start", env=ME)
    options = ["--repo", "wide", "--package", "kit", "--to", "2.0", "--test", "true"]
    assert place.run("demo", *options, "--yes").code == 0
    assert commits(repo, "lawful/kit-2.0") == 1


@pytest.mark.parametrize(
    "options, code",
    [
        (["--package", "../../etc/passwd"], "validation"),
        (["--package", "--upload-pack=touch x"], "validation"),
        (["--package", "a; rm -rf ."], "validation"),
        (["--package", "wordkit\x1b[31m"], "validation"),
        (["--package", ""], "validation"),
        (["--to", "1.0 --hash=x"], "validation"),
        (["--to", "$(touch x)"], "validation"),
        (["--to", "1.0\nevil==2"], "validation"),
        (["--branch", "../../HEAD"], "validation"),
        (["--branch", "-f"], "validation"),
        (["--branch", "main"], "validation"),
        (["--test", ""], "validation"),
        (["--test", "echo 'open"], "validation"),
        (["--repo", "no-such-folder"], "validation"),
        (["--repo", "."], "validation"),
        (["--repo", "own\x00"], None),
        (["--thread", "a\nb"], "invalid_thread_id"),
        (["--thread", "x" * 256], "invalid_thread_id"),
        (["--by", "a\nb", "--yes"], "validation"),
        (["--kill-after-effect"], "configuration"),
        (["--kill-after-commit"], "configuration"),
        (["--lose-reply"], "configuration"),
        (["--moved"], "configuration"),
        (["--package", "missing-kit"], "validation"),
    ],
    ids=str,
)
def test_hostile_and_wrong_options_are_refused(place: Place, own: Path, options: list[str], code: str | None) -> None:
    if code is None:
        with pytest.raises(ValueError, match="null byte"):  # no process can be given such a word at all
            place.run("demo", *options)
        return
    given = {"--repo": str(own), "--package": "fast-kit", "--to": "1.1", "--test": "true"}
    given.update(dict(zip(options[::2], options[1::2], strict=False)))
    flags = [options[-1]] if len(options) % 2 else []
    words = [*(f"{name}={value}" for name, value in given.items()), *flags]
    ran = place.run("demo", *words)
    assert (ran.code, ran.error) == (1, code), ran
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err + ran.out
    assert git(own, "for-each-ref", "--format=%(refname)").out == "refs/heads/main"
    assert sorted(path.name for path in place.folder.iterdir()) in ([".lawful", "own"], ["own"])


def test_repo_wants_the_other_three(place: Place, own: Path) -> None:
    ran = place.run("demo", "--repo", str(own), "--package", "fast-kit")
    assert (ran.code, ran.error) == (1, "configuration")
    assert "--to, --test" in ran.err


def test_a_thread_is_not_taken_over_by_another_request(place: Place) -> None:
    place.run("demo", "--test", "true")
    ran = place.run("demo", "--to", "3.0.0")
    assert (ran.code, ran.error) == (1, "validation")
    assert "choose another" in ran.err
    assert place.run("demo", "--test", "true").code == 0


def test_something_else_in_the_demos_folder_is_left_alone(place: Place) -> None:
    place.repo().mkdir(parents=True)
    (place.repo() / "mine.txt").write_text("mine")
    ran = place.run("demo")
    assert (ran.code, ran.error) == (1, "validation")
    assert [path.name for path in place.repo().iterdir()] == ["mine.txt"]


def test_the_demos_repository_is_the_same_everywhere(tmp_path: Path) -> None:
    one, two = demo_repo.make(tmp_path / "one"), demo_repo.make(tmp_path / "two")
    assert tip_of(one, "main") == tip_of(two, "main")
    assert demo_repo.make(one) == one
    (tmp_path / "file").write_text("")
    with pytest.raises(ValidationError):
        demo_repo.make(tmp_path / "file")


# Several at once


def test_two_simultaneous_answers_make_one_commit_and_one_loser(place: Place) -> None:
    place.run("demo", "--test", "true")
    children = [place.start("answer", "demo", "yes", "--by", name) for name in ("ada", "bob")]
    first, second = sorted((ended(child) for child in children), key=lambda ran: ran.code)
    assert first.code == 0, first
    assert (second.code, second.error) in [(1, "already_answered"), (1, "unknown_question")], second
    assert place.commits() == 1


def test_a_yes_and_a_no_at_once_end_as_one_of_them(place: Place) -> None:
    place.run("demo", "--test", "true")
    children = [place.start("answer", "demo", word) for word in ("yes", "no")]
    yes, no = [ended(child) for child in children]
    assert sorted([yes.code, no.code]) == [0, 1], (yes, no)
    assert place.commits() == (1 if yes.code == 0 else 0)


def test_two_demos_at_once_ask_one_question(place: Place) -> None:
    ran = [ended(child) for child in [place.start("demo", "--test", "true") for _ in range(2)]]
    assert 0 in {each.code for each in ran}, ran
    assert {each.error for each in ran} <= {"", "thread_busy"}
    assert len(place.run("show", "demo", "--json").json()["questions"]) == 1
    assert place.run("answer", "demo", "yes").code == 0
    assert place.commits() == 1
