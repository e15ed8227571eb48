"""What a capability means for a person who runs the program, in words."""

from __future__ import annotations

from lawful.effects.capability import (
    Capability,
    Compensatable,
    Fence,
    Keyed,
    Lookup,
    Natural,
    Opaque,
    Promise,
    Pure,
    Read,
    Repeatable,
)


def in_words(capability: Capability) -> str:
    """One phrase for each promise."""
    return "; ".join(_phrase(each) for each in capability.promises)


def _phrase(promise: Promise) -> str:
    match promise:
        case Pure() | Read():
            return "changes nothing"
        case Repeatable():
            return "may be repeated"
        case Natural():
            return "done twice is done once"
        case Keyed(retention):
            return f"its key is remembered for {retention:g} s, and within that it may be sent again"
        case Lookup(consistency):
            return f"looked up after a crash ({consistency})"
        case Fence():
            return "what did not happen can be barred"
        case Compensatable(undo):
            return f"undone by {undo}"
        case Opaque("operator"):
            return "opaque: nobody can look it up, so after a crash in the wrong moment you will be asked what became of it"
        case Opaque(on_unknown):
            said = "happened" if on_unknown == "assume_happened" else "did not happen"
            return f"opaque: nobody can look it up; after a crash in the wrong moment it is taken for granted that it {said}"
