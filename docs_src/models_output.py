"""An answer of a form: checked without coercion, sent back with what is wrong, given typed."""

from __future__ import annotations

from dataclasses import dataclass

from lawful.core.llm_errors import OutputInvalid
from lawful.models import structured
from lawful.models.fake import Scripted


@dataclass(frozen=True)
class Advice:
    coat: bool
    why: str


model = Scripted('{"coat": "yes", "why": "rain"}', '{"coat": true, "why": "rain"}')
found = structured(model, Advice, "Do I need a coat in Lyon?")
print(found.value, found.attempts)
print(model.requests[1].messages[-1].text)

try:
    structured(Scripted(*['{"coat": "perhaps"}'] * 3), Advice, "And in Oslo?")
except OutputInvalid as error:
    print(error.details["attempts"], error.details["output"])

# prints: Advice(coat=True, why='rain') 2
# prints: That was not of the form asked for: coat: Input should be a valid boolean, not 'yes'. Answer again, in that form.
# prints: 3 {"coat": "perhaps"}
