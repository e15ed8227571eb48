"""PDF: a document for each page that has text."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("pypdf")

from lawful.core.errors import DocumentLoaderError
from lawful.rag.loaders import read_pdf

pytestmark = pytest.mark.unit


def _pdf(*pages: str) -> bytes:
    """A PDF of those texts, written by hand, so that no writer's support for fonts is needed."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Resources << /Font << /F1 3 0 R >> >>"
            f" /Contents {5 + 2 * number} 0 R >>"
        )
        stream = f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out = io.BytesIO(b"")
    out.write(b"%PDF-1.4\n")
    places: list[int] = []
    for number, told in enumerate(objects, 1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n{told}\nendobj\n".encode())
    start = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF".encode())
    return out.getvalue()


def test_a_document_for_each_page_with_text() -> None:
    """Rows: S0-160."""
    found = read_pdf(_pdf("First page", " ", "Third page"), "a.pdf")
    assert [(one.id, one.text.strip(), one.metadata) for one in found] == [
        ("a.pdf:1", "First page", {"page": 1}),
        ("a.pdf:3", "Third page", {"page": 3}),
    ]


@pytest.mark.parametrize("data", [b"", b"not a pdf", _pdf("x")[:200]])
def test_what_is_no_pdf_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(DocumentLoaderError):
        read_pdf(data, "a.pdf")
