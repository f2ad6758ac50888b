"""Forgetting: hiding memories, taking that back, and removing them for good.

Every function works in the transaction of its caller.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from memory.database import mark_erased
from memory.rows import add_sources, batches, change, delete_memories, fetch, fetch_ids, find_same
from memory.tables import memories, messages, sources
from memory.traces import erase_traces, find_traces
from memory.types import Memory, Receipt, Status

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


async def hide(conn: AsyncConnection, chat_id: int, ids: Collection[int], purge_at: datetime) -> Receipt:
    """Take active memories out of sight until they are purged."""
    hidden = [memory for memory in await fetch_ids(conn, chat_id, ids) if memory.status == Status.ACTIVE]
    if not hidden:
        return Receipt(0, 0)
    await change(conn, chat_id, [each.id for each in hidden], status=Status.FORGOTTEN, purge_at=purge_at)
    traces = await find_traces(conn, chat_id, await with_history(conn, chat_id, hidden))
    return Receipt(len(hidden), len(traces.messages), purge_at)


async def unhide(conn: AsyncConnection, chat_id: int, ids: Collection[int]) -> int:
    """Bring hidden memories back. One that was told again meanwhile joins its new self."""
    hidden = [memory for memory in await fetch_ids(conn, chat_id, ids) if memory.status == Status.FORGOTTEN]
    for memory in hidden:
        if same := await find_same(conn, chat_id, memory.text):
            await _join(conn, chat_id, memory, same)
        else:
            await change(conn, chat_id, [memory.id], status=Status.ACTIVE, purge_at=None)
    return len(hidden)


async def purge(conn: AsyncConnection, chat_id: int, ids: Collection[int]) -> Receipt:
    """Remove memories for good, with their earlier versions and every place that repeats their text.

    The receipt counts the memories asked for and the messages that lost their text. The files are clean
    after `Database.scrub`.
    """
    asked = await fetch_ids(conn, chat_id, ids)
    if not asked:
        return Receipt(0, 0)
    versions = await with_history(conn, chat_id, asked)
    traces = await find_traces(conn, chat_id, versions)
    await delete_memories(conn, chat_id, {memory.id for memory in versions} | traces.memories)
    await erase_traces(conn, chat_id, traces)
    await mark_erased(conn)
    return Receipt(len(asked), len(traces.messages))


async def due(conn: AsyncConnection, now: datetime) -> dict[int, list[int]]:
    """Return the hidden memories whose undo window has ended, by chat."""
    query = sa.select(memories.c.chat_id, memories.c.id).where(
        memories.c.status == Status.FORGOTTEN, memories.c.purge_at <= now
    )
    found: dict[int, list[int]] = {}
    for chat_id, memory_id in await conn.execute(query):
        found.setdefault(chat_id, []).append(memory_id)
    return found


async def withdraw(conn: AsyncConnection, chat_id: int, message_id: int) -> int:
    """Delete what a turn had stored before it was cut off, and bring back what that had replaced.

    Once the message is answered its memories stay.
    """
    answer = sa.select(messages.c.id).where(messages.c.chat_id == chat_id, messages.c.reply_to == message_id)
    if (await conn.execute(answer)).first():
        return 0
    stood_on = sa.select(sources.c.memory_id).where(
        sources.c.chat_id == chat_id, sources.c.message_id == message_id
    )
    stored = set((await conn.execute(stood_on)).scalars())
    replaced = await fetch(conn, chat_id, memories.c.superseded_by.in_(stored)) if stored else []
    await delete_memories(conn, chat_id, stored)
    for memory in replaced:
        if memory.id not in stored and not await find_same(conn, chat_id, memory.text):
            await change(conn, chat_id, [memory.id], status=Status.ACTIVE, valid_until=None)
    return len(stored)


async def with_history(conn: AsyncConnection, chat_id: int, newest: Sequence[Memory]) -> list[Memory]:
    """Return the memories and all their earlier versions."""
    versions = {memory.id: memory for memory in newest}
    latest = list(versions)
    while latest:
        earlier = [
            memory
            for batch in batches(latest)
            for memory in await fetch(conn, chat_id, memories.c.superseded_by.in_(batch))
            if memory.id not in versions
        ]
        versions |= {memory.id: memory for memory in earlier}
        latest = [memory.id for memory in earlier]
    return list(versions.values())


async def _join(conn: AsyncConnection, chat_id: int, memory: Memory, same: Memory) -> None:
    """Let `same` take over sources and history of `memory`, which goes."""
    await add_sources(conn, chat_id, same.id, memory.message_ids)
    earlier = sa.update(memories).where(memories.c.chat_id == chat_id, memories.c.superseded_by == memory.id)
    await conn.execute(earlier.values(superseded_by=same.id))
    await delete_memories(conn, chat_id, [memory.id])
