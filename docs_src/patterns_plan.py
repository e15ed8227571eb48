"""A plan that is carried out step by step, and a text whose parts are worked on side by side."""

from __future__ import annotations

import asyncio

from lawful import Agent
from lawful.models.fake import Scripted
from lawful.patterns import map_reduce, plan_and_execute

planner = Scripted('{"value": ["look up the trains", "look up the hotels"]}', "Take the 9:04 and stay at the station.")
worker = Agent(Scripted("The 9:04 is direct.", "One at the station has rooms."), name="worker")

reader = Agent(Scripted("About rain.", "About sun."), name="reader")
editor = Agent(Scripted("It is about the weather."), name="editor")


async def main() -> None:
    trip = await plan_and_execute(planner, worker).ainvoke({"task": "Plan a day in Lyon."})
    for one in trip["done"]:
        print(one.step, "->", one.result)
    print(trip["answer"])

    summary = map_reduce(lambda text: text.split("\n\n"), reader, editor)
    told = await summary.ainvoke({"input": "It rained for days.\n\nThen the sun came."})
    print(len(told["mapped"]), "parts:", told["output"])


asyncio.run(main())

# prints: look up the trains -> The 9:04 is direct.
# prints: look up the hotels -> One at the station has rooms.
# prints: Take the 9:04 and stay at the station.
# prints: 2 parts: It is about the weather.
