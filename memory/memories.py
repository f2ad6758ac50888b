"""The memories of each chat: storing, reading, replacing and forgetting them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

import sqlalchemy as sa

# ON CONFLICT of PostgreSQL is the SQL of SQLite as well; SQLAlchemy compiles this insert for both.
from sqlalchemy.dialects.postgresql import insert

from memory import forget
from memory.database import Database
from memory.errors import InvalidMemory, MemoryNotFound, StaleRevision
from memory.links import add_links, linked
from memory.matching import matching_ids
from memory.ports import Clock
from memory.rows import (
    ANY,
    change,
    cleaned,
    delete_memories,
    fetch,
    fetch_ids,
    filters,
    find_same,
    insert_memory,
    listed,
    tell_again,
    writing,
)
from memory.tables import links, memories
from memory.text import clean, text_hash
from memory.turns import neighbours
from memory.types import (
    Link,
    Memory,
    MemoryType,
    NewMemory,
    Receipt,
    Relation,
    Remembered,
    Status,
    StoredVector,
    Where,
)

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

MemoryList: TypeAlias = list[Memory]  # inside the class, `list` is its method
LinkList: TypeAlias = list[Link]


class Memories:
    """Rows, sources, words and vectors of memories, kept together. Every method works within one chat."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, new: NewMemory, vector: StoredVector | None = None) -> Remembered:
        """Store a memory, or return the active one with the same words. Raises InvalidMemory."""
        new = _checked(new, new.chat_id)
        async with writing(self._database) as conn:
            return await self._add(conn, new, vector)

    async def get(self, chat_id: int, memory_id: int) -> Memory:
        """Return a memory, a superseded one too. Raises MemoryNotFound, also for a forgotten one."""
        async with self._database.read() as conn:
            return await _visible(conn, chat_id, memory_id)

    async def get_active(self, chat_id: int, ids: Collection[int]) -> MemoryList:
        """Return those of `ids` that are active in the chat, in the order of `ids`."""
        async with self._database.read() as conn:
            read = await fetch_ids(conn, chat_id, ids)
        found = {memory.id: memory for memory in read if memory.status == Status.ACTIVE}
        return [found[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in found]

    async def list(
        self, chat_id: int, where: Where = ANY, *, limit: int | None = 20, offset: int = 0
    ) -> MemoryList:
        """Return the active memories, newest first by `valid_from`; without `limit` all of them.

        What was said, word for word, is among them only where `where` asks for turns.
        """
        newest_first = (memories.c.valid_from.desc(), memories.c.id.desc())
        async with self._database.read() as conn:
            return await fetch(
                conn, chat_id, *listed(chat_id, where), order=newest_first, limit=limit, offset=offset
            )

    async def count(self, chat_id: int, where: Where = ANY) -> int:
        """Return how many active memories `list` would go through."""
        query = sa.select(sa.func.count()).select_from(memories).where(*listed(chat_id, where))
        async with self._database.read() as conn:
            found: int = (await conn.execute(query)).scalar_one()
        return found

    async def history(self, chat_id: int, memory_id: int) -> MemoryList:
        """Return the earlier versions of a memory, the latest first."""
        async with self._database.read() as conn:
            newest = await _visible(conn, chat_id, memory_id)
            versions = await forget.with_history(conn, chat_id, [newest])
        return sorted(versions[1:], key=lambda memory: memory.revision, reverse=True)

    async def matching(self, chat_id: int, text: str) -> MemoryList:
        """Return the active memories that `text` means (see `memory.matching`), newest first."""
        async with self._database.read() as conn:
            ids = await matching_ids(conn, chat_id, text)
            found = await fetch_ids(conn, chat_id, ids)
        return sorted(found, key=lambda memory: (memory.valid_from, memory.id), reverse=True)

    async def neighbours(
        self, chat_id: int, turns: Sequence[Memory], each_side: int
    ) -> dict[int, tuple[MemoryList, MemoryList]]:
        """Return what was said around each turn: up to `each_side` active turns of its session from before
        it and from after it, each in their order, by the turn's id.
        """
        async with self._database.read() as conn:
            return await neighbours(conn, chat_id, turns, each_side)

    async def linked(self, chat_id: int, ids: Collection[int]) -> LinkList:
        """Return the links from and to these memories of which both ends are active, `replaces` left out."""
        async with self._database.read() as conn:
            return await linked(conn, chat_id, ids)

    async def add_links(self, chat_id: int, news: Sequence[Link]) -> None:
        """Store links between memories of the chat; a known one gets the new weight, others are left out."""
        if any(link.chat_id != chat_id for link in news):
            raise ValueError("a link must be stored in the chat that it belongs to")
        async with writing(self._database) as conn:
            await add_links(conn, chat_id, news)

    async def supersede(
        self,
        chat_id: int,
        memory_id: int,
        new: NewMemory,
        *,
        revision: int | None = None,
        vector: StoredVector | None = None,
    ) -> Memory:
        """Put `new` in the place of a memory, which stays as history and is no longer found.

        When the chat knows the words of `new` already, that memory takes the place.
        Raises MemoryNotFound, StaleRevision when it is not active or not at `revision`, InvalidMemory when
        `new` has no words or the memory is a turn.
        """
        new = _checked(new, chat_id)
        async with writing(self._database) as conn:
            old = await _visible(conn, chat_id, memory_id)
            if old.type is MemoryType.TURN:
                raise InvalidMemory(
                    f"Memory {memory_id} is what was said, word for word; remember what is true beside it."
                )
            if old.status != Status.ACTIVE or revision not in (None, old.revision):
                raise StaleRevision(memory_id)
            until = self._clock.now()
            await change(conn, chat_id, [old.id], status=Status.SUPERSEDED, valid_until=until)
            added = (await self._add(conn, new, vector)).memory
            replaced = sa.update(memories).where(memories.c.id == old.id)
            await conn.execute(replaced.values(superseded_by=added.id))
            await conn.execute(_replaces(chat_id, added.id, old.id))
            return added

    async def replace_document(
        self, chat_id: int, document: str, news: Sequence[tuple[NewMemory, StoredVector | None]]
    ) -> MemoryList:
        """Store the chunks of a document in place of its former ones; unchanged chunks keep their rows.

        Former chunks that are no longer in it are deleted. Raises InvalidMemory.
        """
        if not (document := clean(document)):
            raise InvalidMemory("A document needs a name; give it one and add it again.")
        chunks = [(_checked(replace(new, document=document), chat_id), vector) for new, vector in news]
        async with writing(self._database) as conn:
            former = await fetch(conn, chat_id, *filters(chat_id), memories.c.document == document)
            kept = {text_hash(new.text) for new, _ in chunks}
            dropped = [memory.id for memory in former if text_hash(memory.text) not in kept]
            await delete_memories(conn, chat_id, dropped)
            stored = [(await self._add(conn, new, vector)).memory for new, vector in chunks]
        return list({memory.id: memory for memory in stored}.values())

    async def hide(
        self, chat_id: int, ids: Collection[int], purge_at: datetime, message_id: int | None = None
    ) -> Receipt:
        """Take memories out of sight at once; at `purge_at` they are due to be purged.

        `message_id` is the question in whose turn this is done, so that `withdraw` can undo it.
        """
        async with writing(self._database) as conn:
            return await forget.hide(conn, chat_id, ids, purge_at, message_id)

    async def hide_all(self, chat_id: int, purge_at: datetime) -> Receipt:
        """Take everything of the chat out of sight; at `purge_at` it is due to be purged."""
        async with writing(self._database) as conn:
            return await forget.hide_all(conn, chat_id, purge_at)

    async def unhide(self, chat_id: int, purge_at: datetime) -> Receipt | None:
        """Bring back what is hidden until this moment; ``None`` when nothing is."""
        async with writing(self._database) as conn:
            return await forget.unhide(conn, chat_id, purge_at)

    async def last_hidden(self, chat_id: int) -> datetime | None:
        """Return until when that is hidden which was hidden last; ``None`` when nothing is."""
        async with self._database.read() as conn:
            return await forget.last_hidden(conn, chat_id)

    async def purge(self, chat_id: int, ids: Collection[int]) -> Receipt:
        """Remove memories and their traces for good; `Database.scrub` then cleans the files."""
        async with writing(self._database) as conn:
            return await forget.purge(conn, chat_id, ids)

    async def purge_all(self, chat_id: int) -> Receipt:
        """Remove everything that the chat has left for good; `Database.scrub` then cleans the files."""
        async with writing(self._database) as conn:
            return await forget.purge_all(conn, chat_id)

    async def purge_due(self, now: datetime) -> Receipt:
        """Purge, in every chat, what is hidden and due; one transaction for each chat."""
        async with self._database.read() as conn:
            chats = await forget.due(conn, now)
        receipts = [await self._purge_due_in(chat_id, now) for chat_id in chats]
        return Receipt(sum(each.memories for each in receipts), sum(each.messages for each in receipts))

    async def withdraw(self, chat_id: int, message_id: int) -> int:
        """Undo what an unfinished turn on this message had stored, replaced and hidden."""
        async with writing(self._database) as conn:
            return await forget.withdraw(conn, chat_id, message_id)

    async def _purge_due_in(self, chat_id: int, now: datetime) -> Receipt:
        async with writing(self._database) as conn:
            ids = (await forget.due(conn, now)).get(chat_id, [])
            receipt = await forget.purge(conn, chat_id, ids)
            said = await forget.purge_erasure(conn, chat_id, now)
            return replace(receipt, messages=receipt.messages + said)

    async def _add(self, conn: AsyncConnection, new: NewMemory, vector: StoredVector | None) -> Remembered:
        if await forget.is_too_late(conn, new.chat_id, new.message_ids):
            raise InvalidMemory("What this stands on was forgotten meanwhile; say it again to keep it.")
        is_turn = new.type is MemoryType.TURN  # what is said twice is kept twice
        if not is_turn and (known := await find_same(conn, new.chat_id, new.text)):
            return Remembered(await tell_again(conn, known, new), created=False)
        return Remembered(await insert_memory(conn, new, self._clock.now(), vector), created=True)


async def _visible(conn: AsyncConnection, chat_id: int, memory_id: int) -> Memory:
    found = await fetch_ids(conn, chat_id, [memory_id])
    if not found or found[0].status == Status.FORGOTTEN:
        raise MemoryNotFound(memory_id)
    return found[0]


def _checked(new: NewMemory, chat_id: int) -> NewMemory:
    """Make sure that the memory fits the chat and the database, whatever its text came from."""
    if new.chat_id != chat_id:
        raise ValueError("a memory must be stored in the chat that it belongs to")
    return cleaned(new)


def _replaces(chat_id: int, new_id: int, old_id: int) -> sa.Executable:
    row = {
        "chat_id": chat_id,
        "from_id": new_id,
        "to_id": old_id,
        "relation": Relation.REPLACES,
        "weight": 1.0,
    }
    return insert(links).values(row).on_conflict_do_nothing()
