"""An effect without a look-up is no whole effect, and a call with wrong arguments is none either."""

from __future__ import annotations

from lawful.effects import Effect, EffectContext, Lookup, effect


class Hasty(Effect[str, str]):
    capability = Lookup("strong")

    def key(self, command: str) -> str:
        return command

    async def perform(self, command: str, ctx: EffectContext) -> str:
        return command


Hasty()  # expect: "Effect.lookup" is not implemented


@effect("charge")
def refund(charge: str, cents: int) -> str:
    return f"{charge}: {cents}"


refund("ch_1", "500")  # expect: is not assignable to "int"
refund.plan("ch_1")  # expect: Argument missing for parameter "cents"
