"""How a text such as "openai:gpt-5" becomes a model: the providers by name, each adapter imported when it is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from msgspec import Struct

from lawful.core.errors import ConfigurationError, nearest
from lawful.core.lazy import late
from lawful.models.port import ChatModel
from lawful.models.settings import configured


class Maker(Struct, frozen=True):
    """Where a provider's adapter is."""

    module: str
    adapter: str
    config: str
    fixed: Mapping[str, Any] = {}
    """Arguments that the provider's name stands for."""


def _compatible(base_url: str, key_name: str) -> Maker:
    return Maker("lawful.models.openai", "OpenAIModel", "OpenAIConfig", {"base_url": base_url, "key_name": key_name})


PROVIDERS: Final[Mapping[str, Maker]] = {
    "openai": Maker("lawful.models.responses", "ResponsesModel", "OpenAIConfig"),
    "openai-chat": Maker("lawful.models.openai", "OpenAIModel", "OpenAIConfig"),
    "anthropic": Maker("lawful.models.anthropic", "AnthropicModel", "AnthropicConfig"),
    "google": Maker("lawful.models.google", "GeminiModel", "GeminiConfig"),
    "ollama": Maker("lawful.models.ollama", "OllamaModel", "OllamaConfig"),
    "deepseek": _compatible("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "groq": _compatible("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "huggingface": _compatible("https://router.huggingface.co/v1", "HF_TOKEN"),
    "mistral": _compatible("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openrouter": _compatible("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together": _compatible("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "xai": _compatible("https://api.x.ai/v1", "XAI_API_KEY"),
}
ALIASES: Final[Mapping[str, str]] = {"gemini": "google", "google-genai": "google", "claude": "anthropic"}
ALONE: Final = ("demo", "local", "echo")
"""Models that are known without a provider, for they need no key and no network."""
_FAMILIES: Final[Mapping[str, str]] = {
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "chatgpt": "openai",
    "claude": "anthropic",
    "gemini": "google",
    "gemma": "ollama",
    "llama": "ollama",
    "qwen": "ollama",
    "phi": "ollama",
    "smollm": "ollama",
    "deepseek": "deepseek",
    "mistral": "mistral",
    "grok": "xai",
}
"""Whose models begin like this, to guess what was meant."""


def model(name: str | ChatModel[Any], /, **settings: Any) -> ChatModel[Any]:
    """The model of that name: ``model("openai:gpt-5", temperature=0)``, ``model("demo")``; a model is given back as it is.

    ``settings`` are the fields of the provider's own settings class, and ``api_key``, ``base_url``, ``retry``, ``profile``
    and ``client``. With a ``base_url`` of its own "openai" speaks chat completions, which most servers do; "openai-chat"
    does so always. Nothing is sent until the model is asked.

    Raises: ConfigurationError, if the name has no provider or an unknown one, the provider's package or key is missing,
    or a setting is not one of its.
    """
    if isinstance(name, ChatModel):
        if settings:
            raise _refuse(name.component_id, "a model that is made already takes its settings as config=")
        return name
    if not isinstance(cast("Any", name), str):
        raise _refuse(str(name), f"a model is named, as in 'openai:gpt-5' or 'demo', or a ChatModel, not {name!r:.80}")
    if name in ALONE:
        return _alone(name, settings)
    provider, own = split(name)
    maker = PROVIDERS[provider]
    if provider == "openai" and settings.get("base_url"):
        maker = PROVIDERS["openai-chat"]
    module = late(maker.module)
    adapter, kind = getattr(module, maker.adapter), getattr(module, maker.config)
    given = dict(maker.fixed)
    if maker.fixed:
        given["provider"] = provider
    for option in ("api_key", "base_url", "retry", "profile", "client"):
        if option in settings:
            given[option] = settings.pop(option)
    if maker.fixed and not given.get("api_key") and given["base_url"] == maker.fixed["base_url"]:
        # A compatible server of somebody else's wants a key as OpenAI's does.
        given["api_key"] = late("lawful.models.keys").key_for(provider, None, maker.fixed["key_name"])
    return adapter(own, config=configured(kind, settings, f"{provider}:{own}"), **given)


def split(name: str) -> tuple[str, str]:
    """The provider and the model's own name.

    Raises: ConfigurationError with the nearest right name.
    """
    provider, colon, own = name.partition(":")
    provider = ALIASES.get(provider, provider)
    if colon and own and provider in PROVIDERS:
        return provider, own
    if not colon:
        raise _refuse(name, f"{name!r} names no provider.{_guess(name)}")
    if provider in PROVIDERS:
        raise _refuse(name, f"{name!r} names no model of {provider}'s, as in 'openai:gpt-5'.")
    raise _refuse(name, f"there is no provider {provider!r}.{nearest(provider, [*PROVIDERS, *ALIASES])}")


def _guess(name: str) -> str:
    for start, provider in _FAMILIES.items():
        if name.lower().startswith(start):
            return f" Did you mean {f'{provider}:{name}'!r}?"
    close: list[str] = late("difflib", "get_close_matches")(name, [*PROVIDERS, *ALONE], n=1, cutoff=0.6)
    if close:
        return f" Did you mean {close[0] if close[0] in ALONE else close[0] + ':...'!r}?"
    return " Write it as 'openai:gpt-5', 'anthropic:claude-opus-5' or 'ollama:qwen3'; 'demo' needs no provider."


def _alone(name: str, settings: Mapping[str, Any]) -> ChatModel[Any]:
    if settings:
        raise _refuse(name, f"{name!r} has no settings.")
    if name == "echo":
        return late("lawful.models.fake", "Echo")()
    return late("lawful.models.demo", "Demo")() if name == "demo" else late("lawful.models.local", "LocalModel")()


def _refuse(name: str, why: str) -> ConfigurationError:
    return ConfigurationError(why, component="models", operation="model", details={"model": name})
