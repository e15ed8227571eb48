"""`Secret`: a text that is used and never shown; and what takes secrets out of the texts of errors, events and logs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn, final
from weakref import WeakValueDictionary

SHOWN = "***"
"""Stands in every text where a secret stood."""
LEAST = 6
"""Characters from which on a secret is looked for in other texts: a shorter one stands in many by chance."""

_alive: WeakValueDictionary[int, Secret] = WeakValueDictionary()
_FORMS = [
    re.compile(form)
    for form in (
        # The key formats that providers use, in the error texts of their SDKs above all.
        r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}",
        r"\bAIza[0-9A-Za-z_-]{30,}",
        r"\b(?:gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        r"(?<=\bBearer )[A-Za-z0-9._~+/=-]{8,}",
        r"(?<=\bBasic )[A-Za-z0-9+/=]{8,}",
        # The password in a URL.
        r"(?<=://)[^\s/:@]*:[^\s/@]+(?=@)",
    )
]
_NAMES = re.compile(
    r"[aA]pi_?[kK]ey|(?i:(?:^|[_\-. ])(?:secret|token|password|passwd|credentials?|authorization)(?:$|[_\-. ]))|API_?KEY"
)


@final
class Secret:
    """A text, such as a provider's key, that code may `reveal` and that nothing else gets to see.

    Its ``repr`` and ``str`` are ``***``. A checkpoint, a store, an effect's arguments refuse it, and refuse its text too:
    ValidationError, which names the place. In the text of an error its text becomes ``***``. Keep it in the run's context
    or under an untracked key. Texts of fewer than 6 characters are not looked for.

    Raises: TypeError, for what is not a str; ValueError, for an empty one.
    """

    __slots__ = ("__weakref__", "_text")

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a Secret holds a str, not a {type(text).__name__}")
        if not text:
            raise ValueError("a Secret must not be empty")
        self._text = text
        _alive[id(self)] = self

    def reveal(self) -> str:
        """The text."""
        return self._text

    def __repr__(self) -> str:
        return f"Secret({SHOWN})"

    def __str__(self) -> str:
        return SHOWN

    def __format__(self, spec: str) -> str:
        return format(SHOWN, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Secret is never written down")


def texts() -> tuple[str, ...]:
    """The texts of all secrets that there are now and that are long enough to be looked for; the longest first."""
    if not _alive:
        return ()
    found = {secret.reveal() for secret in list(_alive.values())}
    return tuple(sorted((text for text in found if len(text) >= LEAST), key=lambda text: (-len(text), text)))


def holds(data: bytes | str, secrets: Iterable[str]) -> bool:
    """Whether any of these texts stands in ``data``, as it is or as JSON writes it."""
    if isinstance(data, str):
        return any(form in data for text in secrets for form in _spellings(text))
    return any(form.encode("utf-8", "surrogatepass") in data for text in secrets for form in _spellings(text))


def _spellings(text: str) -> set[str]:
    return {text, json.dumps(text)[1:-1], repr(text)[1:-1]}


def redact(text: str) -> str:
    """``text`` with ``***`` where a secret stands: of every `Secret`, and of what looks like a provider's key or password."""
    for secret in texts():
        for form in _spellings(secret):
            text = text.replace(form, SHOWN)
    for form in _FORMS:
        text = form.sub(SHOWN, text)
    return text


def add_redaction(form: str | re.Pattern[str]) -> None:
    """From now on `redact` takes out whatever matches this regular expression too."""
    _FORMS.append(re.compile(form))


def names_secret(key: str) -> bool:
    """Whether a key by its name holds a secret: ``api_key``, ``password``, ``access-token``..."""
    return _NAMES.search(key) is not None
