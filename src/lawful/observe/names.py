"""Names of attributes, operations and metrics: OpenTelemetry's for generative AI, and ours where it has none.

Source: OpenTelemetry semantic conventions for generative AI systems. They are not stable yet, so the names stand here once.
"""

from __future__ import annotations

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
CONVERSATION: Final = "gen_ai.conversation.id"
AGENT: Final = "gen_ai.agent.name"
WORKFLOW: Final = "gen_ai.workflow.name"
TOOL: Final = "gen_ai.tool.name"
TOOL_CALL: Final = "gen_ai.tool.call.id"
TOOL_TYPE: Final = "gen_ai.tool.type"
ARGUMENTS: Final = "gen_ai.tool.call.arguments"
RESULT: Final = "gen_ai.tool.call.result"
OUTPUT: Final = "gen_ai.output.messages"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE: Final = "gen_ai.usage.cache_creation.input_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"
ERROR: Final = "error.type"

CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"
INVOKE_AGENT: Final = "invoke_agent"
INVOKE_WORKFLOW: Final = "invoke_workflow"

RUN: Final = "lawful.run.id"
SEQ: Final = "lawful.event.seq"
"""The number of the event that began the span: a line of the log with this run and number is that event."""
THREAD: Final = "lawful.thread"
OUTCOME: Final = "lawful.outcome"
NODE: Final = "lawful.node"
STEP: Final = "lawful.step"
ATTEMPT: Final = "lawful.attempt"
EFFECT: Final = "lawful.effect.tool"
OP_ID: Final = "lawful.effect.op_id"
STATE: Final = "lawful.effect.state"
CLAIMS: Final = "lawful.effect.claims"
"""How often the run claimed the effect: more than 1 where an attempt was made again."""
SAW: Final = "lawful.effect.saw"

DURATION: Final = "gen_ai.client.operation.duration"
TOKENS: Final = "gen_ai.client.token.usage"
RUNS: Final = "lawful.runs"
NODE_DURATION: Final = "lawful.node.duration"
RETRIES: Final = "lawful.retries"
EFFECTS: Final = "lawful.effects"
UNKNOWN: Final = "lawful.operations.unknown"


def provider_and_model(named: str) -> tuple[str, str]:
    """("openai", "gpt-5") of "openai:gpt-5"; a name without a provider is the model."""
    provider, colon, model = named.partition(":")
    return (provider, model) if colon else ("", named)
