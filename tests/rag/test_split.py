"""Splitters: every piece says where it stands, keeps to its size, and is cut where a reader would cut."""

from __future__ import annotations

import ast
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.core.errors import ConfigurationError
from lawful.rag import CharacterSplitter, CodeSplitter, MarkdownSplitter, RecursiveSplitter, TokenSplitter, document
from lawful.rag.split import Splitter, Whole, estimate

pytestmark = pytest.mark.property

texts = st.text(alphabet=st.sampled_from("ab .,\n\r#`~=-\té😀"), max_size=200)
splitters: st.SearchStrategy[Splitter] = st.one_of(
    st.builds(CharacterSplitter, st.integers(5, 30), st.integers(0, 4)),
    st.builds(RecursiveSplitter, st.integers(5, 30), st.integers(0, 4)),
    st.builds(TokenSplitter, st.integers(3, 9), st.integers(0, 2)),
    st.builds(MarkdownSplitter, st.integers(5, 30)),
    st.builds(CodeSplitter, st.sampled_from(["python", "go"]), st.integers(5, 30)),
    st.just(Whole()),
)


@given(texts, splitters)
@settings(max_examples=300, deadline=None)
def test_a_piece_is_what_stands_at_its_place(text: str, splitter: Splitter) -> None:
    """Rows: S0-153, S0-154, S0-155, S0-156, S0-157."""
    pieces = splitter.split(document(text, id="d", metadata={"n": 1}))
    assert all(text[one.start : one.end] == one.text and one.text for one in pieces)
    assert [one.id for one in pieces] == [f"d#{n}" for n in range(1, len(pieces) + 1)]
    assert [one.start for one in pieces] == sorted(one.start for one in pieces)
    covered = {at for one in pieces for at in range(one.start, one.end)}
    assert all(text[at].isspace() for at in range(len(text)) if at not in covered)
    if isinstance(splitter, RecursiveSplitter):
        assert all(splitter.measure(one.text) <= splitter.size for one in pieces)


@given(texts, st.integers(1, 20), st.integers(0, 19))
@settings(max_examples=100, deadline=None)
def test_windows_without_their_overlap_are_the_text(text: str, size: int, overlap: int) -> None:
    """Rows: S0-153."""
    if overlap >= size:
        with pytest.raises(ConfigurationError):
            CharacterSplitter(size, overlap)
        return
    spans = CharacterSplitter(size, overlap).spans(text)
    assert "".join(text[one.start + (overlap if n else 0) : one.end] for n, one in enumerate(spans)) == text
    assert all(one.end - one.start == size for one in spans[:-1])


def test_paragraphs_come_before_sentences_and_words() -> None:
    """Rows: S0-154."""
    text = "One two. Three four.\n\nFive six seven. Eight nine ten eleven.\n\nTwelve."
    pieces = [text[s.start : s.end] for s in RecursiveSplitter(25).spans(text)]
    assert pieces == ["One two. Three four.", "Five six seven.", "Eight nine ten eleven.", "Twelve."]
    word = "abcdefghij kl"
    assert [word[s.start : s.end] for s in RecursiveSplitter(4).spans(word)] == ["abcd", "efgh", "ij", "kl"]


def test_an_overlap_repeats_whole_words() -> None:
    """Rows: S0-154."""
    text = "alpha beta gamma delta epsilon zeta eta theta"
    pieces = [text[s.start : s.end] for s in RecursiveSplitter(24, 8).spans(text)]
    assert all(len(one) <= 24 for one in pieces)
    assert any(set(a.split()) & set(b.split()) for a, b in pairwise(pieces))
    assert set(" ".join(pieces).split()) == set(text.split())


def test_tokens_are_counted_by_the_counter_that_is_given() -> None:
    """Rows: S0-157."""
    text = "one two three four five six seven eight nine ten " * 5
    words = TokenSplitter(7, 2, count=lambda piece: len(piece.split()))
    assert max(len(text[s.start : s.end].split()) for s in words.spans(text)) == 7
    assert (estimate(""), estimate("abcd"), estimate("abcde")) == (0, 1, 2)
    assert all(estimate(text[s.start : s.end]) <= 5 for s in TokenSplitter(5).spans(text))


