"""protoprompt: its memory service, which its bots use, over its own store in SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from protoprompt.connectivity import MemoryService  # type: ignore[import-not-found]
from protoprompt.scope import MemoryScope  # type: ignore[import-not-found]
from protoprompt.store.sqlite import SqliteStore  # type: ignore[import-not-found]

from benchmarks.chats import Record
from benchmarks.peers.vectors import Vectors


class Looked:
    """Its port of an encoder, over the vectors that are there already; it does not say what it embeds."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    async def embed(self, texts: list[str], model: str = "") -> list[list[float]]:  # noqa: ARG002
        return [self._vectors.of(text) for text in texts]


class ProtoPrompt:
    """One database a chat, one memory a turn."""

    name = "protoprompt"

    def __init__(self, vectors: Vectors, folder: Path) -> None:
        store = SqliteStore(str(folder / "memory.db"))
        self._service = MemoryService(store, Looked(vectors), MemoryScope(user="chat"))

    def ingest(self, records: Sequence[Record]) -> None:
        asyncio.run(self._remember(records))

    def search(self, question: str, k: int) -> list[str]:
        found = asyncio.run(self._service.search(question, top_k=k))
        return [one["memory_id"] for one in found]

    async def _remember(self, records: Sequence[Record]) -> None:
        for record in records:
            await self._service.remember(record.line, memory_id=record.id)
