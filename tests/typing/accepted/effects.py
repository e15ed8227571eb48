"""Both forms of an effect keep the types of their arguments and receipts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

from lawful.effects import Effect, EffectContext, Found, Intent, Lookup, NotFound, Seen, effect


@dataclass(frozen=True)
class PullRequest:
    repo: str
    revision: str


class Publish(Effect[PullRequest, int]):
    capability = Lookup("strong")

    def key(self, command: PullRequest) -> str:
        return f"{command.repo}@{command.revision}"

    async def perform(self, command: PullRequest, ctx: EffectContext) -> int:
        ctx.before_send()
        return 17

    async def lookup(self, command: PullRequest, ctx: EffectContext) -> Seen[int]:
        return Found(17) if command.repo else NotFound()


@effect("charge")
def refund(charge: str, cents: int) -> str:
    return f"{charge}: {cents}"


async def use() -> None:
    publish = Publish()
    assert_type(publish.plan(PullRequest("acme/x", "abc")), Intent[PullRequest, int])
    assert_type(await publish(PullRequest("acme/x", "abc")), int)
    assert_type(refund("ch_1", 500), str)
