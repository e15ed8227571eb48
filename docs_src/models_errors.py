"""What can go wrong is typed, says whether another try may help, and is tried again as often as told."""

from __future__ import annotations

from lawful import RetryPolicy
from lawful.core.llm_errors import RateLimited
from lawful.models.fake import Scripted
from lawful.models.faults import Drop, Faulty, Status

model = Faulty(Scripted("Here I am."), Status(429, retry_after=2))
try:
    model.invoke("Are you there?")
except RateLimited as error:
    print(error.retryable, error.details["retry_after"])

patient = RetryPolicy(initial_interval=0.01, jitter=False, max_attempts=3)
model = Faulty(Scripted("Here I", "Here I am."), Status(503), Drop(after=1), retry=patient)
print(model.invoke("Are you there?").text, model.calls)

# prints: True 2
# prints: Here I am. 3
