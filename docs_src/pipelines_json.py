"""A pipeline of registered components goes to JSON and back; a plain function says that it cannot."""

from __future__ import annotations

import json

from lawful.core.errors import ConfigurationError
from lawful.pipeline import Registry, from_json, pure, run_sync, to_json

registry = Registry()


@registry.component("upper")
def upper(text: str) -> str:
    return text.upper()


@registry.component("words")
async def words(text: str) -> list[str]:
    return text.split()


stored = json.dumps(to_json(upper >> words))
print(run_sync(from_json(json.loads(stored), registry), "a b").unwrap())

try:
    to_json(words >> pure(len))
except ConfigurationError as error:
    print(error.message)

# prints: ['A', 'B']
# prints: the step 'len' is a plain function: register it to write it to JSON
