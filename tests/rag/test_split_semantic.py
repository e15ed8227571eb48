"""The splitters of semantic-text-splitter say places in characters, not in bytes."""

from __future__ import annotations

import pytest

pytest.importorskip("semantic_text_splitter")

from lawful.rag import SemanticSplitter, document

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("markdown", [False, True])
def test_a_piece_is_what_stands_at_its_place(markdown: bool) -> None:
    """Rows: S0-154."""
    text = "# Été\n\nFirst 😀 sentence here. Second one follows.\n\n## Ça\n\nMore text, and more of it." * 3
    pieces = SemanticSplitter(40, markdown=markdown).split(document(text, id="d"))
    assert len(pieces) > 3
    assert all(text[one.start : one.end] == one.text and len(one.text) <= 40 for one in pieces)
