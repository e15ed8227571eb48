"""A model as a step: built without a key, answered in a test by a script."""

from __future__ import annotations

import asyncio

from lawful import Err, Ok
from lawful.core.errors import NetworkError
from lawful.models import chat
from lawful.pipeline import pure
from lawful.testing import Script

dear, cheap = chat("openai:gpt-5"), chat("ollama:qwen3")
answer = pure(str.strip) >> (dear | cheap)

script = Script().answer(dear, Err(NetworkError("down"))).answer(cheap, Ok("42"))
print(asyncio.run(script.run(answer, " 6 × 7 ")))
print(script.trace)

# prints: Ok(value='42')
# prints: ['openai:gpt-5', 'ollama:qwen3']
