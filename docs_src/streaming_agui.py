"""A run as the AG-UI protocol tells it, for a front end."""

import asyncio
import json
from typing import Any

from lawful import START, MessagesState, StateGraph
from lawful.core.agui import agui
from lawful.models.fake import Scripted

model = Scripted("It rains.")


async def answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [(await model.ainvoke(state["messages"])).message]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()


async def main() -> None:
    async with graph.astream_events({"messages": ["How is the weather?"]}) as events:
        async for event in events:
            told = agui(event)
            json.dumps(told)  # each event is JSON: send it as one server-sent event
            print(told["type"] if "delta" not in told else f"{told['type']} {told['delta']}")


asyncio.run(main())

# prints: RUN_STARTED
# prints: STATE_SNAPSHOT
# prints: STEP_STARTED
# prints: TEXT_MESSAGE_START
# prints: TEXT_MESSAGE_CONTENT It rains.
# prints: TEXT_MESSAGE_END
# prints: STEP_FINISHED
# prints: STATE_SNAPSHOT
# prints: RUN_FINISHED
