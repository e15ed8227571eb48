"""A tool from a function: its name, its words and its schema come from the signature."""

from __future__ import annotations

from datetime import date
from typing import Literal

from lawful import Toolset, tool


@tool(pure_read=True)
def trains(start: str, end: str, on: date, kind: Literal["any", "night"] = "any") -> list[str]:
    """Trains between two cities.

    Args:
        on: the day of departure
    """
    return [f"{start} to {end}, {on:%d %B}, {kind}"]


print(trains.name, "-", trains.description)
print(trains.parameters["properties"]["on"], trains.parameters["required"])
print(trains("Lyon", "Oslo", date(2026, 5, 1)))

kit = Toolset([trains]).prefixed("rail_").asking_first("rail_trains")
print(kit.names, kit["rail_trains"].approval)

# prints: trains - Trains between two cities.
# prints: {'description': 'the day of departure', 'format': 'date', 'type': 'string'} ['start', 'end', 'on']
# prints: ['Lyon to Oslo, 01 May, any']
# prints: ('rail_trains',) True
