"""Several agents: each pattern is a graph, to run, draw, store and check like any other."""

from __future__ import annotations

import asyncio

from lawful import Agent
from lawful.models.fake import Scripted
from lawful.patterns import debate, supervise, vote

scout = Agent(Scripted("It rains in Oslo."), name="scout")
chief = Scripted(
    '{"member": "scout", "task": "Look at the sky over Oslo."}',
    '{"member": "finish", "answer": "Take a coat."}',
)


async def main() -> None:
    desk = supervise(chief, [scout], rounds=3)
    found = await desk.ainvoke({"request": "Do I need a coat in Oslo?"})
    print(found["reports"][0].member, "->", found["answer"])

    voters = [Agent(Scripted(said), name=f"voter{n}") for n, said in enumerate(["Yes", "yes.", "no"])]
    print((await vote(voters).ainvoke({"question": "Does it rain?"}))["winner"])

    one, two = (Agent(Scripted(*said), name=name) for name, said in (("a", ["Tea", "Tea"]), ("b", ["Cocoa", "Tea"])))
    argued = await debate([one, two], Agent(Scripted("Tea it is."), name="judge"), rounds=2).ainvoke(
        {"question": "Tea or cocoa?"}
    )
    print(len(argued["arguments"]), argued["verdict"])


asyncio.run(main())

# prints: scout -> Take a coat.
# prints: yes
# prints: 4 Tea it is.
