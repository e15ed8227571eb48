"""An agent in words: its loop, and what each of its tools declares or leaves unsaid."""

from __future__ import annotations

from typing import Any

from lawful.agents.agent import Agent
from lawful.agents.check import check, is_opaque
from lawful.tools.definition import AnyTool


def explained(agent: Agent[Any]) -> str:
    """One fact a line: the loop, the model, the tools with their flags, and what to know before it runs."""
    lines = [agent.graph.explain().rstrip("\n"), f"model {agent.model.component_id}"]
    if len(agent.tools):
        lines += ["tools", *(f"  {one.name}: {said(one)}" for one in agent.tools)]
    found = check(agent)
    known = [
        *(f"  {one.tool.name} is undeclared: nobody said what it does" for one in found.undeclared),
        *(
            f"  {one.tool.name} is opaque: its outcome cannot be looked up, so after a crash in the wrong moment you will"
            " be asked"
            for one in found.opaque
        ),
        *(f"  {one.text}" for one in found.meetings),
    ]
    return "\n".join([*lines, *(["to know", *known] if known else [])]) + "\n"


def said(tool: AnyTool) -> str:
    """A tool's declarations as words."""
    traits = tool.traits
    told = (
        ("effect", traits.effect),
        ("opaque", is_opaque(tool)),
        ("reads private data", traits.reads_private),
        ("lets in what outsiders wrote", traits.ingests_external),
        ("sends out", traits.outward),
        ("pure read", traits.pure_read),
        (f"{traits.risk} risk", traits.risk != "medium"),
        ("asks a person first", tool.approval),
        ("ends the turn", tool.ends_turn),
        ("undeclared", not traits.declared),
    )
    return ", ".join(words for words, true in told if true) or "declares nothing"
