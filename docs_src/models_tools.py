"""A model is shown tools as data, calls one, and is told what came of it."""

from __future__ import annotations

from lawful.core.messages import user
from lawful.models import ToolSpec, model

weather = ToolSpec(
    "weather",
    "Today's weather in one city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
demo = model("demo")
question = user("What is the weather in Lyon?")

first = demo.invoke([question], tools=[weather])
call = first.calls[0]
print(call.name, call.args, call.state)

settled = first.message.with_outcome(call.id or "", "ok", "fair")
print(demo.invoke([question, settled], tools=[weather]).text)

# prints: weather {'city': 'Lyon'} pending
# prints: weather says: fair (demo model: no language model, plain rules only)
