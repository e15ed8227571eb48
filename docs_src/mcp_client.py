"""A server is started, its tools are given to an agent, and every call that may change something is in the journal."""

import asyncio
import os
import sys
from pathlib import Path

from lawful import Agent, MemoryJournal
from lawful.core.messages import Message, ToolCall
from lawful.mcp import connect
from lawful.models.fake import Scripted

SERVE = [sys.executable, "-m", "lawful.cli", "mcp", "serve", "mcp_serve:desk"]
HERE = Path(__file__).parent
FOUND = {"PYTHONPATH": os.pathsep.join(sys.path)}  # so that the server finds what this program finds

model = Scripted(
    Message("assistant", (ToolCall(id="1", name="ship", args={"order": "o-1", "item": "tea"}),)),
    "Your tea is on its way.",
)


async def main() -> None:
    async with connect(SERVE, name="desk", cwd=HERE, env=FOUND) as desk:
        print(desk.tools.names, dict(desk.effects))
        print((await desk.call("stock", item="tea")).value)

        journal = MemoryJournal()
        agent = Agent(model, tools=desk.tools, journal=journal)
        print((await agent.ainvoke("Send me tea", thread="t")).text)
        print([(row.tool, row.state) for row in journal.read(lambda tx: list(tx.operations()))])
        print((await desk.call("stock", item="tea")).value)


asyncio.run(main())
# prints: ('stock', 'ship') {'stock': 'opaque', 'ship': 'opaque'}
# prints: 3
# prints: Your tea is on its way.
# prints: [('mcp.desk.ship', 'Succeeded')]
# prints: 2
