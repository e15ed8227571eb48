"""Which effects a verb can look up: the demo's, those that ``--effects module:name`` names, those of the named graph."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from lawful.cli.graphs import load, thing
from lawful.cli.update_graph import effects_of as demo_effects
from lawful.core.errors import ConfigurationError
from lawful.effects.contract import Performer
from lawful.graph.effects_in import effects_of as effects_in
from lawful.journal.port import Journal


def effects_of(args: Namespace, journal: Journal) -> Sequence[Performer[Any, Any]]:
    """The demo's effects, and those that ``--effects module:name`` names: one, or a list of them; the graph's too."""
    found: list[Any] = [*demo_effects(journal)]
    for named in getattr(args, "effects", None) or ():
        told = thing(named)
        several = list(told) if isinstance(told, (list, tuple)) else [told]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        for each in several:  # pyright: ignore[reportUnknownVariableType]
            if not hasattr(type(each), "recover_thread"):  # pyright: ignore[reportUnknownArgumentType]
                raise ConfigurationError(f"{named} is {each!r:.60}, not an effect or a list of them", component="cli")
            found.append(each)
    if getattr(args, "graph", None):
        found.extend(effects_in(load(args.graph, journal).program))
    return found
