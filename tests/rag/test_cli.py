"""`lawful index` and `lawful ask`, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lawful.cli.main import main
from lawful.rag import Index

pytestmark = pytest.mark.integration


@pytest.fixture
def handbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "leave.md").write_text("# Leave\n\nEveryone has thirty days of leave a year.\n")
    (folder / "travel.md").write_text("# Travel\n\nTrains are booked by the office.\n")
    return folder


def test_files_go_in_and_passages_come_out(handbook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cases: A20."""
    assert main(["index", "handbook", "--split", "markdown", "--check"]) == 0
    assert "2 added; 2 passages stored, 2 in" in capsys.readouterr().out
    assert main(["ask", "how many days of leave"]) == 0
    first, text = capsys.readouterr().out.splitlines()[:2]
    assert (first, text.strip()) == ("[handbook/leave.md#1] Leave", "# Leave Everyone has thirty days of leave a year.")
    with Index.open(Path(".lawful") / "index.db") as index:
        index.vectors.delete(["handbook/leave.md#1"])
    (handbook / "travel.md").unlink()
    (handbook / "new.md").write_text("New.")
    assert main(["index", "handbook", "--split", "markdown", "--remove", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["healed"], told["removed"], told["added"], told["total"]) == (
        ["handbook/leave.md"],
        ["handbook/travel.md"],
        ["handbook/new.md"],
        2,
    )
    assert main(["ask", "leave", "--json", "--passages", "1"]) == 0
    assert [hit["id"] for hit in json.loads(capsys.readouterr().out)] == ["handbook/leave.md#1"]


def test_what_is_refused_says_why(handbook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "anything"]) == 1
    assert "index FOLDER" in capsys.readouterr().err
    assert main(["ask", "anything", "--file", "other.db"]) == 1
    assert "index FOLDER --file other.db" in capsys.readouterr().err
    assert main(["index", "nowhere/"]) == 1
    assert "'nowhere': is not there" in capsys.readouterr().err
    Path("empty").mkdir()
    assert main(["index", "empty"]) == 1
    assert "nothing in empty can be read: readers take .csv" in capsys.readouterr().err
    assert not Path(".lawful").exists()
    assert main(["index", "http://127.0.0.1/secret"]) == 1
    assert "no public address" in capsys.readouterr().err
    assert main(["index", "handbook", "--embedder", "nobody:x"]) == 1
    assert "no embedder" in capsys.readouterr().err
    (handbook / "bad.md").write_bytes(b"\xff")
    assert main(["index", "handbook"]) == 1
    assert "bad.md" in capsys.readouterr().err


def test_a_model_answers_and_cites(
    handbook: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows: S0-159."""
    from lawful.cli import passages
    from lawful.pipeline import pure

    assert main(["index", "handbook"]) == 0
    capsys.readouterr()
    asked: list[str] = []

    def model(name: str) -> object:
        asked.append(name)
        return pure(said)

    def said(prompt: str) -> str:
        return "Thirty days [p1]."

    monkeypatch.setattr(passages, "chat", model)
    assert main(["ask", "days of leave", "--model", "openai:gpt-5"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "Thirty days [handbook/leave.md#1]."
    assert "[handbook/leave.md#1] handbook/leave.md, characters 0 to 50" in out
    assert asked == ["openai:gpt-5"]


def test_folders_may_have_files_of_one_name(handbook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = handbook.parent / "other"
    other.mkdir()
    (other / "leave.md").write_text("Nobody has leave.")
    assert main(["index", "handbook", "other/", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["added"] == [
        "handbook/leave.md",
        "handbook/travel.md",
        "other/leave.md",
    ]


def test_how_an_index_was_cut_is_kept_with_it(handbook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (handbook / "two.md").write_text("# One\n\nText.\n\n# Two\n\nMore.\n")
    assert main(["index", "handbook", "--split", "markdown", "--size", "500"]) == 0
    assert "4 passages stored" in capsys.readouterr().out
    assert main(["index", "handbook"]) == 0
    assert "3 unchanged; 0 passages stored" in capsys.readouterr().out
    assert main(["index", "handbook", "--split", "text"]) == 0
    assert "3 updated; 3 passages stored" in capsys.readouterr().out
    for wrong in ("0", "-1", "x"):
        with pytest.raises(SystemExit):
            main(["index", "handbook", "--size", wrong])
        assert "is not a number from 1 up" in capsys.readouterr().err


def test_the_demo_model_answers_from_what_it_is_shown(handbook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a key, a network or a package: by plain rules."""
    assert main(["index", "handbook"]) == 0
    capsys.readouterr()
    assert main(["ask", "How many days of leave?", "--model", "demo", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cites"] == ["handbook/leave.md#1"]
    assert told["answer"].startswith("Everyone has thirty days of leave a year. [handbook/leave.md#1]")
    assert main(["ask", "zebra", "--model", "demo"]) == 0
    assert capsys.readouterr().out == "The passages do not say.\n"
    assert main(["ask", " "]) == 1
    assert "a question has words" in capsys.readouterr().err


def test_a_word_too_many_is_told_with_its_own_verbs_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words, verb in ((["ask", "x", "--index", "y"], "ask"), (["mcp", "serve", "a:b", "--foo"], "mcp serve")):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
        assert f"(see lawful {verb} --help)" in capsys.readouterr().err


def test_work_on_a_terminal_has_a_bar(
    handbook: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["index", "handbook"]) == 0
    assert "2 of 2 documents, 2 passages" in capsys.readouterr().err
    assert main(["index", "handbook", "--json"]) == 0
    assert capsys.readouterr().err == ""