MARKDOWN = """Before.

# Top
Intro.
## Install ##
Do this:
```sh
# not a heading
make && make install

make test
```
After.

Setext
------
Text under it.

# Second
"""


def test_markdown_sections_know_the_headings_above_them() -> None:
    """Rows: S0-155."""
    pieces = MarkdownSplitter(1000).split(document(MARKDOWN, id="m"))
    assert [(one.headers, one.text.splitlines()[0]) for one in pieces] == [
        ((), "Before."),
        (("Top",), "# Top"),
        (("Top", "Install"), "## Install ##"),
        (("Top", "Setext"), "Setext"),
        (("Second",), "# Second"),
    ]


def test_fenced_code_is_never_cut() -> None:
    """Rows: S0-155."""
    pieces = MarkdownSplitter(30).split(document(MARKDOWN, id="m"))
    fence = MARKDOWN[MARKDOWN.index("```sh") : MARKDOWN.index("After.")].strip()
    assert fence in [one.text for one in pieces]
    assert all(len(one.text) <= 30 for one in pieces if "```" not in one.text)
    open_fence = "Text\n\n~~~\n# in code\n```\nstill"
    assert [one.text for one in MarkdownSplitter(10).split(document(open_fence))] == ["Text", open_fence[6:]]


PYTHON = '''"""Docs."""
import os


# about f
@decorator
def f(x):
    """Inner."""
    return x


class Big:
    """Big docs."""

    size = 1

    def one(self):
        return 1

    def two(self):
        return "a long line that makes the class larger than the size of one piece"


def last(): return "é"
'''


def test_functions_that_fit_are_whole() -> None:
    """Rows: S0-156."""
    pieces = CodeSplitter("python", 110).split(document(PYTHON, id="p"))
    found = {
        node.name: ast.get_source_segment(PYTHON, node)
        for node in ast.walk(ast.parse(PYTHON))
        if isinstance(node, ast.FunctionDef)
    }
    assert found.keys() == {"f", "one", "two", "last"}
    for source in found.values():
        assert source is not None
        assert sum(source in one.text for one in pieces) == 1
    assert [one.headers for one in pieces if "def two" in one.text] == [("Big",)]
    assert next(one.text for one in pieces if "class Big" in one.text).startswith('class Big:\n    """Big docs."""')
    assert all(len(one.text) <= 110 for one in pieces)


def test_code_that_does_not_parse_and_other_languages() -> None:
    """Rows: S0-156."""
    broken = PYTHON + "\ndef broken(:\n    pass\n"
    assert any(one.text.startswith("def last") for one in CodeSplitter("python", 110).split(document(broken)))
    go = "package main\n\nfunc a() {\n\treturn\n}\n\nfunc b() {\n\treturn\n}\n"
    assert [one.text.split("\n")[0] for one in CodeSplitter("go", 30).split(document(go))] == [
        "package main",
        "func a() {",
        "func b() {",
    ]
    with pytest.raises(ConfigurationError, match="python"):
        CodeSplitter("pyton")


def test_settings_are_part_of_the_name() -> None:
    names = [
        one.name
        for one in (
            RecursiveSplitter(10),
            RecursiveSplitter(11),
            RecursiveSplitter(10, 1),
            RecursiveSplitter(10, separators=["\n"]),
            RecursiveSplitter(10, measure=estimate),
            TokenSplitter(10),
            CharacterSplitter(10),
            MarkdownSplitter(10),
            CodeSplitter("go", 10),
        )
    ]
    assert len(set(names)) == len(names)
    with pytest.raises(ConfigurationError):
        RecursiveSplitter(10, separators=[""])


def test_many_documents_are_split_one_after_the_other() -> None:
    documents = [document("abcdef", id="one"), document("", id="none"), document("gh", id="two")]
    pieces = CharacterSplitter(4, 0).split_all(documents)
    assert [(one.id, one.text) for one in pieces] == [("one#1", "abcd"), ("one#2", "ef"), ("two#1", "gh")]
