"""A cassette at the tool boundary: what came of each call is given again, nothing runs, no secret is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lawful import Agent, effect, tool
from lawful.core.cassettes import NotRecorded, blotted
from lawful.core.errors import ConfigurationError, NetworkError
from lawful.core.messages import ToolCall, assistant
from lawful.journal.memory import MemoryJournal
from lawful.models.fake import Scripted
from lawful.tools import Rated, Source, Tainted, ToolRecorder, ToolReplayer, Toolset

pytestmark = pytest.mark.unit

RAN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


@tool(ingests_external=True)
def fetch(url: str) -> Any:
    """Fetch a page."""
    RAN.append(url)
    if url == "dead":
        raise NetworkError("no line", component="fetch")
    if url == "bug":
        raise KeyError("oops")
    return Rated(Tainted({"page": len(RAN)}, url), "INFORMATIONAL")


@effect("to")
def letter(to: str, text: str) -> str:
    """Send a letter."""
    RAN.append(f"letter to {to}")
    return "sent"


def fetches(*urls: str) -> Any:
    return assistant(*(ToolCall("fetch", {"url": url}, id=f"{url}{n}") for n, url in enumerate(urls)))


def told(answer: Any) -> list[str]:
    return [one.text for one in answer.messages if one.role == "tool"]


def script() -> Scripted:
    return Scripted(fetches("a"), fetches("a"), fetches("dead", "bug"), "done")


def test_a_turn_is_the_same_from_the_record_and_nothing_runs(tmp_path: Path) -> None:
    """Rows: S0-075"""
    path = tmp_path / "tools.jsonl"
    first = Agent(script(), tools=ToolRecorder(path).over([fetch])).invoke("go")
    assert sorted(RAN) == ["a", "a", "bug", "dead"]
    RAN.clear()
    replayer = ToolReplayer(path)
    again = Agent(script(), tools=replayer.over([fetch])).invoke("go")
    assert RAN == []
    assert told(again) == told(first)
    assert again.sources == first.sources
    assert again.sources[0] == Source("fetch", "a0", "INFORMATIONAL", "a")
    assert again.facts == first.facts
    assert replayer.left == 0


def test_what_is_not_recorded_fails_the_test_and_is_told_to_no_model(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    Agent(Scripted(fetches("a"), "done"), tools=ToolRecorder(path).over([fetch])).invoke("go")
    for urls in (("b",), ("a", "a")):
        agent = Agent(Scripted(fetches(*urls), "done"), tools=ToolReplayer(path).over([fetch]))
        with pytest.raises(NotRecorded, match="fetch"):
            agent.invoke("go")


def test_an_effect_is_performed_once_recorded_and_not_at_all_replayed(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    call = ToolCall("letter", {"to": "ada", "text": "hello"}, id="l")
    recorded = Agent(Scripted(call, "done"), tools=ToolRecorder(path).over([letter]), journal=MemoryJournal())
    first = recorded.invoke("go", thread="t")
    assert RAN == ["letter to ada"]
    journal = MemoryJournal()
    kit = ToolReplayer(path).over([letter])
    assert kit["letter"].traits.effect
    again = Agent(Scripted(call, "done"), tools=kit, journal=journal).invoke("go", thread="t")
    assert told(again) == told(first) == ["sent"]
    assert RAN == ["letter to ada"]
    assert list(journal.read(lambda tx: list(tx.operations()))) == []


def test_the_gates_stand_before_a_replay_as_before_the_tools(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    Agent(Scripted(fetches("a"), "done"), tools=ToolRecorder(path).over([fetch])).invoke("go")
    wrong = ToolCall("fetch", {"ulr": "a"}, id="w")
    kit = ToolReplayer(path).over(Toolset([fetch.with_(approval=True)]))
    answer = Agent(Scripted(wrong, fetches("a"), "done"), tools=kit, journal=MemoryJournal()).invoke("go", thread="t")
    assert "Did you mean 'url'" in told(answer)[0]
    assert answer.questions
    with pytest.raises(NotRecorded):
        kit["fetch"]("a")


def test_a_pause_is_not_an_outcome(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"

    @tool
    def ask(what: str) -> str:
        """Ask a person."""
        from lawful import interrupt

        return f"they said {interrupt(what)}"

    call = ToolCall("ask", {"what": "tea?"}, id="q")
    agent = Agent(Scripted(call, "done"), tools=ToolRecorder(path).over([ask]), journal=MemoryJournal())
    waiting = agent.invoke("go", thread="t")
    assert not path.exists()
    agent.resume_sync("t", waiting.questions[0].answer("yes"))
    [line] = [json.loads(one) for one in path.read_text().splitlines()]
    assert line["output"] == "they said yes"


def test_no_secret_reaches_a_cassette_of_tools(tmp_path: Path) -> None:
    """Rows: S0-075"""
    path = tmp_path / "tools.jsonl"
    key, phrase = "sk-" + "a1B2" * 8, 'te"a\ntime'

    @tool
    def login(user: str, password: str, note: str) -> dict[str, str]:
        """Log in."""
        return {"token": "tok-12", "said": f"{note}: {key}", "again": phrase}

    call = ToolCall("login", {"user": "ada", "password": "hunter2", "note": f"{phrase} {key}"}, id="l")
    first = Agent(Scripted(call, "done"), tools=ToolRecorder(path, secrets=[phrase]).over([login])).invoke("go")
    text = path.read_text(encoding="utf-8")
    for secret in (key, "hunter2", "tok-12", phrase, json.dumps(phrase)[1:-1]):
        assert secret not in text
    assert "tok-12" in told(first)[0]  # the model of that day was told
    again = Agent(Scripted(call, "done"), tools=ToolReplayer(path, secrets=[phrase]).over([login])).invoke("go")
    assert json.loads(told(again)[0]) == {"token": "***", "said": "*** ***: ***", "again": "***"}


def test_blotting_goes_into_every_corner() -> None:
    key = "ghp_" + "x" * 24
    assert blotted({"a": [{"api_key": "k", "n": 1}, f"x {key}"], key: None}) == {
        "a": [{"api_key": "***", "n": 1}, "x ***"],
        "***": None,
    }


@pytest.mark.parametrize("text", [None, "no json", "[1]", '{"tool": "x", "args": {}}'])
def test_what_is_no_cassette_of_tools_is_refused(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="cassette"):
        ToolReplayer(path)
