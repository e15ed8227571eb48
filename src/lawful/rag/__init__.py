"""Finding the right passages: documents, splitters, stores of words and vectors, an index, and answers that cite."""

from __future__ import annotations
