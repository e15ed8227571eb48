"""Events while a pipeline runs: chunks of a streaming step, starts and ends, and the result at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from lawful.core.events import Custom, NodeEnded, NodeStarted
from lawful.pipeline import pure, stream, streamed


async def words(topic: str) -> AsyncIterator[str]:
    for word in (f"On {topic}: ", "all roads ", "lead there."):
        yield word


tree = streamed(words) >> pure(str.split)


async def main() -> None:
    async with stream(tree, "Rome") as events:
        async for event in events:
            match event:
                case Custom(value=chunk):
                    print(chunk.strip())
                case NodeStarted() | NodeEnded():
                    print(event.seq, type(event).__name__, event.node)
                case _:
                    pass
    print(events.result.unwrap())


asyncio.run(main())
# prints: 2 NodeStarted words
# prints: On Rome:
# prints: all roads
# prints: lead there.
# prints: 6 NodeEnded words
# prints: 7 NodeStarted split
# prints: 8 NodeEnded split
# prints: ['On', 'Rome:', 'all', 'roads', 'lead', 'there.']
