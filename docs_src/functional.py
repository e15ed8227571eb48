"""Tasks run beside each other, and what they gave is there again when the run goes on."""

from __future__ import annotations

from lawful import Command, MemoryJournal, entrypoint, interrupt, task

fetched: list[str] = []


@task
def fetch(page: str) -> int:
    fetched.append(page)
    return len(page)


@entrypoint(checkpointer=MemoryJournal())
def crawl(pages: list[str]) -> str:
    sizes = [fetch(page) for page in pages]  # each call gives a future at once
    total = sum(size.result() for size in sizes)
    return f"{total} letters, {interrupt(f'keep {total}?')}"


print(crawl.invoke(["a", "bc"], thread="t")["__interrupt__"][0].value)
print(crawl.invoke(Command(resume="kept"), thread="t"))
print(sorted(fetched))

# prints: keep 3?
# prints: 3 letters, kept
# prints: ['a', 'bc']
