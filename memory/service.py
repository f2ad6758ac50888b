"""The face of long-term memory: what the conversation, the commands and the command line call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta

from memory.documents import chunk
from memory.errors import EmbedderUnavailable, InvalidMemory
from memory.memories import Memories
from memory.ports import Clock, Embedder, Purpose
from memory.rows import cleaned
from memory.search import Search
from memory.text import clean
from memory.types import (
    Hit,
    Memory,
    MemoryType,
    NewMemory,
    Origin,
    Query,
    Receipt,
    Remembered,
    StoredVector,
    Where,
)

MAX_MEMORY_CHARS = 4_000
"""A memory is a thought, not a document; longer texts are cut into chunks first."""

DOCUMENT_BATCH = 8
"""Chunks embedded between two reports of progress."""


class MemoryService:
    """Remember, search, list, get, update, forget: always within one chat."""

    def __init__(
        self,
        memories: Memories,
        search: Search,
        embedder: Embedder,
        clock: Clock,
        *,
        changed: Callable[[], None],
        scrub: Callable[[], Awaitable[None]],
    ) -> None:
        """`changed` tells the index's follower that there is news; `scrub` cleans the database's files."""
        self._memories = memories
        self._search = search
        self._embedder = embedder
        self._clock = clock
        self._changed = changed
        self._scrub = scrub

    async def remember(self, new: NewMemory) -> Remembered:
        """Store one memory, or return the one that says the same in this chat. Raises InvalidMemory."""
        new = _checked(new)
        [vector] = await self._embed([new.text])
        remembered = await self._memories.add(new, vector)
        self._changed()
        return remembered

    async def remember_document(
        self,
        chat_id: int,
        name: str,
        text: str,
        *,
        speaker: str = "",
        speaker_id: int | None = None,
        progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> Sequence[Memory]:
        """Store a document as chunks of knowledge, in place of what an earlier version of it left.

        `progress` gets the chunks embedded and their total. Raises InvalidMemory when there is no text in it.
        """
        chunks = chunk(clean(text))
        if not chunks:
            raise InvalidMemory(f"There is no text in {name}; nothing was imported.")
        vectors: list[StoredVector | None] = []
        for start in range(0, len(chunks), DOCUMENT_BATCH):
            vectors += await self._embed(chunks[start : start + DOCUMENT_BATCH])
            progress(len(vectors), len(chunks))
        news = [
            NewMemory(
                chat_id=chat_id,
                text=piece,
                type=MemoryType.KNOWLEDGE,
                origin=Origin.DOCUMENT,
                speaker=speaker,
                speaker_id=speaker_id,
                document=name,
            )
            for piece in chunks
        ]
        stored = await self._memories.replace_document(chat_id, name, list(zip(news, vectors, strict=True)))
        self._changed()
        return stored

    async def search(self, query: Query) -> list[Hit]:
        """Return what answers the query, best first, read back from SQL within the chat."""
        return await self._search.search(query)

    async def list(
        self, chat_id: int, where: Where | None = None, *, limit: int = 20, offset: int = 0
    ) -> list[Memory]:
        """Return the active memories of a chat, newest first."""
        return await self._memories.list(chat_id, where or Where(), limit=limit, offset=offset)

    async def count(self, chat_id: int, where: Where | None = None) -> int:
        return await self._memories.count(chat_id, where or Where())

    async def get(self, chat_id: int, memory_id: int) -> Memory:
        """Return one memory, superseded ones included. Raises MemoryNotFound."""
        return await self._memories.get(chat_id, memory_id)

    async def matching(self, chat_id: int, text: str) -> Sequence[Memory]:
        """Return the active memories that these words mean: see `memory.matching`."""
        return await self._memories.matching(chat_id, clean(text))

    async def update(
        self,
        chat_id: int,
        memory_id: int,
        text: str,
        *,
        revision: int | None = None,
        message_ids: Sequence[int] = (),
    ) -> Memory:
        """Put a new wording in place of a memory, which becomes history.

        With `revision` the change is made only if the memory still is what the caller saw.
        Raises MemoryNotFound, StaleRevision, InvalidMemory.
        """
        old = await self._memories.get(chat_id, memory_id)
        new = _checked(
            NewMemory(
                chat_id=chat_id,
                text=text,
                type=old.type,
                origin=old.origin,
                speaker=old.speaker,
                speaker_id=old.speaker_id,
                session_id=old.session_id,
                message_ids=tuple(message_ids) or old.message_ids,
                original=old.original,
                importance=old.importance,
                valid_from=self._clock.now(),
            )
        )
        [vector] = await self._embed([new.text])
        memory = await self._memories.supersede(chat_id, memory_id, new, revision=revision, vector=vector)
        self._changed()
        return memory

    async def forget(
        self, chat_id: int, ids: Collection[int], *, undo: timedelta | None, message_id: int | None = None
    ) -> Receipt:
        """Hide memories until `undo` has passed and they are purged, or purge them at once without it.

        Done again it says the same. `message_id` is the question in whose turn this is done.
        """
        if undo:
            until = self._clock.now() + undo
            receipt = await self._memories.hide(chat_id, ids, until, message_id)
        else:
            receipt = await self._memories.purge(chat_id, ids)
            await self._scrub()
        self._changed()
        return receipt

    async def forget_all(self, chat_id: int, *, undo: timedelta | None) -> Receipt:
        """Forget everything of a chat, also what was said and never became a memory."""
        if undo:
            receipt = await self._memories.hide_all(chat_id, self._clock.now() + undo)
        else:
            receipt = await self._memories.purge_all(chat_id)
            await self._scrub()
        self._changed()
        return receipt

    async def restore(self, chat_id: int, purge_at: datetime) -> Receipt | None:
        """Take back the forget whose receipt named this moment; ``None`` when it is too late for that."""
        restored = await self._memories.unhide(chat_id, purge_at)
        self._changed()
        return restored

    async def last_forgotten(self, chat_id: int) -> datetime | None:
        """Return the moment that names the last forget that can still be taken back."""
        return await self._memories.last_hidden(chat_id)

    async def purge_due(self) -> Receipt:
        """Remove for good what was forgotten and whose undo window has ended."""
        receipt = await self._memories.purge_due(self._clock.now())
        await self._scrub()  # also what an earlier one had to put off; costs little when nothing is due
        if receipt.memories:
            self._changed()
        return receipt

    async def withdraw(self, chat_id: int, message_id: int) -> int:
        """Undo what an interrupted turn had done to memory, so that answering it anew does it once."""
        withdrawn = await self._memories.withdraw(chat_id, message_id)
        if withdrawn:
            self._changed()
        return withdrawn

    async def _embed(self, texts: Sequence[str]) -> Sequence[StoredVector | None]:
        """Embed passages; without an embedder they are stored bare, and embedded by the index's follower."""
        try:
            vectors = await self._embedder.embed(texts, Purpose.PASSAGE)
        except EmbedderUnavailable:
            return [None] * len(texts)
        return [StoredVector(self._embedder.model_id, vector) for vector in vectors]


def _checked(new: NewMemory) -> NewMemory:
    new = cleaned(new)
    if len(new.text) > MAX_MEMORY_CHARS:
        raise InvalidMemory(
            f"A memory holds at most {MAX_MEMORY_CHARS} characters; shorten it or import it as a document."
        )
    return new
