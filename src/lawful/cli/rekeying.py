"""`lawful rekey`: what is encrypted at rest gets its cipher's current key."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import Any

from lawful.cli import console
from lawful.cli.console import DONE, say
from lawful.cli.graphs import thing
from lawful.core.errors import StoreError, ValidationError
from lawful.core.lazy import late
from lawful.stores.encrypted_journal import EncryptedJournal
from lawful.stores.encrypted_store import EncryptedStore
from lawful.stores.sqlite_store import SQLiteStore
from lawful.stores.store_port import Store


def words(verbs: Any) -> None:
    """Add the verb to the command line."""
    about = "encrypt with a cipher's current key what older keys encrypted"
    one: argparse.ArgumentParser = verbs.add_parser(
        "rekey", help=about, description=f"{about.capitalize()}.", allow_abbrev=False
    )
    one.add_argument("cipher", metavar="module:name", help="the cipher, with the old keys and the new one")
    one.add_argument("--journal", metavar="URL", help="a file, sqlite:///FILE or postgresql://...")
    one.add_argument("--store", metavar="URL", help="a long-term store, as --journal")
    one.add_argument("--plain", action="store_true", help="encrypt what is plain, too")
    one.add_argument("--batch", type=int, default=200, metavar="N", help="rows in one transaction (200)")
    one.add_argument("--json", action="store_true", help="one JSON document instead of text")


def rekey(args: argparse.Namespace) -> int:
    """`lawful rekey module:cipher`, of a journal, a store or both; run again after a kill it goes on."""
    if args.journal is None and args.store is None:
        raise ValidationError("name what to rekey: --journal URL or --store URL", component="cli", operation="rekey")
    cipher = thing(args.cipher)
    if not callable(getattr(cipher, "encrypt", None)) or not callable(getattr(cipher, "decrypt", None)):
        raise ValidationError(
            f"{args.cipher!r} is a {type(cipher).__name__}, not a cipher", component="cli", operation="rekey"
        )
    count: dict[str, int] = {}
    if args.journal is not None:
        with closing(console.journal_at(args.journal)) as journal:
            count["journal"] = EncryptedJournal(journal, cipher, plain=args.plain).rekey(batch=args.batch)
    if args.store is not None:
        with closing(_store_at(args.store)) as store:
            count["store"] = EncryptedStore(store, cipher, plain=args.plain).rekey(batch=args.batch)
    if args.json:
        console.as_json(count)
    else:
        for what, rows in count.items():
            say(f"{what}: {rows} rows have the current key now; nothing has another")
    return DONE


def _store_at(url: str) -> Store:
    """The long-term store at a URL; nothing is made by looking."""
    if url.startswith(("postgres://", "postgresql://")):
        return late("lawful.stores.postgres_store").PostgresStore(url)
    path = url.removeprefix("sqlite:///")
    if not Path(path).is_file():
        raise StoreError(f"there is no store at {path!r}", component="cli", operation="open")
    return SQLiteStore(path)
