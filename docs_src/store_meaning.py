"""A store with a vector index: what is near to a text, with scores."""

from __future__ import annotations

from lawful.models import embedder
from lawful.stores.sqlite_store import SQLiteStore

notes = ("users", "ann", "notes")
# "hash" knows words and no meanings; embedder("openai:text-embedding-3-small") or another model knows those.
words = embedder("hash", dimensions=256)
with SQLiteStore("meanings.db", index={"dims": 256, "embed": words, "fields": ["text"]}) as store:
    store.put(notes, "seat", {"text": "wants a window seat in the train", "kind": "wish"})
    store.put(notes, "food", {"text": "does not eat nuts", "kind": "health"})
    store.put(notes, "card", {"text": "train card ends in May"}, index=False)
    for item in store.search(("users",), query="which seat in the train?"):
        print(item.key, round(item.score or 0, 2))
    print([item.key for item in store.search(("users",), query="train", filter={"kind": "health"})])

# prints: seat 0.71
# prints: food 0.18
# prints: ['food']
