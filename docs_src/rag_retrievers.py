"""Retrievers around a retriever: other wordings, judged anew, cut to what matters, widened to what stands around it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from lawful.models import chat
from lawful.pipeline import run
from lawful.rag import Hit, Index, Passage, Reranker, compressed, document, multi_query, rerank
from lawful.rag.split import RecursiveSplitter
from lawful.testing import Script

index = Index.open(splitter=RecursiveSplitter(60, 0))
index.update(
    [
        document("Everyone has thirty days of leave.\n\nTrainees have twenty-five. They ask the office.", id="leave"),
        document("The office books trains.\n\nFlights of more than two hours need a reason.", id="travel"),
    ]
)
model = chat("openai:gpt-5")
find = index.sparse(2)


class Shortest(Reranker):
    """Stands for a model that judges a question and a passage together."""

    async def scores(self, question: str, passages: Sequence[Passage]) -> Sequence[float]:
        return [-len(passage.text) for passage in passages]


def told(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


def script(*answers: str) -> Script:
    """Real retrieval; the model says what is written here."""
    return Script().compute(find, lambda asked: index.words.search(str(asked), 2)).answer(model, *answers)


async def main() -> None:
    worded = script("holidays of trainees\ntrainees leave")
    print(told((await worded.run(multi_query(find, model, k=1), "How long may a trainee be away?")).unwrap()))

    print(told((await run(rerank(find, Shortest(), k=1), "trains and trainees")).unwrap()))

    copied = script("They ask the office.", "NONE")
    print(told((await copied.run(compressed(find, model, at_once=1), "What do trainees ask the office?")).unwrap()))

    print(told((await run(index.parents(find), "trains")).unwrap()))


asyncio.run(main())

# prints: ['Trainees have twenty-five. They ask the office.']
# prints: ['The office books trains.']
# prints: ['They ask the office.']
# prints: ['The office books trains.\n\nFlights of more than two hours need a reason.']
