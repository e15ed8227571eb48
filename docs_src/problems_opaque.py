"""What will run is known before it runs: steps, models, effects, the most calls, a picture."""

from __future__ import annotations

from lawful import RetryPolicy
from lawful.core.errors import NetworkError
from lawful.pipeline import Registry, draw, dry_run, explain, pure, retry

parts = Registry()


@parts.component("chat", kind="model", errors=[NetworkError])
async def chat(text: str) -> str:
    raise NotImplementedError


@parts.component("mail", kind="tool", effects=["mail.send"], errors=[NetworkError])
async def mail(text: str) -> str:
    raise NotImplementedError


plan = pure(str.strip) >> retry(chat, RetryPolicy(max_attempts=2)) >> mail
print(explain(plan).table())
print(*map(str.strip, draw(plan).splitlines()), sep=" / ")
print(*dry_run(plan, " Write to Ann. ").steps, sep="\n")
# prints: step   kind   effects    errors
# prints: strip  pure   -          -
# prints: chat   model  -          NetworkError
# prints: mail   tool   mail.send  NetworkError
# prints: model calls: at most 2
# prints: can escape: NetworkError
# prints: in order / strip / up to 2 attempts / chat (component) / mail (component)
# prints: would do chat on 'Write to Ann.'
# prints: would do mail on an input not known yet, effects: mail.send
