"""Answers of a form: by schema, tool or words, repaired a few times, then a typed failure that carries all."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from lawful.core.errors import ConfigurationError, NetworkError
from lawful.core.llm_errors import ContentFiltered, OutputInvalid
from lawful.core.messages import InvalidToolCall, Message, Text, ToolCall, assistant
from lawful.core.result import Ok
from lawful.models import Only, Profile, Reply, Request, ToolSpec, Usage, astructured, form_of, structured
from lawful.models.fake import Scripted
from lawful.models.output import Mode
from lawful.models.prompt import request_of

pytestmark = [pytest.mark.unit, pytest.mark.property]


@dataclass(frozen=True)
class Advice:
    """Whether to take a coat."""

    coat: bool
    why: str = "no reason"


class Node(BaseModel):
    name: str
    children: list[Node] = []


GOOD = '{"coat": true, "why": "rain"}'
MODES: list[Mode] = ["schema", "tool", "prompt"]


def said(mode: Mode, text: str) -> Any:
    """An answer with that JSON text, as a model gives it in that mode."""
    if mode != "tool":
        return text
    try:
        return ToolCall("Advice", json.loads(text), id="c")
    except ValueError:
        return assistant(InvalidToolCall(name="Advice", args=text, error="not JSON", id="c"))


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_of_the_form_is_given_typed(mode: Mode) -> None:
    found = structured(Scripted(said(mode, GOOD)), Advice, "Coat?", mode=mode)
    assert (found.value, found.attempts) == (Advice(True, "rain"), 1)


@pytest.mark.parametrize("mode", MODES)
def test_a_wrong_answer_is_told_what_is_wrong_and_may_be_put_right(mode: Mode) -> None:
    """Cases: A15."""
    model = Scripted(said(mode, '{"coat": "maybe"}'), said(mode, GOOD))
    found = structured(model, Advice, "Coat?", mode=mode)
    assert (found.value, found.attempts) == (Advice(True, "rain"), 2)
    told = "\n".join(message.text for message in model.requests[1].messages[-1:])
    assert "coat" in told
    assert "boolean" in told
    assert "maybe" in told


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("attempts", [1, 3])
def test_an_answer_that_never_fits_ends_after_the_attempts(mode: Mode, attempts: int) -> None:
    """Cases: A15."""
    message = said(mode, '{"coat": "perhaps"}')
    message = message if isinstance(message, Message) else assistant(message)
    model = Scripted(*[Reply(message, usage=Usage(10, 3))] * 9)
    with pytest.raises(OutputInvalid) as caught:
        structured(model, Advice, "Coat?", mode=mode, attempts=attempts)
    error = caught.value
    assert len(model.requests) == attempts
    assert not error.retryable
    assert "perhaps" in error.details["output"]
    assert "boolean" in error.details["errors"]
    assert error.details["attempts"] == str(attempts)
    assert (error.details["prompt_tokens"], error.details["completion_tokens"]) == (
        str(10 * attempts),
        str(3 * attempts),
    )


@pytest.mark.parametrize(
    "text", ["maybe", '"yes"', '{"coat": "yes"}', '{"coat": 1}', '{"why": "x"}', "[]", '{"coat": tr', ""]
)
def test_nothing_is_coerced(text: str) -> None:
    with pytest.raises(OutputInvalid):
        structured(Scripted(text), Advice, "Coat?", attempts=1)


@pytest.mark.parametrize("mode", MODES)
def test_a_broken_call_is_repaired_too(mode: Mode) -> None:
    found = structured(Scripted(said(mode, '{"coat": tr'), said(mode, GOOD)), Advice, "Coat?", mode=mode)
    assert found.attempts == 2


def test_the_mode_follows_what_the_model_can_do() -> None:
    assert form_of(Advice, Profile()).mode == "schema"
    assert form_of(Advice, Profile(schema=False)).mode == "tool"
    assert form_of(Advice, Profile(schema=False, tools=False)).mode == "prompt"
    # An object with fields of any name cannot be held to by a grammar that closes objects.
    assert form_of(dict[str, int], Profile()).mode == "tool"
    assert form_of(dict[str, int], Profile(tools=False)).mode == "schema"


def test_what_is_asked_in_each_mode() -> None:
    plain = request_of("Coat?")
    by_schema = form_of(Advice, mode="schema").ask(plain)
    assert by_schema.output is not None
    assert by_schema.output.schema["properties"]["coat"] == {"title": "Coat", "type": "boolean"}
    by_tool = form_of(Advice, mode="tool").ask(plain)
    assert [tool.name for tool in by_tool.tools] == ["Advice"]
    assert by_tool.tool_choice == Only("Advice")
    beside = form_of(Advice, mode="tool").ask(Request(plain.messages, (ToolSpec("weather"),)))
    assert beside.tool_choice == "required"
    assert "boolean" in form_of(Advice, mode="prompt").ask(plain).messages[-1].text


def test_json_in_a_fence_is_read_where_words_alone_ask_for_it() -> None:
    text = f"Here it is:\n```json\n{GOOD}\n```\nDone."
    assert structured(Scripted(text), Advice, "Coat?", mode="prompt").value == Advice(True, "rain")
    with pytest.raises(OutputInvalid):
        structured(Scripted(text), Advice, "Coat?", mode="schema", attempts=1)


def test_a_null_for_a_field_that_may_be_left_out_is_its_default() -> None:
    assert structured(Scripted('{"coat": false, "why": null}'), Advice, "Coat?").value == Advice(False)


def test_types_that_are_no_objects_stand_in_one() -> None:
    found = structured(Scripted('{"value": ["a", "b"]}'), list[str], "Two letters")
    assert found.value == ["a", "b"]
    assert form_of(list[str]).schema["required"] == ["value"]


def test_a_form_that_contains_itself_is_asked_for_and_read_whole() -> None:
    text = '{"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}'
    assert structured(Scripted(text), Node, "A tree").value.children[0].children[0].name == "c"


def test_a_refusal_is_not_a_wrong_answer() -> None:
    model = Scripted(Reply(assistant("I will not."), finish="content_filter"), GOOD)
    with pytest.raises(ContentFiltered):
        structured(model, Advice, "Coat?")
    assert len(model.requests) == 1


async def test_errors_of_the_model_pass_and_attempts_are_checked() -> None:
    with pytest.raises(NetworkError):
        await astructured(Scripted(NetworkError("down")), Advice, "Coat?")
    with pytest.raises(ConfigurationError, match="at least 1"):
        await astructured(Scripted(GOOD), Advice, "Coat?", attempts=0)


def test_a_type_without_a_schema_is_refused_by_name() -> None:
    class Odd:
        pass

    with pytest.raises(ConfigurationError, match="Odd"):
        form_of(Odd)


@given(st.builds(Advice, st.booleans(), st.text()), st.sampled_from(MODES))
def test_what_is_written_is_read(advice: Advice, mode: Mode) -> None:
    text = json.dumps({"coat": advice.coat, "why": advice.why})
    block = ToolCall("Advice", json.loads(text), id="c") if mode == "tool" else Text(text)
    assert form_of(Advice, mode=mode).read(Reply(assistant(block))) == Ok(advice)
