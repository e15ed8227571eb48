"""Guardrails: what goes in, what comes out, what tools are given."""

from __future__ import annotations

from lawful import Agent
from lawful.core.errors import ValidationError
from lawful.middleware import Guardrails, KeywordRail, LengthRail, RegexRail
from lawful.models.fake import Scripted

rails = Guardrails(
    input=[LengthRail(200), KeywordRail("password")],
    output=[RegexRail(r"\b\d{4}\b", replace="****")],
)
agent = Agent(Scripted("Your code is 1234.", chunks=2), middleware=[rails])
print(list(agent.stream_text("What is my code?")))
try:
    agent.invoke("Tell me the PASSWORD")
except ValidationError as error:
    print(error.message)

# prints: ['Your code is ****.']
# prints: guardrail on input: keyword: it has the word 'PASSWORD'
