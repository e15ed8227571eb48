"""The README's first screen: the promise, three sentences without jargon, two commands, a program, a measured table."""

from __future__ import annotations

import re

import pytest

from support.tree import ROOT

pytestmark = pytest.mark.unit

README = (ROOT / "README.md").read_text(encoding="utf-8")
JARGON = re.compile(
    r"\b(?:idempoten\w+|monad\w*|reducer\w*|superstep\w*|pregel|checkpoint\w*|algebra\w*|durable|DAG|LLM|semantics|orchestrat\w+)\b",
    re.IGNORECASE,
)


def _first_paragraphs() -> list[str]:
    return [" ".join(part.split()) for part in README.split("\n\n") if part.strip()]


def test_it_opens_with_the_promise_in_one_line() -> None:
    title, promise, *_ = README.split("\n\n")
    assert title == "# lawful"
    assert "\n" not in promise.strip()
    assert 20 <= len(promise) <= 160


def test_three_sentences_without_jargon_follow() -> None:
    sentences = re.split(r"(?<=\.)\s+", _first_paragraphs()[2])
    assert len(sentences) == 3
    assert JARGON.findall(" ".join(sentences)) == []


def test_two_commands_one_for_the_demo_and_one_for_the_tests() -> None:
    """.ci/run runs exactly these, in a copy of the project where nothing is installed."""
    commands = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[0].strip().splitlines()
    run = [line for line in commands if line and not line.startswith("#")]
    assert len(run) == 2
    assert run[0].endswith(".venv/bin/lawful demo")
    assert run[1].endswith(".venv/bin/pytest -n auto")
    assert all(line.startswith("python3 -m venv .venv && .venv/bin/pip install ") for line in run)


def test_the_table_of_measurements_stands_between_its_markers() -> None:
    begin, end = README.index("<!-- bench:begin -->"), README.index("<!-- bench:end -->")
    table = [line for line in README[begin:end].splitlines() if line.startswith("|")]
    assert len(table) >= 3, "run: python -m bench graph --readme"
    assert len({line.count("|") for line in table}) == 1
