"""What is known of models by their names; what is not in the table is tried, and the provider says what it cannot do."""

from __future__ import annotations

from typing import Final

from lawful.models.values import Profile

_OPENAI: Final[dict[str, Profile]] = {
    "gpt-5": Profile(context=400_000, output=128_000, images=True, files=True, audio=False, reasoning=True),
    "gpt-4.1": Profile(context=1_047_576, output=32_768, images=True, files=True, audio=False, reasoning=False),
    "gpt-4o": Profile(context=128_000, output=16_384, images=True, files=True, audio=False, reasoning=False),
    "o4-mini": Profile(context=200_000, output=100_000, images=True, files=True, audio=False, reasoning=True),
    "o3": Profile(context=200_000, output=100_000, images=True, files=True, audio=False, reasoning=True),
    "gpt-3.5-turbo": Profile(context=16_385, output=4_096, schema=False, images=False, audio=False, reasoning=False),
}
_ANTHROPIC: Final[dict[str, Profile]] = {
    "claude-3": Profile(context=200_000, output=4_096, schema=False, images=True, files=True, audio=False),
    "claude-3-5": Profile(context=200_000, output=8_192, schema=False, images=True, files=True, audio=False),
    "claude-haiku-4-5": Profile(context=200_000, output=64_000, images=True, files=True, audio=False, reasoning=True),
    "claude-sonnet-4-5": Profile(context=200_000, output=64_000, images=True, files=True, audio=False, reasoning=True),
    "claude-opus-4-5": Profile(context=200_000, output=64_000, images=True, files=True, audio=False, reasoning=True),
    "claude": Profile(images=True, files=True, audio=False, reasoning=True),
}
_GOOGLE: Final[dict[str, Profile]] = {
    "gemini-2.5-pro": Profile(context=1_048_576, output=65_536, images=True, files=True, audio=True, reasoning=True),
    "gemini-2.5-flash": Profile(context=1_048_576, output=65_536, images=True, files=True, audio=True, reasoning=True),
    "gemini": Profile(images=True, files=True, audio=True),
}
KNOWN: Final = {"openai": _OPENAI, "anthropic": _ANTHROPIC, "google": _GOOGLE}


def profile_of(provider: str, name: str) -> Profile:
    """What the model can do: that of the longest name in the table which ``name`` is, or goes on from with a hyphen."""
    table = KNOWN.get(provider, {})
    fits = [known for known in table if name == known or name.startswith(f"{known}-")]
    return table[max(fits, key=len)] if fits else Profile()
