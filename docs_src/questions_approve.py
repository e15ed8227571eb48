"""A run asks for approval, ends its process if need be, and goes on when someone has answered."""

from __future__ import annotations

from dataclasses import dataclass

from lawful import START, UNSET, Approved, Done, Failed, Paused, Principal, SQLiteJournal, StateGraph, interrupt


@dataclass(frozen=True)
class Release:
    version: str = UNSET
    approved_by: str = UNSET


def approve(release: Release) -> Release:
    answer = interrupt(f"Release {release.version}?", name="release", answer=Approved)
    return Release(approved_by=answer.by)


def build() -> StateGraph[Release]:
    return StateGraph(Release).add_node(approve).add_edge(START, "approve")


graph = build().compile(checkpointer=SQLiteJournal("releases.db"))
print(type(graph.run_sync(Release(version="1.4"), thread="1.4")).__name__)

# Another process, another day: only the database is the same.
graph = build().compile(checkpointer=SQLiteJournal("releases.db"))
[question] = graph.questions("1.4")
match graph.resume_sync("1.4", question.answer(True), by=Principal("ada")):
    case Done(state):
        print(question.value, state.approved_by)
    case Paused(questions):
        print("still open", questions)
    case Failed(error):
        print(error)

# prints: Paused
# prints: Release 1.4? ada
