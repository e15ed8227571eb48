"""An effect as a tool: asked for twice, done once."""

from __future__ import annotations

from lawful import Agent, effect
from lawful.core.messages import ToolCall
from lawful.models.fake import Scripted

sent: list[str] = []


@effect("order")
def refund(order: str, cents: int) -> str:
    """Refund an order."""
    sent.append(order)
    return f"refunded {order}"


@refund.lookup
def find_refund(order: str, cents: int) -> str | None:
    return f"refunded {order}" if order in sent else None


hasty = Scripted(
    ToolCall(id="1", name="refund", args={"order": "o-7", "cents": 500}),
    ToolCall(id="2", name="refund", args={"order": "o-7", "cents": 500}),
    "It is refunded.",
)
answer = Agent(hasty, tools=[refund]).invoke("Refund o-7.")
print([message.text for message in answer.messages if message.role == "tool"])
print(sent, answer.text)

# prints: ['refunded o-7', 'refunded o-7']
# prints: ['o-7'] It is refunded.
