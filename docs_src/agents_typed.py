"""An agent whose answer is a value of a class."""

from __future__ import annotations

from dataclasses import dataclass

from lawful import Agent, Done


@dataclass(frozen=True)
class Advice:
    coat: bool
    why: str


adviser = Agent("demo", output=Advice)
advice = adviser.invoke('Shall I take a coat? I ask because "it rains".').output
print(advice.coat, advice.why)

match adviser.run_sync('No coat, for "it is warm".'):
    case Done(state):
        print(state)
    case waits_or_failed:
        print(waits_or_failed)

# prints: True it rains
# prints: Advice(coat=False, why='it is warm')
