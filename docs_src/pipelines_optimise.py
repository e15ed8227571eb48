"""Rewrites by named passes, and what each of them changed."""

from __future__ import annotations

from lawful.pipeline import always, branch, draw, identity, in_turn, optimise, pure, rewrites, step

VERBOSE = False


@step(independent=True)
async def passages(question: str) -> list[str]:
    return [question]


@step(independent=True)
async def synonyms(question: str) -> list[str]:
    return [question]


tree = (
    identity(str)
    >> pure(str.strip)
    >> pure(str.lower)
    >> in_turn(passages, synonyms)
    >> branch(always(VERBOSE), pure(repr), pure(str))
)
print(*map(str.strip, draw(optimise(tree)).splitlines()), sep=" / ")
for one in rewrites(tree):
    print(f"{one.name}: {one.before} -> {one.after} nodes; sound for {one.sound_for.partition(':')[0]}")
# prints: in order / strip >> lower / at once, as if in turn / passages / synonyms / str
# prints: drop_identity: 13 -> 11 nodes; sound for every pipeline
# prints: constant_branch: 11 -> 9 nodes; sound for questions made by always(), whose answer does not depend on the input
# prints: hoist_independent: 9 -> 9 nodes; sound for steps declared pure or independent
# prints: fuse_pure: 9 -> 7 nodes; sound for functions declared pure
