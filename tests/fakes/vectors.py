"""The vector index as a list."""

from __future__ import annotations

from collections.abc import Sequence

from memory.ports import IndexEntry
from memory.types import MemoryType, Vector


class ListIndex:
    """The `VectorIndex` of tests."""

    def __init__(self) -> None:
        self.entries: list[IndexEntry] = []

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        await self.delete([entry.memory_id for entry in entries])
        self.entries += entries

    async def delete(self, memory_ids: Sequence[int]) -> None:
        self.entries = [entry for entry in self.entries if entry.memory_id not in memory_ids]

    async def nearest(
        self, chat_id: int, vector: Vector, types: Sequence[MemoryType], k: int
    ) -> list[tuple[int, float]]:
        own = [e for e in self.entries if e.chat_id == chat_id and (not types or e.type in types)]
        return sorted(((e.memory_id, float(e.vector @ vector)) for e in own), key=lambda hit: -hit[1])[:k]

    async def ids(self) -> set[int]:
        return {entry.memory_id for entry in self.entries}

    async def close(self) -> None:
        """There is nothing to close."""
