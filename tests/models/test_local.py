"""The tiny real model answers and keeps to a form; what it says is its own affair."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from lawful.models import model, structured

pytest.importorskip("xllamacpp")

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Advice:
    coat: bool


def test_it_answers_through_openais_wire_and_keeps_to_a_form() -> None:
    """Rows: S0-045."""
    pytest.importorskip("openai")
    with model("local") as local:
        reply = local.invoke("Say hello.")
        assert reply.text.strip()
        assert reply.usage.completion > 0
        with local.stream("Say hello.") as stream:
            assert "".join(stream.text()) == stream.reply.text
        assert isinstance(structured(local, Advice, "It rains. Do I need a coat?").value.coat, bool)
