"""A secret shows itself to `reveal` alone: not to a text, a log, a codec, a digest, an error."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful import Secret
from lawful.core import secret as module
from lawful.core.canonical import canonical
from lawful.core.codec import Registry
from lawful.core.errors import ConfigurationError, NetworkError, StoreError, ValidationError, from_json
from lawful.core.failure import ForeignException
from lawful.core.secret import add_redaction, names_secret, redact

pytestmark = pytest.mark.unit

PLANTED = "planted-\u00e9-7f3a9c/key"
KEYS = {
    "openai": "sk-proj-" + "Ab3_" * 10,
    "anthropic": "sk-ant-" + "Zz9-" * 12,
    "google": "AIza" + "Sy0_-" * 7,
    "github": "ghp_" + "a1B2" * 9,
    "slack": "xoxb-" + "123456789012-abc",
    "aws": "AKIA" + "ABCDEFGHIJKLMNOP",
}


@pytest.fixture
def secret() -> Secret:
    return Secret(PLANTED)


def test_no_form_of_text_shows_it(secret: Secret, caplog: pytest.LogCaptureFixture) -> None:
    """Rows: S1-084."""
    with caplog.at_level(logging.INFO):
        logging.getLogger("x").info("using %s and %r", secret, secret)
    shown = [
        repr(secret),
        str(secret),
        f"{secret:>10}",
        f"{secret!r}",
        repr([secret]),
        repr({"k": secret}),
        caplog.text,
    ]
    assert not any(PLANTED in text for text in shown)
    assert secret.reveal() == PLANTED


def test_it_is_compared_and_copied_and_never_pickled(secret: Secret) -> None:
    assert secret == Secret(PLANTED) != Secret("another text")
    assert secret != PLANTED  # pyright: ignore[reportUnnecessaryComparison]
    assert len({secret, Secret(PLANTED)}) == 1
    assert copy.copy(secret) is copy.deepcopy(secret) is secret
    with pytest.raises(TypeError, match="written down") as caught:
        pickle.dumps({"k": secret})
    assert PLANTED not in str(caught.value)


@pytest.mark.parametrize("wrong, error", [("", ValueError), (b"bytes", TypeError), (None, TypeError)])
def test_what_is_no_secret_is_refused(wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Secret(wrong)


PLACES: dict[str, Callable[[Secret], Any]] = {
    "state['token']": lambda s: {"token": s},
    "state['deep'][1]['x']": lambda s: {"deep": [0, {"x": s}]},
    "state['told']": lambda s: {"told": f"my key is {s.reveal()}, thanks"},
    "state['raw']": lambda s: {"raw": b"\x00" + s.reveal().encode() + b"\x00"},
    "state['long']": lambda s: {"long": "x" * 2_000 + s.reveal(), "other": "y" * 2_000},
    "state['list'][700]": lambda s: {"list": ["filler " * 9] * 700 + [s.reveal()]},
}


@pytest.mark.parametrize("place", PLACES)
def test_a_codec_refuses_it_and_its_text_and_names_the_place(secret: Secret, place: str) -> None:
    """Rows: S1-084, S1-C12."""
    kept: dict[bytes, bytes] = {}

    def chunk(piece: bytes) -> bytes:
        digest = f"{len(kept):16}".encode()
        kept[digest] = piece
        return digest

    for keep in (None, chunk):
        with pytest.raises(ValidationError, match="Secret") as caught:
            Registry().encode(PLACES[place](secret), chunk=keep, where="state")
        assert caught.value.details["path"] == place
        assert PLANTED not in str(caught.value)
    assert not any(PLANTED.encode() in piece for piece in kept.values())


def test_canonical_json_refuses_it(secret: Secret) -> None:
    """What effects' arguments and a store's values are made of. Rows: S1-084."""
    for value in ({"key": secret}, {"key": secret.reveal()}, {secret.reveal(): 1}):
        with pytest.raises(ValidationError) as caught:
            canonical(value)
        assert PLANTED not in str(caught.value)


def test_a_secret_that_is_gone_refuses_nothing() -> None:
    assert Registry().encode({"k": "once-a-secret-text"})
    once = Secret("once-a-secret-text")
    with pytest.raises(ValidationError):
        Registry().encode({"k": "once-a-secret-text"})
    del once
    assert Registry().encode({"k": "once-a-secret-text"})


def test_a_short_secret_does_not_refuse_the_whole_language() -> None:
    short = Secret("the")
    assert Registry().encode({"k": "the weather"})
    assert redact("the weather") == "the weather"
    with pytest.raises(ValidationError):
        Registry().encode({"k": short})


# Errors. S0-075: no key that was planted is in any text of an error.


@pytest.mark.parametrize("planted", [*KEYS.values(), "own"], ids=[*KEYS, "own"])
def test_no_error_holds_a_key(secret: Secret, planted: str) -> None:
    """In its message, details, JSON, cause, traceback and copy. Rows: S0-075."""
    text = PLANTED if planted == "own" else planted
    cause = ValueError(f"Incorrect API key provided: {text}.")
    try:
        raise NetworkError(f"refused {text}", details={"sent": f"x {text} y", text: "z"}, cause=cause) from cause
    except NetworkError as caught:
        error = caught
    told = json.dumps(error.to_json(), ensure_ascii=False)
    back = from_json(json.loads(told))
    copied = pickle.loads(pickle.dumps(error))  # noqa: S301
    shown = [str(error), repr(error), told, json.dumps(error.to_json()), repr(back), repr(back.__cause__), repr(copied)]
    shown += [repr(copied.__cause__), repr(error.details), str(ForeignException("E", text))]
    shown.append("".join(traceback.format_exception(type(error), error, None, chain=False)))
    assert not any(text in one for one in shown)
    assert "refused" in str(error)


def test_headers_and_urls_lose_their_passwords() -> None:
    """Rows: S0-075."""
    told = redact("Authorization: Bearer abcdefgh12345 to postgresql://ann:hunter2@db/x, see http://h/p?q=1:2")
    assert told == "Authorization: Bearer *** to postgresql://***@db/x, see http://h/p?q=1:2"


def test_details_that_are_named_so_are_not_told() -> None:
    """Rows: S0-075."""
    details = {
        "api_key": "x",
        "openaiApiKey": "x",
        "access-token": "x",
        "PASSWORD": "x",
        "max_tokens": "9",
        "keys": "k",
    }
    error = ConfigurationError("m", details=details)
    assert dict(error.details) == {**dict.fromkeys(details, "***"), "max_tokens": "9", "keys": "k"}
    assert not names_secret("tokenizer")


def test_a_form_of_ones_own_is_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows: S0-075."""
    monkeypatch.setattr(module, "_FORMS", list(vars(module)["_FORMS"]))
    add_redaction(r"badge-\d+")
    assert StoreError("who has badge-4711?").message == "who has ***?"


@given(st.text(min_size=6, max_size=30), st.text(max_size=10), st.text(max_size=10))
def test_any_text_is_taken_out_of_any_other(text: str, before: str, after: str) -> None:
    """As it is, as JSON writes it, and as ``repr`` does."""
    planted = Secret(text)
    for told in (before + text + after, json.dumps({"k": text}), repr(text)):
        assert text not in redact(told).replace("***", "") or text in before + after or "*" in text
    with pytest.raises(ValidationError):
        Registry().encode({"k": before + text + after})
    assert planted.reveal() == text
