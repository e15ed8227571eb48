"""How well the standard library's docstrings are found: recall@5 and MRR of dense, sparse and hybrid retrieval.

``python -m bench.rag.quality`` indexes the corpus with MiniLM (some minutes of one core) and prints a table; ``--index FILE``
keeps the index, so that a second run only asks. The questions and their passages were written down before the first run.
It ends with 1, if hybrid retrieval falls below the worse of the two that it is made of, or `MARGIN` below the better.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.rag.corpus import passages
from lawful.pipeline import Pipeline, run_sync
from lawful.rag import Hit, Index, Progress, document
from lawful.rag.split import Whole

FIRST = 5
"""How far down a passage is looked for; one that is not among these counts 0."""
MARGIN = 0.05
"""How far hybrid retrieval may lie below the better of dense and sparse."""


def questions() -> list[tuple[str, set[str]]]:
    """The questions, with the passages that answer each."""
    told = json.loads(Path(__file__).with_name("questions.json").read_text(encoding="utf-8"))
    return [(one["question"], set(one["passages"])) for one in told]


def rank(hits: Sequence[Hit], right: set[str]) -> int:
    """Of the first right passage, from 1; 0 if there is none."""
    return next((at for at, hit in enumerate(hits, 1) if hit.passage.document in right), 0)


def measured(find: Pipeline[str, list[Hit]], asked: Sequence[tuple[str, set[str]]]) -> tuple[float, float, list[int]]:
    """Recall@5 (questions with a right passage among the first five), their mean reciprocal rank, and the ranks."""
    ranks = [rank(run_sync(find, question).unwrap(), right) for question, right in asked]
    recall = sum(one > 0 for one in ranks) / len(ranks)
    return recall, sum(1 / one for one in ranks if one) / len(ranks), ranks


def keeps_up(hybrid: float, *parts: float) -> bool:
    """Whether the figure of hybrid retrieval is not below the worse of its parts and within `MARGIN` of the better."""
    return hybrid >= min(parts) and hybrid >= max(parts) - MARGIN - 1e-9


def main(argv: Sequence[str] | None = None) -> int:
    """Index, ask, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.rag.quality", description=__doc__)
    parser.add_argument("--index", default=":memory:", metavar="FILE")
    parser.add_argument("--embedder", default="minilm", metavar="NAME")
    args = parser.parse_args(argv)
    documents = [document(text, id=name) for name, text in passages()]
    asked = questions()
    lost = {right for _, rights in asked for right in rights} - {one.id for one in documents}
    if lost:
        parser.error(f"this Python has no {', '.join(sorted(lost))}")
    with Index.open(args.index, embedder=args.embedder, splitter=Whole()) as index:
        began = time.perf_counter()
        index.update(documents, progress=_told)
        print(f"{index.count()} passages of Python {platform.python_version()}, {time.perf_counter() - began:.0f} s")
        print("| | recall@5 | MRR |\n|---|---|---|")
        ways = {
            "dense": index.dense(FIRST),
            "sparse": index.sparse(FIRST),
            "hybrid": index.hybrid(FIRST),
            "hybrid of 20 each": index.hybrid(FIRST, deep=20),
            "hybrid of 100 each": index.hybrid(FIRST, deep=100),
        }
        figures: dict[str, tuple[float, float]] = {}
        for name, find in ways.items():
            recall, mrr, ranks = measured(find, asked)
            figures[name] = recall, mrr
            print(f"| {name} | {recall:.3f} | {mrr:.3f} |", flush=True)
            print(f"{name}: {ranks}", file=sys.stderr)
    triples = zip(figures["hybrid"], figures["dense"], figures["sparse"], strict=True)
    return 0 if all(keeps_up(*one) for one in triples) else 1


def _told(progress: Progress) -> None:
    print(f"{progress.done} of {progress.total}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
