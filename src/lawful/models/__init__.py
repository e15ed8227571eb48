"""Chat models and embedders behind one port each; an adapter and its package are imported when a model is made."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.models.anthropic import AnthropicConfig as AnthropicConfig
    from lawful.models.anthropic import AnthropicModel as AnthropicModel
    from lawful.models.by_schema import CallsBySchema as CallsBySchema
    from lawful.models.chatting import chat as chat
    from lawful.models.chatting import repaired as repaired
    from lawful.models.deltas import BlockDelta as BlockDelta
    from lawful.models.deltas import CallDelta as CallDelta
    from lawful.models.deltas import Completed as Completed
    from lawful.models.deltas import Delta as Delta
    from lawful.models.deltas import ReasoningDelta as ReasoningDelta
    from lawful.models.deltas import TextDelta as TextDelta
    from lawful.models.embedders import embedder as embedder
    from lawful.models.embedding import Embedder as Embedder
    from lawful.models.embedding import Embeddings as Embeddings
    from lawful.models.google import GeminiConfig as GeminiConfig
    from lawful.models.google import GeminiModel as GeminiModel
    from lawful.models.ollama import OllamaConfig as OllamaConfig
    from lawful.models.ollama import OllamaModel as OllamaModel
    from lawful.models.openai import OpenAIConfig as OpenAIConfig
    from lawful.models.openai import OpenAIModel as OpenAIModel
    from lawful.models.output import OutputForm as OutputForm
    from lawful.models.output import Structured as Structured
    from lawful.models.output import astructured as astructured
    from lawful.models.output import form_of as form_of
    from lawful.models.output import structured as structured
    from lawful.models.port import ChatModel as ChatModel
    from lawful.models.port import Prompt as Prompt
    from lawful.models.prices import Price as Price
    from lawful.models.prices import cost as cost
    from lawful.models.recording import recorded as recorded
    from lawful.models.responses import ResponsesModel as ResponsesModel
    from lawful.models.select import model as model
    from lawful.models.settings import ModelConfig as ModelConfig
    from lawful.models.streaming import Stream as Stream
    from lawful.models.streaming import SyncStream as SyncStream
    from lawful.models.values import Only as Only
    from lawful.models.values import OutputSpec as OutputSpec
    from lawful.models.values import Profile as Profile
    from lawful.models.values import Reply as Reply
    from lawful.models.values import Request as Request
    from lawful.models.values import ToolChoice as ToolChoice
    from lawful.models.values import ToolSpec as ToolSpec
    from lawful.models.values import Usage as Usage
else:
    _TABLE = {
        "model": "lawful.models.select",
        "ChatModel": "lawful.models.port",
        "Prompt": "lawful.models.port",
        "ModelConfig": "lawful.models.settings",
        "Request": "lawful.models.values",
        "Reply": "lawful.models.values",
        "Usage": "lawful.models.values",
        "ToolSpec": "lawful.models.values",
        "ToolChoice": "lawful.models.values",
        "Only": "lawful.models.values",
        "OutputSpec": "lawful.models.values",
        "Profile": "lawful.models.values",
        "Stream": "lawful.models.streaming",
        "SyncStream": "lawful.models.streaming",
        "Delta": "lawful.models.deltas",
        "TextDelta": "lawful.models.deltas",
        "ReasoningDelta": "lawful.models.deltas",
        "CallDelta": "lawful.models.deltas",
        "BlockDelta": "lawful.models.deltas",
        "Completed": "lawful.models.deltas",
        "CallsBySchema": "lawful.models.by_schema",
        "chat": "lawful.models.chatting",
        "recorded": "lawful.models.recording",
        "repaired": "lawful.models.chatting",
        "structured": "lawful.models.output",
        "astructured": "lawful.models.output",
        "form_of": "lawful.models.output",
        "OutputForm": "lawful.models.output",
        "Structured": "lawful.models.output",
        "Embedder": "lawful.models.embedding",
        "Embeddings": "lawful.models.embedding",
        "embedder": "lawful.models.embedders",
        "cost": "lawful.models.prices",
        "Price": "lawful.models.prices",
        "OpenAIModel": "lawful.models.openai",
        "OpenAIConfig": "lawful.models.openai",
        "ResponsesModel": "lawful.models.responses",
        "AnthropicModel": "lawful.models.anthropic",
        "AnthropicConfig": "lawful.models.anthropic",
        "GeminiModel": "lawful.models.google",
        "GeminiConfig": "lawful.models.google",
        "OllamaModel": "lawful.models.ollama",
        "OllamaConfig": "lawful.models.ollama",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
