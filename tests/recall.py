"""A memory to ask: real rows and real copies of chats, with the embedder and the index that a test gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory.chat_copies import ChatCopies
from memory.database import Database, open_database
from memory.errors import EmbedderUnavailable
from memory.memories import Memories
from memory.ports import Embedder, Purpose, Reranker
from memory.search import Nearest, Search
from memory.types import (
    Hit,
    Link,
    Memory,
    MemoryType,
    NewMemory,
    Origin,
    Query,
    Relation,
    StoredVector,
    Vector,
    Where,
)
from tests.contracts.chats import open_session
from tests.fakes.clock import FrozenClock

CHAT = 7
OTHER_CHAT = -100
PLENTY = 2**30
NOTHING = 1
"""Bytes of memory for the vectors of a chat: all that it has, or none."""


class Away:
    """An embedder that cannot be used."""

    model_id = "hash-1"
    dimensions = 128

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        raise EmbedderUnavailable("The model is away.")


@dataclass(frozen=True, slots=True)
class Recall:
    """Chats that can be told something and asked."""

    database: Database
    memories: Memories
    embedder: Embedder
    clock: FrozenClock

    async def remember(self, *texts: str, chat_id: int = CHAT, vector: bool = True, **more: Any) -> list[int]:
        """Store memories, facts of a person where `more` says nothing else; return their ids."""
        told = {"type": MemoryType.FACT, "origin": Origin.PERSON} | more
        stored = []
        for text in texts:
            made = await self._vector(text) if vector else None
            stored.append((await self.memories.add(NewMemory(chat_id, text, **told), made)).memory.id)
        return stored

    async def talk(self, *said: str, chat_id: int = CHAT, **more: Any) -> list[int]:
        """Store a conversation as turns, each as "Anna: words"; what "bot" says is an answer."""
        session = await open_session(self.database, chat_id=chat_id)
        ids = []
        for each in said:
            speaker, _, words = each.partition(": ")
            who = {"origin": Origin.ASSISTANT} if speaker == "bot" else {"speaker": speaker}
            turn: dict[str, Any] = {"type": MemoryType.TURN, "session_id": session} | who | more
            ids += await self.remember(words, chat_id=chat_id, **turn)
        return ids

    async def link(self, from_id: int, to_id: int, weight: float = 1.0) -> None:
        await self.memories.add_links(CHAT, [Link(CHAT, from_id, to_id, Relation.SAME_TOPIC, weight)])

    async def hits(
        self,
        text: str,
        where: Where | None = None,
        *,
        chat_id: int = CHAT,
        search: Search | None = None,
        **more: Any,
    ) -> list[Hit]:
        query = Query(chat_id, text, where or Where(), **more)
        return await (search or self.search()).search(query)

    async def found(self, text: str, where: Where | None = None, **more: Any) -> list[Memory]:
        return [hit.memory for hit in await self.hits(text, where, **more)]

    async def texts(self, text: str, where: Where | None = None, **more: Any) -> list[str]:
        return [memory.text for memory in await self.found(text, where, **more)]

    def search(
        self,
        *,
        embedder: Embedder | None = None,
        nearest: Nearest | None = None,
        reranker: Reranker | None = None,
        limit_bytes: int = PLENTY,
    ) -> Search:
        """Search as it is put together in the app. Without `nearest` no index may be asked."""
        embedder = embedder or self.embedder
        model_id = embedder.model_id
        copies = ChatCopies(self.database, lambda: model_id, limit_bytes=limit_bytes)
        return Search(copies, self.memories, nearest or not_asked, embedder, self.clock, reranker)

    def by_words(self) -> Search:
        """Search without an embedder."""
        return self.search(embedder=Away())

    async def _vector(self, text: str) -> StoredVector:
        return StoredVector(self.embedder.model_id, (await self.embedder.embed([text], Purpose.PASSAGE))[0])


@asynccontextmanager
async def open_recall(directory: Path, embedder: Embedder) -> AsyncIterator[Recall]:
    clock = FrozenClock()
    database = await open_database(directory, clock=clock)
    yield Recall(database, Memories(database, clock), embedder, clock)
    await database.close()


async def not_asked(
    chat_id: int, vector: Vector, types: Sequence[MemoryType], k: int
) -> list[tuple[int, float]]:
    """Stand in for the index where the vectors of a chat are in memory."""
    raise AssertionError("the vectors of this chat are in memory")
