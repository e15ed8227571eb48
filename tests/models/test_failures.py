"""What a provider's refusal means: by its code, its status and its words; how long to wait; and nothing secret in it."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

from lawful.core.errors import Failure, LLMError, NetworkError
from lawful.core.llm_errors import (
    ContentFiltered,
    ContextTooLong,
    KeyRefused,
    ModelTimeout,
    ProviderFailed,
    RateLimited,
    RequestRefused,
    StreamBroken,
)
from lawful.core.retry import RetryPolicy, next_delay, retry_after
from lawful.models.failures import broken, redacted, refused
from support.children import fresh

pytestmark = pytest.mark.unit

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "status, code, said, kind",
    [
        (400, "content_filter", "no", ContentFiltered),
        (429, "insufficient_quota", "pay first", RequestRefused),
        (400, "context_length_exceeded", "long", ContextTooLong),
        (400, "", "This model's maximum context length is 8192 tokens", ContextTooLong),
        (400, "", "The input token count exceeds the maximum", ContextTooLong),
        (413, "", "too large", ContextTooLong),
        (422, "", "bad field", RequestRefused),
        (403, "", "not yours", KeyRefused),
        (408, "", "slow", ModelTimeout),
        (504, "", "slow", ModelTimeout),
        (409, "", "busy", ProviderFailed),
        (503, "", "down", ProviderFailed),
        (500, "overloaded_error", "busy", ProviderFailed),
        (500, "rate_limit_exceeded", "in the stream", RateLimited),
        (429, "RESOURCE_EXHAUSTED", "", RateLimited),
    ],
)
def test_what_a_refusal_means(status: int, code: str, said: str, kind: type[Failure]) -> None:
    assert type(refused("p:m", status, said, code=code)) is kind


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({"Retry-After": "3"}, "3"),
        ({"retry-after": "1.5"}, "1.5"),
        ({"retry-after-ms": "250", "retry-after": "9"}, "0.25"),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, "30"),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, "0"),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: str | None) -> None:
    assert refused("p:m", 429, "x", headers=headers, now=NOW).details.get("retry_after") == seconds


def test_a_retry_never_comes_sooner_than_was_asked() -> None:
    policy = RetryPolicy(initial_interval=0.5, jitter=False)
    assert next_delay(policy, RateLimited("x", details={"retry_after": "7"}), 1) == 7.0
    assert next_delay(policy, RateLimited("x", details={"retry_after": "0.1"}), 1) == 0.5
    for told in ("", "nan", "inf", "-1", "soon"):
        assert retry_after(RateLimited("x", details={"retry_after": told})) is None
    assert retry_after(ValueError("x")) is None


def test_no_secret_is_in_an_error() -> None:
    """Rows: S0-075."""
    key = "very-secret"
    for error in (
        refused("p:m", 401, f"the key {key} is wrong", secrets=[key]),
        broken("p:m", False, f"https://x/?key={key}", secrets=[key]),
    ):
        assert key not in str(error.to_json())
    assert redacted("abc", ["abc"]) == "abc"  # too short to be a key: blotting it out would blot out words
    assert len(refused("p:m", 500, "x" * 9_000).message) < 1_000


def test_a_lost_connection_keeps_the_text_so_far() -> None:
    lost = broken("p:m", True, "reset", text="half a")
    assert isinstance(lost, StreamBroken)
    assert lost.details["text"] == "half a"
    never = broken("p:m", False, "refused")
    assert type(never) is NetworkError
    assert isinstance(refused("p:m", 500, ""), LLMError)


FORKS = """
import asyncio, os, sys
from lawful.models.port import ChatModel
from lawful.models.settings import ModelConfig
from lawful.models.pieces import FinishPiece, TextPiece

class Waits(ChatModel):
    config_class = ModelConfig
    provider, name, config = "test", "waits", ModelConfig()

    async def pieces(self, request, config):
        await asyncio.sleep(0)
        yield TextPiece("ok")
        yield FinishPiece("stop")

model = Waits()
assert model.invoke("x").text == "ok"
child = os.fork()
if child == 0:
    os._exit(0 if model.invoke("x").text == "ok" else 1)
_, status = os.waitpid(child, 0)
assert model.invoke("x").text == "ok"
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_asks_by_a_portal_of_its_own() -> None:
    assert fresh(FORKS, flags=("-W", "ignore")) == ""
