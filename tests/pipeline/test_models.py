"""Chat models as components: counted before a run, listened to while they run, answered by a script in a test."""

from __future__ import annotations

import pytest

from lawful.core import events as ev
from lawful.core.errors import NetworkError
from lawful.core.event_rules import unpaired
from lawful.core.result import Err, Ok
from lawful.core.retry import RetryPolicy
from lawful.models import chat
from lawful.models.chatting import repaired
from lawful.models.fake import Scripted
from lawful.pipeline import explain, pure, retry, run, stream
from lawful.pipeline.parsers import structured
from lawful.testing import Script

pytestmark = pytest.mark.unit


def test_calls_of_models_are_counted_before_a_run() -> None:
    tree = retry(chat("openai:gpt-5") | chat("ollama:qwen3"), RetryPolicy(max_attempts=3))
    told = explain(tree)
    assert (told.models, told.model_calls) == (("ollama:qwen3", "openai:gpt-5"), 6)
    assert explain(repaired(structured(int), chat("demo"), attempts=2)).model_calls == 2


async def test_the_pieces_of_a_model_are_in_the_stream_and_the_answer_is_the_same() -> None:
    """Rows: S0-033."""
    tree = chat(Scripted("all roads lead there", "all roads lead there", chunks=4)) >> pure(str.split)
    heard = stream(tree, "Rome?")
    told = [event async for event in heard]
    assert "".join(event.text for event in told if isinstance(event, ev.LLMChunk)) == "all roads lead there"
    assert sum(isinstance(event, ev.LLMChunk) for event in told) == 5
    assert unpaired(told) == []
    assert heard.result == await run(tree, "Rome?") == Ok(["all", "roads", "lead", "there"])


async def test_a_fallback_of_models_is_tested_by_a_script() -> None:
    """Rows: S0-031."""
    dear, cheap = chat("openai:gpt-5"), chat("ollama:qwen3")
    script = Script().answer(dear, Err(NetworkError("down"))).answer(cheap, "42")
    assert await script.run(dear | cheap, "6 x 7") == Ok("42")
    assert script.trace == ["openai:gpt-5", "ollama:qwen3"]
