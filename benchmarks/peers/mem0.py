"""mem0 without its language model: turns are added as they are (`infer=False`), its search is untouched."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from bm25s.stopwords import STOPWORDS_EN_PLUS  # type: ignore[import-not-found]
from fastembed.sparse.bm25 import Bm25  # type: ignore[import-not-found]

from benchmarks.chats import Record
from benchmarks.peers.vectors import Vectors

os.environ["MEM0_TELEMETRY"] = "False"  # it is read when mem0 is imported

from mem0 import Memory  # type: ignore[import-not-found]
from mem0.embeddings.base import EmbeddingBase  # type: ignore[import-not-found]

USER = "chat"
NO_BM25 = False
"""What its Qdrant store keeps when fastembed is not installed: search by meaning alone."""

Action: TypeAlias = Literal["add", "search", "update"] | None


class Looked(EmbeddingBase):  # type: ignore[misc]
    """Its port of an encoder, over the vectors that are there already."""

    def __init__(self, vectors: Vectors) -> None:
        super().__init__()
        self._vectors = vectors

    def embed(self, text: str, memory_action: Action = None) -> list[float]:
        return self._vectors.of_question(text) if memory_action == "search" else self._vectors.of_record(text)


class Mem0:
    """As it is installed: its default vector store, Qdrant on disk, and no keyword search."""

    name = "mem0"

    def __init__(self, vectors: Vectors, folder: Path) -> None:
        self._memory = Memory.from_config(_config(vectors.dimensions, folder))
        self._memory.embedding_model = Looked(vectors)
        self._memory.vector_store._bm25_encoder = self._bm25(folder)  # noqa: SLF001

    def ingest(self, records: Sequence[Record]) -> None:
        for record in records:
            turn = [{"role": "assistant" if record.by_assistant else "user", "content": record.line}]
            when = {"record": record.id, "created_at": record.said_at.isoformat()}
            self._memory.add(turn, user_id=USER, metadata=when, infer=False)

    def search(self, question: str, k: int) -> list[str]:
        found = self._memory.search(question, top_k=k, filters={"user_id": USER})
        return [one["metadata"]["record"] for one in found["results"]]

    def _bm25(self, folder: Path) -> Any:  # noqa: ARG002
        return NO_BM25


class Mem0WithBm25(Mem0):
    """With the keyword search of its extras, fastembed's BM25, whose stop words are given, not downloaded."""

    name = "mem0-bm25"

    def _bm25(self, folder: Path) -> Any:
        return Bm25("Qdrant/bm25", specific_model_path=str(folder), stopwords=set(STOPWORDS_EN_PLUS))


def _config(dimensions: int, folder: Path) -> dict[str, Any]:
    """Neither its language model nor its encoder is ever called; they only want a key."""
    unused = {"provider": "openai", "config": {"api_key": "unused"}}
    store = {"collection_name": "turns", "embedding_model_dims": dimensions, "path": str(folder / "qdrant")}
    return {
        "vector_store": {"provider": "qdrant", "config": {**store, "on_disk": True}},
        "history_db_path": str(folder / "history.db"),
        "llm": unused,
        "embedder": unused,
    }
