"""`lawful run`, `chat` and `check` on agents and graphs of a user's own module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.command import Place
from support.tree import environment

pytestmark = pytest.mark.integration

CODE = '''
from typing import TypedDict
from lawful import Agent, START, StateGraph, tool

@tool(approval=True)
def taxi(to: str) -> str:
    """Call a taxi."""
    return "taxi to " + to

@tool(reads_private=True)
def read_mail(folder: str) -> str:
    """Read the mail."""
    return "mail"

@tool(ingests_external=True, sends_out=True)
def page(url: str) -> str:
    """Open a page."""
    return "page"

class Words(TypedDict):
    text: str
    size: int

def count(words: Words) -> dict[str, int]:
    return {"size": len(words["text"])}

cabs = Agent("demo", tools=[taxi])
clerk = Agent("demo", tools=[read_mail, page])
reader = Agent("demo", tools=[read_mail])
counting = StateGraph(Words, name="counting").add_node(count).add_edge(START, "count")
one_key = StateGraph(Words, input_schema=TypedDict("In", {"text": str}), name="one").add_node(count).add_edge(START, "count")
'''


@pytest.fixture
def shop(tmp_path: Path) -> Place:
    (tmp_path / "shop.py").write_text(CODE)
    return Place(tmp_path)


def talk(place: Place, *words: str, said: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "lawful.cli", "chat", *words],
        cwd=place.folder,
        env=environment(),
        input=said,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_an_agent_is_run_pauses_and_is_answered_from_another_process(shop: Place) -> None:
    asked = shop.run("run", "shop:cabs", "call a taxi to 'Lyon'", "--thread", "t", "--journal", "cabs.db")
    assert asked.code == 0, asked
    assert 'may taxi be called with {"to": "Lyon"}?' in asked.out
    assert "answer t yes --graph shop:cabs --db cabs.db" in asked.out
    done = shop.run("answer", "t", "yes", "--graph", "shop:cabs", "--db", "cabs.db")
    assert done.code == 0, done
    assert "taxi says: taxi to Lyon" in done.out.splitlines()[-1]


def test_a_graph_takes_json_or_the_text_of_its_one_key(shop: Place) -> None:
    assert shop.run("run", "shop:counting", '{"text": "four"}', "--json").json() == {"text": "four", "size": 4}
    assert '"size": 3' in shop.run("run", "shop:one_key", "one").out
    refused = shop.run("run", "shop:counting", "four")
    assert (refused.code, refused.error) == (1, "validation")
    assert "text, size" in refused.err
    assert "Did you mean 'counting'" in shop.run("run", "shop:countin", "x").err


def test_what_is_neither_is_refused(shop: Place) -> None:
    refused = shop.run("run", "shop:taxi", "x")
    assert (refused.code, refused.error) == (1, "configuration")
    assert "not a graph or an agent" in refused.err


def test_a_conversation_asks_and_goes_on(shop: Place) -> None:
    told = talk(shop, "shop:cabs", said="call a taxi to 'Oslo'\nyes\n\nhello\n/new\n/quit\nnever read\n")
    assert "may taxi be called" in told
    assert "taxi says: taxi to Oslo" in told
    assert "You asked: 'hello'" in told
    assert "never read" not in told


def test_without_an_agent_the_stand_in_says_what_it_is(shop: Place) -> None:
    assert told_once(talk(shop, said="hello\n"), "no language model")


def told_once(text: str, words: str) -> bool:
    return words in text.splitlines()[0]


def test_a_saved_file_is_read_anew_and_a_broken_one_changes_nothing(shop: Place) -> None:
    file = shop.folder / "shop.py"
    command = [sys.executable, "-m", "lawful.cli", "chat", "shop:cabs"]
    with subprocess.Popen(
        command,
        cwd=shop.folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None

        def ask(line: str, until: str) -> str:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(line + "\n")
            child.stdin.flush()
            said = ""
            while until not in said:
                read = child.stdout.readline()
                assert read, said
                said += read
            return said

        ask("hello", "I may use taxi")
        file.write_text(CODE.replace("def taxi", "def ship").replace("tools=[taxi]", "tools=[ship]"))
        assert "(read anew)" in ask("hello", "I may use ship")
        file.write_text(CODE + "\nthis is no Python")
        assert "stays as it was" in ask("hello", "I may use ship")
        child.stdin.close()
        assert child.wait(60) == 0


def test_a_way_out_for_private_data_is_found(shop: Place) -> None:
    found = shop.run("check", "shop:clerk")
    assert found.code == 1
    assert "read_mail (in agent > tool) reads private data" in found.out
    assert shop.run("check", "shop:reader").code == 0
    log = shop.run("check", "shop:clerk", "--sarif")
    assert log.code == 1
    [result] = log.json()["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "shop.py"
