"""Models, graphs and agents are steps with the types of what they take and give."""

from __future__ import annotations

from typing import Any, TypedDict, assert_type

from lawful import Agent, StateGraph
from lawful.graph import START, CompiledStateGraph
from lawful.models import Prompt, Reply
from lawful.models.fake import Scripted
from lawful.pipeline import Pipeline, prim, pure


class State(TypedDict, total=False):
    text: str


def shout(state: State) -> State:
    return {"text": state.get("text", "").upper()}


def said(state: State) -> str:
    return state.get("text", "")


graph: CompiledStateGraph[State] = StateGraph(State).add_node(shout).add_edge(START, "shout").compile()
assert_type(prim(graph), Pipeline[Any, State])
assert_type(prim(graph) >> pure(said), Pipeline[Any, str])
assert_type(prim(Scripted("hi")), Pipeline[Prompt, Reply])
assert_type(Agent(Scripted("hi")).as_pipeline(), Pipeline[str, str])
assert_type(Agent(Scripted("hi"), output=int).as_pipeline() >> pure(float), Pipeline[str, float])
