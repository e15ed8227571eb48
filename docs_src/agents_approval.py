"""A call that a person must allow; the answer comes from another process, another day."""

from __future__ import annotations

from lawful import Agent, Done, Toolset, effect

ordered: list[str] = []


@effect("to")
def order_taxi(to: str) -> str:
    """Order a taxi."""
    ordered.append(to)
    return f"a taxi to {to} is on its way"


@order_taxi.lookup
def find_taxi(to: str) -> str | None:
    return f"a taxi to {to} is on its way" if to in ordered else None


def shop() -> Agent[str]:
    """Each process makes its own; the file is what they share."""
    return Agent("demo", tools=Toolset([order_taxi]).asking_first(), journal="taxis.db")


waiting = shop().invoke("Order a taxi to Oslo", thread="trip-1")
[question] = waiting.questions
print(question.value["tool"], question.value["args"])

match shop().resume_sync("trip-1", question.answer(True), by="ada"):
    case Done(state):
        print(state, ordered)
    case other:
        print(other)

# prints: order_taxi {'to': 'Oslo'}
# prints: order_taxi says: a taxi to Oslo is on its way (demo model: no language model, plain rules only) ['Oslo']
