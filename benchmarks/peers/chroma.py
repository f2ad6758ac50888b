"""Chroma alone: one vector a turn in a collection on disk, compared by cosine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import chromadb
import numpy as np
from chromadb.config import Settings

from benchmarks.chats import Record
from benchmarks.peers.vectors import Vectors

BATCH = 1_000


class Chroma:
    """One collection a chat, so that no filter costs time."""

    name = "chroma"

    def __init__(self, vectors: Vectors, folder: Path) -> None:
        self._vectors = vectors
        client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        self._collection = client.create_collection(
            "turns", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def ingest(self, records: Sequence[Record]) -> None:
        for start in range(0, len(records), BATCH):
            part = records[start : start + BATCH]
            self._collection.add(
                ids=[record.id for record in part],
                embeddings=np.array([self._vectors.of_record(one.line) for one in part], np.float32),
                documents=[record.line for record in part],
            )

    def search(self, question: str, k: int) -> list[str]:
        asked = np.array([self._vectors.of_question(question)], np.float32)
        return self._collection.query(query_embeddings=asked, n_results=k, include=[])["ids"][0]
