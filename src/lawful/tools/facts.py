"""What the governor remembers of a run, in its state: which kinds of data it has seen, and how its budget was extended."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from lawful.core import codec
from lawful.core.reducers import reducer
from lawful.tools.traits import Traits


class Facts(Struct, frozen=True, omit_defaults=True):
    """A run's facts; an update holds what is new, and updates may come in any order."""

    private_seen: bool = False
    """A tool that reads private data has returned, well or not: an error's text may tell as much."""
    external_seen: bool = False
    """Likewise a tool that lets in what outsiders wrote."""
    extended: int = 0
    """Tool calls that were granted beyond the budget."""
    rated: bool = False
    """A tool has said of a result how far it can be relied on."""


NOTHING: Final = Facts()


@reducer(unit=Facts, laws=("associative", "commutative"), version=1)
def add_facts(held: Facts, new: Facts) -> Facts:
    """Both: a thing once seen stays seen, extensions add up."""
    return Facts(
        held.private_seen or new.private_seen,
        held.external_seen or new.external_seen,
        held.extended + new.extended,
        held.rated or new.rated,
    )


def flowing(facts: Facts) -> Facts:
    """What of a run's facts goes with its data to another agent: what was seen, and not what was granted."""
    return Facts(facts.private_seen, facts.external_seen)


def learnt(traits: Traits) -> Facts:
    """What a call of a tool with these traits adds, once it has returned in whatever way."""
    return Facts(traits.reads_private, traits.ingests_external)


codec.register(Facts, id="lawful.tools.Facts", version=1)
