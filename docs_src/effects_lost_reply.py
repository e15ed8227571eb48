"""The request arrives, the reply is lost: nobody knows, so it is looked up, and it has happened once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from lawful import Effect, Found, Ledger, Lookup, NotFound, SQLiteJournal
from lawful.core.errors import NetworkError
from lawful.effects import EffectContext, Seen


@dataclass(frozen=True)
class Mail:
    number: str
    text: str


class Send(Effect[Mail, str]):
    """Put a mail into the outbox, which can be asked by number."""

    capability = Lookup("strong")

    def __init__(self, outbox: Path) -> None:
        self.outbox = outbox

    def key(self, command: Mail) -> str:
        return command.number

    async def perform(self, command: Mail, ctx: EffectContext) -> str:
        ctx.before_send()
        with self.outbox.open("a") as outbox:
            outbox.write(f"{command.number} {command.text}\n")
        raise NetworkError("the reply was lost")

    async def lookup(self, command: Mail, ctx: EffectContext) -> Seen[str]:
        sent = [line.split()[0] for line in self.outbox.read_text().splitlines()]
        return Found(command.number) if command.number in sent else NotFound()


async def main() -> None:
    outbox = Path("outbox.txt")
    send = Send(outbox)
    ledger = Ledger(SQLiteJournal("mails.db"), effects=[send])
    intent = send.plan(Mail("17", "hello"))
    print(type(await ledger.execute(intent)).__name__, outbox.read_text().splitlines())
    print([type(event).__name__ for event in ledger.events(intent.op_id)])


asyncio.run(main())

# prints: Succeeded ['17 hello']
# prints: ['Planned', 'Authorized', 'Claimed', 'OutcomeLost', 'LookupNoted', 'Confirmed']
