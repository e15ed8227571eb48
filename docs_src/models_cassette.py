"""What a model answered once is recorded, without secrets, and answered again without it."""

from __future__ import annotations

from lawful.models import model
from lawful.models.cassette import Recorder, Replayer

key = "sk-" + "x" * 24
Recorder(model("demo"), "talk.jsonl").invoke(f"Is {key} a key?")
with open("talk.jsonl", encoding="utf-8") as file:
    print(key in file.read())

print(Replayer("talk.jsonl").invoke(f"Is {key} a key?").text)

# prints: False
# prints: You asked: 'Is *** a key?'. (demo model: no language model, plain rules only)
