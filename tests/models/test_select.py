"""A model by its name: what is wrong with a name, a setting, a package or a key is said at once, with the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.core.errors import ConfigurationError, NetworkError
from lawful.core.lazy import late
from lawful.core.result import Err, Ok
from lawful.models import ModelConfig, Profile, chat, embedder, model
from lawful.models.fake import Echo, Scripted
from lawful.models.profiles import profile_of
from lawful.models.select import PROVIDERS
from lawful.pipeline import run
from lawful.testing import Script

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "name, said",
    [
        ("gpt-5", "Did you mean 'openai:gpt-5'"),
        ("claude-opus-5", "Did you mean 'anthropic:claude-opus-5'"),
        ("gemini-2.5-pro", "Did you mean 'google:gemini-2.5-pro'"),
        ("qwen3", "Did you mean 'ollama:qwen3'"),
        ("dmeo", "Did you mean 'demo'"),
        ("opena:gpt-5", "Did you mean 'openai'"),
        ("openai:", "names no model of openai's"),
        ("something", "names no provider"),
    ],
)
def test_a_name_without_a_provider_gets_the_nearest(name: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        model(name)
    with pytest.raises(ConfigurationError, match=said):
        chat(name)


@pytest.mark.parametrize(
    "name, module, variable",
    [
        ("openai:gpt-5", "openai", "OPENAI_API_KEY"),
        ("anthropic:claude-opus-5", "anthropic", "ANTHROPIC_API_KEY"),
        ("google:gemini-2.5-pro", "google.genai", "GEMINI_API_KEY"),
        ("deepseek:deepseek-chat", "openai", "DEEPSEEK_API_KEY"),
    ],
)
def test_a_missing_key_names_its_variable_and_how_to_try_without(
    name: str, module: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(module)
    for known in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(known, raising=False)
    with pytest.raises(ConfigurationError) as caught:
        model(name)
    assert variable in caught.value.message
    assert 'model("demo")' in caught.value.message
    monkeypatch.setenv(variable, "key")
    assert model(name).component_id == name


@pytest.mark.parametrize(
    "name, package, extra",
    [
        ("openai:x", "openai", "openai"),
        ("anthropic:x", "anthropic", "anthropic"),
        ("google:x", "google", "google"),
        ("ollama:x", "ollama", "ollama"),
        ("deepseek:x", "openai", "openai"),
    ],
)
def test_a_missing_package_names_the_line_that_installs_it(
    name: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(module: str, attr: str = "", *, extra: str = "") -> Any:
        if module.partition(".")[0] == package:
            return late(f"no_such_{package}", extra=extra)
        return late(module, attr, extra=extra)

    for adapter in ("openai", "anthropic", "google", "ollama"):
        monkeypatch.setattr(f"lawful.models.{adapter}.late", missing)
    with pytest.raises((ConfigurationError, ModuleNotFoundError)) as caught:
        model(name, api_key="key")
    assert f'pip install "lawful[{extra}]"' in str(caught.value)


def test_settings_are_the_providers_own() -> None:
    """Rows: S0-043, S0-044."""
    pytest.importorskip("openai")
    made = model("openai:gpt-5", api_key="key", temperature=0.5, reasoning_effort="low")
    assert (made.config.temperature, made.config.reasoning_effort) == (0.5, "low")
    with pytest.raises(ConfigurationError, match="Did you mean 'temperature'"):
        model("openai:gpt-5", api_key="key", temprature=0.5)
    with pytest.raises(ConfigurationError, match="wrong type"):
        model("openai:gpt-5", api_key="key", temperature="hot")
    with pytest.raises(ConfigurationError, match="OpenAIConfig, not by a ModelConfig"):
        made.invoke("Hi", config=ModelConfig())


def test_openai_speaks_chat_completions_where_the_server_is_another() -> None:
    pytest.importorskip("openai")
    assert type(model("openai:gpt-5", api_key="k")).__name__ == "ResponsesModel"
    assert type(model("openai:mine", base_url="http://127.0.0.1:1/v1")).__name__ == "OpenAIModel"
    assert model("openai:mine", base_url="http://127.0.0.1:1/v1").component_id == "openai:mine"


def test_models_that_need_nothing() -> None:
    assert model("demo").component_id == "demo"
    assert model("echo").invoke("Hi").text == "Hi"
    own = Echo()
    assert model(own) is own
    with pytest.raises(ConfigurationError, match="no settings"):
        model("demo", temperature=1)
    with pytest.raises(ConfigurationError, match="config="):
        model(own, temperature=1)


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
def test_every_provider_leads_to_a_model(provider: str) -> None:
    """Rows: S0-045."""
    pytest.importorskip(
        {"anthropic": "anthropic", "google": "google.genai", "ollama": "ollama"}.get(provider, "openai")
    )
    made = model(f"{provider}:some-model", api_key="key")
    assert made.component_id == f"{provider.removesuffix('-chat')}:some-model"


async def test_a_chat_step_is_built_without_key_or_package_and_answered_by_a_script() -> None:
    dear, cheap = chat("openai:gpt-5"), chat("ollama:qwen3")
    script = Script().answer(dear, Err(NetworkError("down"))).answer(cheap, Ok("42"))
    assert await script.run(dear | cheap, "6 × 7") == Ok("42")
    assert script.trace == ["openai:gpt-5", "ollama:qwen3"]


async def test_a_chat_step_asks_its_model() -> None:
    own = Scripted("one", NetworkError("down"))
    step = chat(own, system="Be brief.")
    assert await run(step, "Hi") == Ok("one")
    assert [message.role for message in own.requests[0].messages] == ["system", "user"]
    assert await run(step, "Hi") == Err(NetworkError("down"))
    assert await run(chat("echo"), "Hi") == Ok("Hi")


def test_what_is_known_of_a_model_goes_by_its_longest_name() -> None:
    assert profile_of("anthropic", "claude-3-5-haiku").output == 8_192
    assert profile_of("openai", "gpt-5-mini").context == 400_000
    assert profile_of("openai", "gpt-5.5") == Profile()
    assert profile_of("nobody", "x") == Profile()


def test_embedders_by_name() -> None:
    assert embedder("hash").component_id == "local:hash"
    for name in ("openia:x", "openai", "nothing"):
        with pytest.raises(ConfigurationError, match="provider:model"):
            embedder(name)
    pytest.importorskip("ollama")
    with pytest.raises(ConfigurationError, match="dimension"):
        embedder("ollama:x", dimension=3)
