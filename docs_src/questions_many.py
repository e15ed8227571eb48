"""Two nodes ask in the same step; each question has an id, and a wrong or second answer is refused."""

from __future__ import annotations

from typing import Annotated, TypedDict

from lawful import START, Failed, MemoryJournal, StateGraph, append, interrupt


class Form(TypedDict, total=False):
    answers: Annotated[list[str], append]


def colour(form: Form) -> Form:
    return {"answers": [interrupt("Which colour?")]}


def size(form: Form) -> Form:
    return {"answers": [interrupt("Which size?")]}


graph = (
    StateGraph(Form)
    .add_node(colour)
    .add_node(size)
    .add_edge(START, "colour")
    .add_edge(START, "size")
    .compile(checkpointer=MemoryJournal())
)
graph.run_sync({"answers": []}, thread="f")
asked = {question.node: question for question in graph.questions("f")}
print(sorted(str(question.value) for question in asked.values()))

graph.resume_sync("f", asked["size"].answer("large"))
print([question.node for question in graph.questions("f")])

match graph.resume_sync("f", asked["size"].answer("small")):
    case Failed(error):
        print(error.code)
    case other:
        print(other)

graph.resume_sync("f", asked["colour"].answer("green"))
print(graph.get_state("f").values["answers"])

# prints: ['Which colour?', 'Which size?']
# prints: ['colour']
# prints: already_answered
# prints: ['green', 'large']
