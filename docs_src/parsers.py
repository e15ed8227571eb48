"""Parsers are steps from text to a value; what is not in form is a ParsingError with the raw text."""

from __future__ import annotations

import enum

import pydantic

from lawful import Err
from lawful.pipeline import run_sync
from lawful.pipeline.parsers import boolean, comma_list, enum_member, json_value, line_list, structured


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class City(pydantic.BaseModel):
    name: str
    hills: int


print(run_sync(structured(City), '```json\n{"name": "Rome", "hills": 7}\n```').unwrap())
print(run_sync(enum_member(Mood), " Good. ").unwrap(), run_sync(boolean(), "No").unwrap())
print(run_sync(comma_list(), "a, b").unwrap(), run_sync(line_list(), "1. a\n2. b").unwrap())

for parser, text in ((structured(City), '{"name": 3}'), (boolean(), "not true"), (json_value(), "Sure! {}")):
    end = run_sync(parser, text)
    if isinstance(end, Err):
        print(end.error.message, "|", end.error.details["raw"])
# prints: name='Rome' hills=7
# prints: Mood.GOOD False
# prints: ['a', 'b'] ['a', 'b']
# prints: structured City: name: Input should be a valid string; hills: Field required | {"name": 3}
# prints: boolean: 'not true' is neither yes nor no | not true
# prints: json: Expecting value: line 1 column 1 (char 0) | Sure! {}
