"""An answer while it comes; leaving the block closes the provider's connection."""

from __future__ import annotations

import asyncio

from lawful.models import CallDelta, Completed, TextDelta
from lawful.models.fake import Scripted

model = Scripted("Laws hold.", chunks=4)


async def main() -> None:
    async with model.astream("Say something.") as stream:
        async for delta in stream:
            match delta:
                case TextDelta(text):
                    print(repr(text))
                case CallDelta(name=name):
                    print("calls", name)
                case Completed(reply):
                    print("whole:", reply.text)
                case _:
                    pass


asyncio.run(main())

# prints: 'Laws'
# prints: ' hol'
# prints: 'd.'
# prints: whole: Laws hold.
