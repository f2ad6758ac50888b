"""LangGraph's long-term memory: its in-memory store with an index over the text of each turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from langchain_core.embeddings import Embeddings  # type: ignore[import-not-found]
from langgraph.store.memory import InMemoryStore  # type: ignore[import-not-found]

from benchmarks.chats import Record
from benchmarks.peers.vectors import Vectors

TURNS = ("turns",)


class Looked(Embeddings):  # type: ignore[misc]
    """LangChain's port of an encoder, over the vectors that are there already."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vectors.of_record(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vectors.of_question(text)


class LangGraph:
    """One store a chat, one item a turn."""

    name = "langgraph"

    def __init__(self, vectors: Vectors, folder: Path) -> None:  # noqa: ARG002
        self._store = InMemoryStore(
            index={"dims": vectors.dimensions, "embed": Looked(vectors), "fields": ["text"]}
        )

    def ingest(self, records: Sequence[Record]) -> None:
        for record in records:
            self._store.put(TURNS, record.id, {"text": record.line})

    def search(self, question: str, k: int) -> list[str]:
        return [item.key for item in self._store.search(TURNS, query=question, limit=k)]
