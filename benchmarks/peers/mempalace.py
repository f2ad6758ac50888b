"""MemPalace: one drawer a turn, as its sweep files messages, found by its default hybrid search."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from mempalace.palace import get_collection  # type: ignore[import-not-found]
from mempalace.searcher import search_memories  # type: ignore[import-not-found]

from benchmarks.chats import Record
from benchmarks.peers.embedding_server import serve
from benchmarks.peers.vectors import Vectors

BATCH = 64
"""Drawers in one write, as many as its sweep writes."""


class MemPalace:
    """One palace a chat. Its encoder is one that it knows: an embedding server on this machine.

    It ranks four times as many drawers by words as it is asked for, so that who asks for more gets a better
    order; here it is asked for what is measured, like every peer.
    """

    name = "mempalace"

    def __init__(self, vectors: Vectors, folder: Path) -> None:
        os.environ["MEMPALACE_EMBEDDING_MODEL"] = "openai-compat"
        os.environ["MEMPALACE_EMBEDDING_API_URL"] = _address(vectors)
        os.environ["MEMPALACE_EMBEDDING_API_MODEL"] = vectors.model_id
        self._palace = str(folder)

    def ingest(self, records: Sequence[Record]) -> None:
        drawers = get_collection(self._palace, create=True)
        for start in range(0, len(records), BATCH):
            part = records[start : start + BATCH]
            drawers.upsert(
                ids=[record.id for record in part],
                documents=[record.line for record in part],
                metadatas=[_metadata(record) for record in part],
            )

    def search(self, question: str, k: int) -> list[str]:
        found = search_memories(question, self._palace, n_results=k)
        if "error" in found:
            raise RuntimeError(f"MemPalace cannot search: {found['error']}")
        return [one["drawer_id"] for one in found["results"]]


def _metadata(record: Record) -> dict[str, str]:
    """What its sweep keeps beside a message."""
    said_at = record.said_at.isoformat()
    return {
        "session_id": record.session,
        "timestamp": said_at,
        "message_uuid": record.id,
        "role": "assistant" if record.by_assistant else "user",
        "source_file": f"{record.session}.jsonl",
        "filed_at": said_at,
        "ingest_mode": "sweep",
    }


@cache
def _address(vectors: Vectors) -> str:
    return serve(vectors)
