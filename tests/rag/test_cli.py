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
    assert (first, text.strip()) == ("[leave.md#1] Leave", "# Leave Everyone has thirty days of leave a year.")
    with Index.open(Path(".lawful") / "index.db") as index:
        index.vectors.delete(["leave.md#1"])
    (handbook / "travel.md").unlink()
    (handbook / "new.md").write_text("New.")
    assert main(["index", "handbook", "--split", "markdown", "--remove", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["healed"], told["removed"], told["added"], told["total"]) == (
        ["leave.md"],
        ["travel.md"],
        ["new.md"],
        2,
    )
    assert main(["ask", "leave", "--json", "--passages", "1"]) == 0
    assert [hit["id"] for hit in json.loads(capsys.readouterr().out)] == ["leave.md#1"]


def test_what_is_refused_says_why(handbook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "anything"]) == 1
    assert "make one with lawful index" in capsys.readouterr().err
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
    assert out.splitlines()[0] == "Thirty days [leave.md#1]."
    assert "[leave.md#1] leave.md, characters 0 to 50" in out
    assert asked == ["openai:gpt-5"]
