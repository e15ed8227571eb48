"""Finding the right passages: documents, splitters, stores of words and vectors, an index, and answers that cite."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.rag.answers import Answer as Answer
    from lawful.rag.answers import Turn as Turn
    from lawful.rag.answers import conversation_qa as conversation_qa
    from lawful.rag.answers import retrieval_qa as retrieval_qa
    from lawful.rag.documents import Document as Document
    from lawful.rag.documents import Hit as Hit
    from lawful.rag.documents import Passage as Passage
    from lawful.rag.documents import document as document
    from lawful.rag.file_vectors import FileVectors as FileVectors
    from lawful.rag.filters import Filter as Filter
    from lawful.rag.filters import field as field
    from lawful.rag.fusing import Reranker as Reranker
    from lawful.rag.fusing import best as best
    from lawful.rag.fusing import fuse as fuse
    from lawful.rag.fusing import rerank as rerank
    from lawful.rag.fusing import rrf as rrf
    from lawful.rag.index import Check as Check
    from lawful.rag.index import Index as Index
    from lawful.rag.index import Progress as Progress
    from lawful.rag.index import Report as Report
    from lawful.rag.loaders import load as load
    from lawful.rag.loaders import load_folder as load_folder
    from lawful.rag.loaders import within as within
    from lawful.rag.memory_vectors import MemoryVectors as MemoryVectors
    from lawful.rag.minilm import MiniLMEmbedder as MiniLMEmbedder
    from lawful.rag.pg_vectors import PgVectors as PgVectors
    from lawful.rag.ports import Entry as Entry
    from lawful.rag.ports import SparseStore as SparseStore
    from lawful.rag.ports import VectorStore as VectorStore
    from lawful.rag.qdrant_vectors import QdrantVectors as QdrantVectors
    from lawful.rag.retrieve import compressed as compressed
    from lawful.rag.retrieve import dense as dense
    from lawful.rag.retrieve import hybrid as hybrid
    from lawful.rag.retrieve import multi_query as multi_query
    from lawful.rag.retrieve import sparse as sparse
    from lawful.rag.sparse_index import SparseIndex as SparseIndex
    from lawful.rag.split import CharacterSplitter as CharacterSplitter
    from lawful.rag.split import RecursiveSplitter as RecursiveSplitter
    from lawful.rag.split import SemanticSplitter as SemanticSplitter
    from lawful.rag.split import TokenSplitter as TokenSplitter
    from lawful.rag.split_code import CodeSplitter as CodeSplitter
    from lawful.rag.split_markdown import MarkdownSplitter as MarkdownSplitter
    from lawful.rag.tantivy_index import TantivyIndex as TantivyIndex
    from lawful.rag.vec_vectors import SQLiteVecVectors as SQLiteVecVectors
    from lawful.rag.web import Fetcher as Fetcher
else:
    _TABLE = {
        "document": "lawful.rag.documents",
        "Document": "lawful.rag.documents",
        "Passage": "lawful.rag.documents",
        "Hit": "lawful.rag.documents",
        "field": "lawful.rag.filters",
        "Filter": "lawful.rag.filters",
        "Index": "lawful.rag.index",
        "Report": "lawful.rag.index",
        "Check": "lawful.rag.index",
        "Progress": "lawful.rag.index",
        "VectorStore": "lawful.rag.ports",
        "SparseStore": "lawful.rag.ports",
        "Entry": "lawful.rag.ports",
        "MemoryVectors": "lawful.rag.memory_vectors",
        "FileVectors": "lawful.rag.file_vectors",
        "SQLiteVecVectors": "lawful.rag.vec_vectors",
        "PgVectors": "lawful.rag.pg_vectors",
        "QdrantVectors": "lawful.rag.qdrant_vectors",
        "SparseIndex": "lawful.rag.sparse_index",
        "TantivyIndex": "lawful.rag.tantivy_index",
        "MiniLMEmbedder": "lawful.rag.minilm",
        "CharacterSplitter": "lawful.rag.split",
        "RecursiveSplitter": "lawful.rag.split",
        "TokenSplitter": "lawful.rag.split",
        "SemanticSplitter": "lawful.rag.split",
        "MarkdownSplitter": "lawful.rag.split_markdown",
        "CodeSplitter": "lawful.rag.split_code",
        "load": "lawful.rag.loaders",
        "load_folder": "lawful.rag.loaders",
        "within": "lawful.rag.loaders",
        "Fetcher": "lawful.rag.web",
        "rrf": "lawful.rag.fusing",
        "fuse": "lawful.rag.fusing",
        "best": "lawful.rag.fusing",
        "rerank": "lawful.rag.fusing",
        "Reranker": "lawful.rag.fusing",
        "dense": "lawful.rag.retrieve",
        "sparse": "lawful.rag.retrieve",
        "hybrid": "lawful.rag.retrieve",
        "multi_query": "lawful.rag.retrieve",
        "compressed": "lawful.rag.retrieve",
        "retrieval_qa": "lawful.rag.answers",
        "conversation_qa": "lawful.rag.answers",
        "Answer": "lawful.rag.answers",
        "Turn": "lawful.rag.answers",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
