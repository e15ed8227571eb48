"""Documents go into an index; passages come out, by words, by vectors, and by both."""

from __future__ import annotations

from lawful.pipeline import run_sync
from lawful.rag import Index, document, field

handbook = [
    document("Everyone has thirty days of leave a year.", id="leave", metadata={"year": 2026}),
    document("Trains are booked by the office. Flights need a reason.", id="travel", metadata={"year": 2025}),
    document("A laptop is replaced after four years.", id="tools", metadata={"year": 2026}),
]

with Index.open() as index:  # a path keeps it: Index.open("handbook.db")
    print(len(index.update(handbook).added), len(index.update(handbook).unchanged))

    find = index.hybrid(1)
    print([hit.id for hit in run_sync(find, "Who books trains?").unwrap()])

    recent = index.sparse(5, where=(field("year") >= 2026) & ~(field("year") == 2027))
    print([hit.id for hit in run_sync(recent, "years of leave, trains").unwrap()])

# prints: 3 3
# prints: ['travel#1']
# prints: ['leave#1', 'tools#1']
