"""Journals that outlive their process."""

from lawful.stores.sqlite import SQLiteJournal

__all__ = ["SQLiteJournal"]
