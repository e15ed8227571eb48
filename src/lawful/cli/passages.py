"""The verbs `index` and `ask`: files into an index, and passages or an answer that cites them out of it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from lawful.cli import console
from lawful.cli.console import DONE, REFUSED, as_json, line, say, short
from lawful.core.errors import DocumentLoaderError, ValidationError
from lawful.core.result import Err
from lawful.models import chat
from lawful.pipeline import run_sync
from lawful.rag import Document, Fetcher, Hit, Index, MarkdownSplitter, Progress, load, load_folder, retrieval_qa
from lawful.rag.index import embedder_of
from lawful.rag.loaders import READERS
from lawful.rag.split import RecursiveSplitter, Splitter

FILE: Final = Path(".lawful") / "index.db"


def _of_text(size: int) -> Splitter:
    return RecursiveSplitter(size, size // 10)


_SPLITTERS: Final[dict[str, Callable[[int], Splitter]]] = {"text": _of_text, "markdown": MarkdownSplitter}


def words(verbs: Any) -> None:
    """Add both verbs."""
    about = "make or renew an index of files, folders and pages"
    index: ArgumentParser = verbs.add_parser(
        "index", help=about, description=f"{about.capitalize()}.", allow_abbrev=False
    )
    about = "find passages in an index, or answer from them"
    ask: ArgumentParser = verbs.add_parser("ask", help=about, description=f"{about.capitalize()}.", allow_abbrev=False)
    index.add_argument("place", nargs="+", metavar="PLACE", help="files, folders, or addresses of pages")
    index.add_argument("--embedder", metavar="NAME", help="minilm, hash, or provider:model; kept with the index")
    index.add_argument("--split", choices=tuple(_SPLITTERS), help="how to cut: text at first; kept with the index")
    index.add_argument("--size", type=_count, metavar="N", help="characters of a passage at most: 1000; kept likewise")
    index.add_argument("--remove", action="store_true", help="remove documents that are not among these places")
    index.add_argument("--check", action="store_true", help="afterwards compare the records with what is stored")
    ask.add_argument("question", metavar="QUESTION")
    ask.add_argument("--model", metavar="NAME", help="answers from the passages; without it they are listed")
    ask.add_argument("--passages", type=_count, default=5, metavar="N", help="how many to look at")
    for one in (index, ask):
        one.add_argument("--file", metavar="FILE", help=f"the index; {FILE} if not given")
        one.add_argument("--json", action="store_true", help="one JSON document instead of text")


def index(args: Namespace) -> int:
    """`lawful index`: new and changed documents are stored, lost ones again; unchanged ones cost nothing."""
    documents = [document for place in args.place for document in _documents(place)]
    if not documents and not args.remove:
        raise DocumentLoaderError(
            f"nothing in {', '.join(args.place)} can be read: readers take {', '.join(sorted(READERS))}",
            component="cli",
            operation="index",
        )
    file = Path(args.file or FILE)
    if args.embedder:
        embedder_of(args.embedder)  # before anything is made
    file.parent.mkdir(parents=True, exist_ok=True)
    with Index.open(file, embedder=args.embedder) as opened:
        kind = opened.setting("split", args.split) or "text"
        size = opened.setting("size", str(args.size) if args.size else None) or "1000"
        opened.splitter = _SPLITTERS[kind](int(size))
        report = opened.update(documents, remove=args.remove, progress=None if args.json else _bar)
        found = opened.check() if args.check else None
        total = opened.count()
    if args.json:
        told = {name: getattr(report, name) for name in report.__struct_fields__}
        as_json({**told, "total": total, "check": msgspec.to_builtins(found)})
        return DONE if found is None or found.ok else REFUSED
    names = ("added", "updated", "healed", "unchanged", "removed")
    counts = ", ".join(f"{len(getattr(report, name))} {name}" for name in names if getattr(report, name))
    say(f"{counts or 'nothing to do'}; {report.passages} passages stored, {total} in {file}")
    if found is not None and not found.ok:
        say(f"records and stores differ: {len(found.missing)} documents, {len(found.stray)} stray passages")
        return REFUSED
    return DONE


def ask(args: Namespace) -> int:
    """`lawful ask`: the passages that fit best, or a model's answer that cites them."""
    file = Path(args.file or FILE)
    other = ("--file", args.file) if args.file else ()
    if not file.is_file() or file.stat().st_size == 0:
        raise DocumentLoaderError(
            f"there is no index {str(file)!r}: make one with {console.command('index', 'FOLDER', *other)}",
            component="cli",
            operation="ask",
        )
    if not args.question.strip():
        raise ValidationError('a question has words, as in lawful ask "how many days of leave?"', component="cli")
    with Index.open(file) as opened:
        if args.model is None:
            hits = opened.search(args.question, args.passages)
            _listed(hits, as_data=args.json)
            return DONE
        end = run_sync(retrieval_qa(opened.hybrid(args.passages), chat(args.model)), args.question)
    if isinstance(end, Err):
        raise end.error
    answer = end.value
    if args.json:
        as_json({"answer": answer.text, "cites": answer.cites, "sources": answer.sources})
        return DONE
    say(answer.text)
    for hit in answer.hits:
        if hit.id in answer.cites:
            say(f"  [{hit.id}] {hit.source}, characters {hit.passage.start} to {hit.passage.end}")
    return DONE


def _documents(place: str) -> list[Document]:
    if place.startswith(("http://", "https://")):
        return Fetcher().load(place)
    return load_folder(place, prefix=place) if Path(place).is_dir() else load(place)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)


def _listed(hits: list[Hit], *, as_data: bool) -> None:
    if as_data:
        as_json([{"id": hit.id, "score": hit.score, "source": hit.source, "text": hit.text} for hit in hits])
        return
    for hit in hits:
        say(f"[{line(hit.id)}] {' > '.join(hit.passage.headers)}".rstrip(), f"    {short(hit.text, 300)}")
    if not hits:
        say("nothing found")


def _bar(progress: Progress) -> None:
    """A bar on a terminal; elsewhere nothing, so that logs stay short."""
    if not sys.stderr.isatty():
        return
    full = 30 * progress.done // max(1, progress.total)
    told = f"\r[{'#' * full:<30}] {progress.done} of {progress.total} documents, {progress.passages} passages"
    print(told, end="\n" if progress.done == progress.total else "", file=sys.stderr, flush=True)
