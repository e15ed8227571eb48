"""A model is named, asked, and answers; "demo" needs neither key nor network."""

from __future__ import annotations

from lawful.core.errors import ConfigurationError
from lawful.models import model

demo = model("demo")
reply = demo.invoke("What is a law?")
print(reply.text)
print(reply.finish, reply.usage.prompt, reply.usage.completion)

try:
    model("gpt-5")
except ConfigurationError as error:
    print(error.message)

# prints: You asked: 'What is a law?'. (demo model: no language model, plain rules only)
# prints: stop 4 14
# prints: 'gpt-5' names no provider. Did you mean 'openai:gpt-5'?
