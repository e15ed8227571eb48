"""The measurement of retrieval: its questions, its figures by hand, and the margin that a run must keep."""

from __future__ import annotations

import pytest

from bench.rag.quality import keeps_up, measured, questions
from lawful.pipeline import step
from lawful.rag import Hit, Passage

pytestmark = pytest.mark.unit


def test_there_are_thirty_questions_each_with_passages_that_answer_it() -> None:
    asked = questions()
    assert len(asked) == len({question for question, _ in asked}) == 30
    assert all(right and all("." in name or name.isidentifier() for name in right) for _, right in asked)


def test_recall_and_rank_are_those_of_the_first_right_passage() -> None:
    def found(question: str) -> list[Hit]:
        return [Hit(Passage(f"{name}#1", name, name, 0, 1), 1.0) for name in question.split()]

    asked = [("a b c", {"a", "c"}), ("x a", {"a"}), ("x y z", {"a"}), ("", {"a"})]
    assert measured(step(found), asked) == (0.5, (1 + 1 / 2) / 4, [1, 2, 0, 0])


@pytest.mark.parametrize(
    "hybrid, parts, fits",
    [
        (0.733, (0.733, 0.633), True),
        (0.683, (0.733, 0.633), True),
        (0.667, (0.733, 0.633), False),
        (0.72, (0.733, 0.73), False),
        (0.9, (0.733, 0.633), True),
    ],
)
def test_the_margin_of_hybrid_retrieval(hybrid: float, parts: tuple[float, float], fits: bool) -> None:
    assert keeps_up(hybrid, *parts) is fits
