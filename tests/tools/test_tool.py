"""Tools from functions and effects: their schema, the check of arguments, what is injected, what is refused with its place."""

from __future__ import annotations

import datetime
import enum
import warnings
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import pytest

from lawful import Runtime, effect
from lawful.core.errors import ConfigurationError, NotInRun, ValidationError
from lawful.core.messages import ToolCall
from lawful.effects import Effect, EffectContext, Natural, NotFound, Seen
from lawful.graph import END, START, StateGraph
from lawful.tools import Tool, Toolset, Traits, UndeclaredTool, as_tool, tool

pytestmark = pytest.mark.unit


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


@tool
async def weather(city: str, unit: Unit = Unit.C, day: datetime.date | None = None) -> str:
    """The weather in one city.

    Args:
        city: Its name, as the
            people there write it.
        unit: Degrees.

    Returns:
        One line.
    """
    return f"{city} {unit.value} {day}"


@tool(pure_read=True, risk="low")
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def call(of: Tool[..., Any], **args: Any) -> ToolCall:
    return ToolCall(id="c1", name=of.name, args=args)


def test_name_description_and_schema_come_from_the_function() -> None:
    assert weather.name == "weather"
    assert weather.description == "The weather in one city."
    properties = weather.parameters["properties"]
    assert properties["city"] == {"type": "string", "description": "Its name, as the people there write it."}
    assert properties["unit"]["default"] == "celsius"
    assert weather.parameters["required"] == ["city"]
    assert weather.parameters["additionalProperties"] is False
    assert "title" not in weather.parameters


async def test_arguments_are_converted_where_json_has_no_such_type() -> None:
    found = await weather.acall(call(weather, city="Lyon", unit="fahrenheit", day="2026-05-01"))
    assert found == "Lyon fahrenheit 2026-05-01"


def test_a_tool_is_still_called_as_its_function() -> None:
    assert add(1, b=4) == 5
    assert add.traits == Traits(pure_read=True, risk="low")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"a": "x"}, "a: Input should be a valid integer"),
        ({}, "a: Field required"),
        ({"a": 1, "bee": 2}, "no argument 'bee'. Did you mean 'b'"),
    ],
)
async def test_bad_arguments_are_refused_before_anything_runs(args: dict[str, Any], said: str) -> None:
    """Rows: S0-131"""
    ran: list[int] = []

    @tool
    def watch(a: int, b: int = 1) -> int:
        ran.append(a)
        return a

    with pytest.raises(ValidationError, match="watch") as caught:
        await watch.acall(call(watch, **args))
    assert said in str(caught.value)
    assert ran == []


def test_a_parameter_without_annotation_is_refused_with_file_and_line() -> None:
    def bare(a: int, b) -> int:  # type: ignore[no-untyped-def]  # pyright: ignore
        return a

    with pytest.raises(ConfigurationError, match=r"test_tool\.py:\d+: tool 'bare', parameter 'b'") as caught:
        tool(bare)  # pyright: ignore
    assert caught.value.details["line"] == str(bare.__code__.co_firstlineno)


@pytest.mark.parametrize("form", ["args", "kwargs"])
def test_parameters_without_a_name_are_refused(form: str) -> None:
    def many(*args: int) -> int:
        return 0

    def named(**kwargs: int) -> int:
        return 0

    with pytest.raises(ConfigurationError, match="called by name"):
        tool(many if form == "args" else named)  # pyright: ignore


def test_a_sync_tool_cannot_have_a_timeout() -> None:
    with pytest.raises(ConfigurationError, match="cannot be stopped"):
        tool(timeout=1.0)(lambda: 1)  # pyright: ignore


def test_a_name_that_no_provider_takes_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no name for a tool"):
        tool(name="get weather!")(weather.function)


def test_a_runtime_is_injected_and_not_shown_to_the_model() -> None:
    @tool
    def whoami(greeting: str, runtime: Runtime[str]) -> str:
        return f"{greeting} {runtime.context}"

    assert list(whoami.parameters["properties"]) == ["greeting"]

    async def node(state: dict[str, Any]) -> dict[str, Any]:
        return {"said": await whoami.acall(call(whoami, greeting="hello"))}

    class State(TypedDict):
        said: str

    graph = (
        StateGraph(State, context_schema=str)
        .add_node("node", node)
        .add_edge(START, "node")
        .add_edge("node", END)
        .compile()
    )
    assert graph.invoke({"said": ""}, context="ada") == {"said": "hello ada"}


async def test_what_is_injected_needs_a_running_node() -> None:
    @tool
    def whoami(runtime: Runtime[str]) -> str:
        return "x"

    with pytest.raises(NotInRun, match="whoami"):
        await whoami.acall(call(whoami))


@pytest.mark.parametrize("name", ["send_mail", "deleteUser", "pay"])
def test_a_bare_tool_whose_name_tells_of_a_change_is_warned_about_or_refused(name: str) -> None:
    def plain(a: int) -> int:
        return a

    with pytest.warns(UndeclaredTool, match="make it an @effect"):
        made = tool(name=name)(plain)
    assert made.traits.declared is False
    with pytest.raises(ConfigurationError, match="make it an @effect"):
        tool(name=name, undeclared="refuse")(plain)


@pytest.mark.parametrize("name", ["sender_of", "postcode", "weather", "orders_of", "running_total"])
def test_names_that_only_resemble_a_change_are_left_alone(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tool(name=name)(weather.function).traits.declared


@dataclass(frozen=True)
class Note:
    """What is put on the board.

    Args:
        text: What it says.
    """

    text: str
    colour: Literal["red", "blue"] = "red"


class Pin(Effect[Note, str]):
    """Pin a note to the board."""

    capability = Natural()

    def key(self, command: Note) -> str:
        return command.text

    async def perform(self, command: Note, ctx: EffectContext) -> str:
        return command.text

    async def lookup(self, command: Note, ctx: EffectContext) -> Seen[str]:
        return NotFound()


def test_effects_are_tools() -> None:
    pin = as_tool(Pin())
    assert (pin.name, pin.description) == ("Pin", "Pin a note to the board.")
    assert pin.parameters["properties"]["text"] == {"type": "string", "description": "What it says."}
    assert pin.parameters["properties"]["colour"]["enum"] == ["red", "blue"]
    assert pin.traits.effect
    assert isinstance(pin.effect, Pin)

    @effect("charge")
    def refund(charge: str, cents: int) -> str:
        """Refund a charge."""
        return charge

    made = as_tool(refund)
    assert (made.name, made.description, made.parameters["required"]) == (
        "refund",
        "Refund a charge.",
        ["charge", "cents"],
    )
    assert made.traits.effect


def test_what_is_no_tool_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is no tool"):
        as_tool(3)


def test_a_set_joins_renames_filters_and_asks_first() -> None:
    both = Toolset([weather, add])
    assert both.names == ("weather", "add")
    assert (both + Toolset([Pin()])).names == ("weather", "add", "Pin")
    assert both.renamed({"add": "plus"}).names == ("weather", "plus")
    assert both.prefixed("my_").names == ("my_weather", "my_add")
    assert both.only("add").names == both.without("weather").names == ("add",)
    assert both.filtered(lambda one: one.traits.pure_read).names == ("add",)
    assert [one.approval for one in both.asking_first("add")] == [False, True]
    assert [one.approval for one in both.asking_first()] == [True, True]
    assert [one.approval for one in both] == [False, False]


def test_a_set_names_the_nearest_tool_and_refuses_two_of_one_name() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'weather'"):
        Toolset([weather])["wether"]
    with pytest.raises(ConfigurationError, match="two tools are called 'add'"):
        Toolset([add, add])
