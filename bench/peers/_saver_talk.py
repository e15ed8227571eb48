"""The conversation of the suite `saver`, as a LangGraph program."""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, StateGraph, add_messages
from typing_extensions import TypedDict

from bench.jobs import Unfit

TEXT = 1_000
"""Bytes of each message."""


class Talk(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def say(state: Talk) -> Any:
    return {"messages": [AIMessage(f"{len(state['messages']):04}" * (TEXT // 4))]}


def talk(saver: Any, turns: int) -> None:
    """Run the conversation. Raises: Unfit, where it is not whole at its end."""
    graph = StateGraph(Talk).add_node("say", say).add_edge(START, "say").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "talk"}}
    for n in range(turns):
        graph.invoke({"messages": [HumanMessage(f"{n:04}" * (TEXT // 4))]}, config, durability="sync")
    if len(graph.get_state(config).values["messages"]) != 2 * turns:
        raise Unfit("the conversation is not whole")
