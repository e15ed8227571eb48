"""An index compares what it recorded with what its stores have; what was lost comes back with the next update."""

from __future__ import annotations

from lawful.rag import Index, MemoryVectors, document

vectors = MemoryVectors()
pages = [document(f"This is page {number} of the book.", id=f"page-{number}") for number in range(10)]

with Index.open(vectors=vectors) as index:
    index.update(pages)
    index.vectors.delete([f"page-{number}#1" for number in range(7)])  # somebody else did

    print(index.check().ok, len(index.check().missing), index.count())
    report = index.update(pages)
    print(len(report.healed), len(report.unchanged), report.passages)
    print(index.check().ok, index.count())

# prints: False 7 3
# prints: 7 3 7
# prints: True 10
