"""Loaders: what a file says becomes documents that say where it came from; nothing outside a root is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lawful.core.errors import DocumentLoaderError
from lawful.rag import document, load, load_folder, within
from lawful.rag.loaders import read_csv, read_html, read_json, read_jsonl, read_text

pytestmark = pytest.mark.unit


def test_text_is_kept_as_it_stands() -> None:
    """Rows: S0-160."""
    [one] = read_text("\ufeffA\r\nb\0c é".encode(), "a.txt")
    assert (one.text, one.id, one.source) == ("A\r\nb\ufffdc é", "a.txt", "a.txt")
    assert read_text("Ünï".encode("utf-16"), "u")[0].text == "Ünï"
    with pytest.raises(DocumentLoaderError, match="byte 1"):
        read_text(b"a\xff", "b")


def test_html_gives_what_a_reader_sees() -> None:
    """Rows: S0-160."""
    page = b"""<html><head><title>My  page</title><style>p{}</style><script>alert("<p>x</p>")</script></head>
    <body><h1>Top</h1><p>One &amp; <b>two</b>
    three<br>four</p><script>evil()</script><ul><li>a<li>b</ul><pre>x
      y</pre><template>no</template><!-- no --></body>"""
    [one] = read_html(page, "p.html")
    assert one.metadata == {"title": "My page"}
    assert [line for line in one.text.split("\n") if line] == ["# Top", "One & two three", "four", "a", "b", "x", "y"]


def test_html_that_never_closes_its_head_keeps_its_body() -> None:
    assert read_html(b"<head><title>t</title><body><p>seen", "p")[0].text == "seen"


def test_json_and_lines_of_it() -> None:
    """Rows: S0-160."""
    data = [{"body": "one", "year": 2020, "a b": "x"}, {"body": "two", "year": 2021, "a b": "y"}]
    found = read_json(json.dumps(data).encode(), "d.json", text="body", metadata=["year", "a b"])
    assert [(one.id, one.text, one.metadata) for one in found] == [
        ("d.json:1", "one", {"element": 1, "year": 2020, "a_b": "x"}),
        ("d.json:2", "two", {"element": 2, "year": 2021, "a_b": "y"}),
    ]
    assert read_json(b'{"a": 1}', "o.json")[0].text == '{\n  "a": 1\n}'
    lines = b'{"body": "x"}\n\n"plain"\n'
    assert [one.text for one in read_jsonl(lines, "l")] == ['{\n  "body": "x"\n}', "plain"]
    with pytest.raises(DocumentLoaderError, match="line 2"):
        read_jsonl(b"1\n{", "l")
    with pytest.raises(DocumentLoaderError, match="'body'"):
        read_json(json.dumps(data).encode(), "d", text="bodi")
    with pytest.raises(DocumentLoaderError):
        read_json(b"[" * 100_000, "deep")


def test_csv_rows() -> None:
    """Rows: S0-160."""
    data = b'name,Full Text\r\na,"one, ""two"""\r\nb,"x\ny"\r\n'
    assert [one.text for one in read_csv(data, "c")] == ['name: a\nFull Text: one, "two"', "name: b\nFull Text: x\ny"]
    found = read_csv(data, "c", text="Full Text", metadata=["name"])
    assert [(one.id, one.text, one.metadata) for one in found] == [
        ("c:1", 'one, "two"', {"row": 1, "name": "a"}),
        ("c:2", "x\ny", {"row": 2, "name": "b"}),
    ]
    with pytest.raises(DocumentLoaderError, match="Full Text"):
        read_csv(data, "c", text="Full text")
    for broken in (b"a,b\n1\n", b"a,b\n1,2,3\n", b'a,b\n"1\n'):
        with pytest.raises(DocumentLoaderError):
            read_csv(broken, "c")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / ".git").mkdir()
    for name in ("b.md", "a.txt", "sub/c.md", "sub/deep/d.md", ".hidden.md", ".git/e.md", "sub/.f.md", "photo.png"):
        (root / name).write_text(f"text of {name}")
    (tmp_path / "secret.md").write_text("secret")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    (root / "up").symlink_to(tmp_path)
    return root


def test_a_folder_in_order_without_what_is_hidden_or_linked(folder: Path) -> None:
    """Rows: S0-160."""
    assert [one.id for one in load_folder(folder)] == ["a.txt", "b.md", "sub/c.md", "sub/deep/d.md"]
    assert [one.id for one in load_folder(folder, depth=0)] == ["a.txt", "b.md"]
    assert [one.id for one in load_folder(folder, depth=1, endings=[".md"])] == ["b.md", "sub/c.md"]
    hidden = {one.id for one in load_folder(folder, hidden=True, endings=[".md"])}
    assert hidden == {".git/e.md", ".hidden.md", "b.md", "sub/.f.md", "sub/c.md", "sub/deep/d.md"}
    with pytest.raises(DocumentLoaderError, match=r"\.md"):
        load_folder(folder, endings=[".mf"])


def test_one_file_that_cannot_be_read_fails_the_whole_or_is_left_out(folder: Path) -> None:
    """Rows: S0-160."""
    (folder / "sub" / "bad.md").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(DocumentLoaderError, match=r"sub/bad\.md"):
        load_folder(folder)
    assert len(load_folder(folder, errors="skip")) == 4


def test_a_file_is_read_by_its_ending(folder: Path) -> None:
    """Rows: S0-160."""
    assert load(folder / "b.md")[0].text == "text of b.md"
    with pytest.raises(DocumentLoaderError, match="png"):
        load(folder / "photo.png")
    with pytest.raises(DocumentLoaderError):
        load(folder / "none.md")
    with pytest.raises(DocumentLoaderError):
        load("a\0.md")


@pytest.mark.parametrize(
    "name",
    [
        "../secret.md",
        "/etc/passwd",
        "sub/../../secret.md",
        "sub/../b.md",
        "link.md",
        "up/secret.md",
        "",
        "a\0b",
        "..\\x",
    ],
)
def test_a_name_that_leads_out_of_the_root_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(DocumentLoaderError):
        within(folder, name)
    assert within(folder, "sub/c.md").read_text() == "text of sub/c.md"


def test_ids_are_stable_and_made_where_none_is_given() -> None:
    """Rows: S0-160."""
    assert document("x").id == document("x").id != document("y").id
    assert document("x", source="s").id == "s"
    assert len(document("x", source="s" * 3000).id) < 100
    assert document("x", id="i", metadata={"a": 1}).digest != document("x", id="i").digest
