"""Forgetting: hiding memories, taking that back, and removing them for good.

The turns of finished conversations follow: they are hidden as long as something that is told of in their
message is, and they go with its text. Receipts count them only where a turn itself was named.
Every function works in the transaction of its caller.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

# PostgreSQL's ON CONFLICT is the SQL of SQLite as well; SQLAlchemy compiles this insert for both.
from sqlalchemy.dialects.postgresql import insert

from memory.database import mark_erased
from memory.rows import (
    NO_TURN,
    add_sources,
    batches,
    change,
    delete_memories,
    fetch,
    fetch_ids,
    filters,
    find_same,
)
from memory.tables import erasures, memories, messages, sources
from memory.traces import Traces, erase_traces, find_in_session, find_traces
from memory.turns import hide_turns, show_turns
from memory.types import Memory, MemoryType, Receipt, Status

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_CAN_BE_HIDDEN = (Status.ACTIVE, Status.FORGOTTEN)


async def hide(
    conn: AsyncConnection,
    chat_id: int,
    ids: Collection[int],
    purge_at: datetime,
    message_id: int | None = None,
) -> Receipt:
    """Take memories out of sight until they are purged; done again, it says the same and sets a new time.

    `message_id` is the question in whose turn this is done, see `withdraw`.
    """
    hidden = [memory for memory in await fetch_ids(conn, chat_id, ids) if memory.status in _CAN_BE_HIDDEN]
    if not hidden:
        return Receipt(0, 0)
    mark = {"status": Status.FORGOTTEN, "purge_at": purge_at, "forgotten_in": message_id}
    await change(conn, chat_id, [each.id for each in hidden], **mark)
    traces = await find_traces(conn, chat_id, await with_history(conn, chat_id, hidden))
    await hide_turns(conn, chat_id, traces.messages, message_id)
    return Receipt(len(hidden), len(traces.messages), purge_at)


async def hide_all(conn: AsyncConnection, chat_id: int, purge_at: datetime) -> Receipt:
    """Take everything of a chat out of sight until it is purged: its memories and what was said so far."""
    marked = sa.select(erasures.c.purge_at).where(erasures.c.chat_id == chat_id)
    if (before := (await conn.execute(marked)).scalar_one_or_none()) is not None:
        await unhide(conn, chat_id, before)  # done twice, it has one undo
    known = sa.select(memories.c.id).where(*filters(chat_id), NO_TURN)
    active = (await conn.execute(known)).scalars().all()
    await change(conn, chat_id, active, status=Status.FORGOTTEN, purge_at=purge_at)
    count, last = await _said(conn, chat_id)
    said = sa.select(messages.c.id).where(_up_to(chat_id, last))
    await hide_turns(conn, chat_id, (await conn.execute(said)).scalars().all())
    mark = {"message_id": last, "purge_at": purge_at}
    upsert = insert(erasures).values(chat_id=chat_id, **mark)
    await conn.execute(upsert.on_conflict_do_update(index_elements=[erasures.c.chat_id], set_=mark))
    return Receipt(len(active), count, purge_at)


async def unhide(conn: AsyncConnection, chat_id: int, purge_at: datetime) -> Receipt | None:
    """Bring back all that was hidden until this moment; ``None`` when nothing is.

    A memory that was told again meanwhile joins its new self.
    """
    together = (memories.c.status == Status.FORGOTTEN, memories.c.purge_at == purge_at)
    hidden = await fetch(conn, chat_id, *together)
    await _bring_back(conn, chat_id, hidden)
    mark = (erasures.c.chat_id == chat_id) & (erasures.c.purge_at == purge_at)
    erased = (await conn.execute(sa.delete(erasures).where(mark))).rowcount
    messages_back = (await _said(conn, chat_id))[0] if erased else 0
    await _let_turns_follow(conn, chat_id)
    return Receipt(len(hidden), messages_back) if hidden or erased else None


async def last_hidden(conn: AsyncConnection, chat_id: int) -> datetime | None:
    """Return until when that is hidden which was hidden last; ``None`` when nothing is."""
    waiting = (memories.c.chat_id == chat_id) & (memories.c.status == Status.FORGOTTEN)
    times = sa.union_all(
        sa.select(memories.c.purge_at).where(waiting),
        sa.select(erasures.c.purge_at).where(erasures.c.chat_id == chat_id),
    ).subquery()
    last: datetime | None = (await conn.execute(sa.select(sa.func.max(times.c.purge_at)))).scalar_one()
    return last


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
    await _let_turns_follow(conn, chat_id)
    await mark_erased(conn)
    return Receipt(len(asked), len(traces.messages))


async def purge_all(conn: AsyncConnection, chat_id: int) -> Receipt:
    """Remove everything that a chat has left: memories of every kind, and the words of all its messages."""
    left = sa.select(memories.c.id).where(memories.c.chat_id == chat_id, NO_TURN)
    receipt = await purge(conn, chat_id, (await conn.execute(left)).scalars().all())
    _, last = await _said(conn, chat_id)
    return replace(receipt, messages=receipt.messages + await _erase_said(conn, chat_id, last))


async def purge_erasure(conn: AsyncConnection, chat_id: int, now: datetime) -> int:
    """Erase what was said before a `hide_all` whose undo window has ended; return how many messages."""
    due_now = (erasures.c.chat_id == chat_id) & (erasures.c.purge_at <= now)
    last = (await conn.execute(sa.select(erasures.c.message_id).where(due_now))).scalar_one_or_none()
    return 0 if last is None else await _erase_said(conn, chat_id, last)


async def hidden_traces(conn: AsyncConnection, chat_id: int) -> tuple[list[Memory], Traces]:
    """Return what waits to be purged, with earlier versions, and everything that tells of it.

    Turns that only follow are not among it: what they say stands in the messages.
    """
    versions = await _waiting(conn, chat_id)
    traces = await find_traces(conn, chat_id, versions)
    last = await _mark(conn, chat_id)
    if last is None:
        return versions, traces
    rows = (
        await conn.execute(sa.select(messages.c.id, messages.c.session_id).where(_up_to(chat_id, last)))
    ).all()
    said, held = {row.id for row in rows}, {row.session_id for row in rows}
    return versions, Traces(traces.memories, traces.messages | said, traces.sessions | held, profile=True)


async def hidden_in(conn: AsyncConnection, chat_id: int, session_id: int) -> set[int]:
    """Return the messages of a session that tell of what waits to be purged."""
    told = await find_in_session(conn, chat_id, session_id, await _waiting(conn, chat_id))
    last = await _mark(conn, chat_id)
    if last is None:
        return told
    said = sa.select(messages.c.id).where(_up_to(chat_id, last), messages.c.session_id == session_id)
    return told.union((await conn.execute(said)).scalars())


async def due(conn: AsyncConnection, now: datetime) -> dict[int, list[int]]:
    """Return the chats of which something is to be purged, each with its hidden memories that are due."""
    query = sa.select(memories.c.chat_id, memories.c.id).where(
        memories.c.status == Status.FORGOTTEN, memories.c.purge_at <= now
    )
    marked = sa.select(erasures.c.chat_id).where(erasures.c.purge_at <= now)
    found: dict[int, list[int]] = {chat_id: [] for chat_id in (await conn.execute(marked)).scalars()}
    for chat_id, memory_id in await conn.execute(query):
        found.setdefault(chat_id, []).append(memory_id)
    return found


async def withdraw(conn: AsyncConnection, chat_id: int, message_id: int) -> int:
    """Undo what a turn had done before it was cut off: what it stored goes, what it took away comes back.

    Once the message is answered everything stays. Returns how many memories went or came back.
    """
    answer = sa.select(messages.c.id).where(messages.c.chat_id == chat_id, messages.c.reply_to == message_id)
    if (await conn.execute(answer)).first():
        return 0
    stood_on = (
        sa.select(sources.c.memory_id)
        .join(memories, memories.c.id == sources.c.memory_id)
        .where(sources.c.chat_id == chat_id, sources.c.message_id == message_id, NO_TURN)
    )
    told = set((await conn.execute(stood_on)).scalars())
    # What stands on other messages as well was known before this turn.
    known = sa.select(sources.c.memory_id).where(
        sources.c.chat_id == chat_id, sources.c.memory_id.in_(told), sources.c.message_id != message_id
    )
    before = set((await conn.execute(known)).scalars()) if told else set()
    await conn.execute(
        sa.delete(sources).where(sources.c.message_id == message_id, sources.c.memory_id.in_(before))
    )
    stored = told - before
    replaced = await fetch(conn, chat_id, memories.c.superseded_by.in_(stored)) if stored else []
    await delete_memories(conn, chat_id, stored)
    for memory in replaced:
        if memory.id not in stored and not await find_same(conn, chat_id, memory.text):
            await change(conn, chat_id, [memory.id], status=Status.ACTIVE, valid_until=None)
    forgotten = (memories.c.status == Status.FORGOTTEN, memories.c.forgotten_in == message_id)
    hidden = await fetch(conn, chat_id, *forgotten, memories.c.purge_at.is_not(None))
    await _bring_back(conn, chat_id, hidden)
    if stored or hidden:
        await _let_turns_follow(conn, chat_id)
    return len(stored) + len(hidden)


async def is_too_late(conn: AsyncConnection, chat_id: int, message_ids: Collection[int]) -> bool:
    """Tell whether all that a new memory stands on was forgotten while it was being made."""
    if not message_ids:
        return False
    last = await _mark(conn, chat_id) or 0
    mine = (messages.c.chat_id == chat_id, messages.c.id.in_(list(message_ids)))
    told = (await conn.execute(sa.select(messages.c.id, messages.c.text).where(*mine))).all()
    return bool(told) and all(row.text == "" or row.id <= last for row in told)


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


async def _waiting(conn: AsyncConnection, chat_id: int) -> list[Memory]:
    """What was forgotten and is not purged yet, with its earlier versions."""
    named = (*filters(chat_id, status=Status.FORGOTTEN), memories.c.purge_at.is_not(None))
    return await with_history(conn, chat_id, await fetch(conn, chat_id, *named))


async def _mark(conn: AsyncConnection, chat_id: int) -> int | None:
    """The last message that a `hide_all` has hidden, while that waits."""
    mark = sa.select(erasures.c.message_id).where(erasures.c.chat_id == chat_id)
    last: int | None = (await conn.execute(mark)).scalar_one_or_none()
    return last


def _up_to(chat_id: int, last: int) -> sa.ColumnElement[bool]:
    """The messages up to one, with the answers to them."""
    return sa.and_(messages.c.chat_id == chat_id, sa.or_(messages.c.id <= last, messages.c.reply_to <= last))


async def _said(conn: AsyncConnection, chat_id: int) -> tuple[int, int]:
    """Return how many messages of the chat have a text, and the number of its last message."""
    mine = messages.c.chat_id == chat_id
    texts = sa.func.coalesce(sa.func.sum(sa.case((messages.c.text != "", 1), else_=0)), 0)
    query = sa.select(texts, sa.func.coalesce(sa.func.max(messages.c.id), 0)).where(mine)
    count, last = (await conn.execute(query)).one()
    return int(count), int(last)


async def _erase_said(conn: AsyncConnection, chat_id: int, last: int) -> int:
    """Empty the messages up to `last` with their answers, their sessions' summaries, and the profile."""
    said = _up_to(chat_id, last)
    sessions_of = set((await conn.execute(sa.select(messages.c.session_id).where(said).distinct())).scalars())
    told = set((await conn.execute(sa.select(messages.c.id).where(said, messages.c.text != ""))).scalars())
    await erase_traces(
        conn, chat_id, Traces(frozenset(), frozenset(told), frozenset(sessions_of), profile=True)
    )
    await conn.execute(sa.delete(erasures).where(erasures.c.chat_id == chat_id))
    await mark_erased(conn)
    return len(told)


async def _bring_back(conn: AsyncConnection, chat_id: int, hidden: Sequence[Memory]) -> None:
    for memory in hidden:
        if memory.type != MemoryType.TURN and (same := await find_same(conn, chat_id, memory.text)):
            await _join(conn, chat_id, memory, same)
        else:
            back = {"status": Status.ACTIVE, "purge_at": None, "forgotten_in": None}
            await change(conn, chat_id, [memory.id], **back)


async def _let_turns_follow(conn: AsyncConnection, chat_id: int) -> None:
    """Hide the turns that tell of what is hidden now, and no others; costs little when nothing is."""
    _, traces = await hidden_traces(conn, chat_id)
    await hide_turns(conn, chat_id, traces.messages)
    await show_turns(conn, chat_id, hidden=traces.messages)


async def _join(conn: AsyncConnection, chat_id: int, memory: Memory, same: Memory) -> None:
    """Let `same` take over sources and history of `memory`, which goes."""
    await add_sources(conn, chat_id, same.id, memory.message_ids)
    earlier = sa.update(memories).where(memories.c.chat_id == chat_id, memories.c.superseded_by == memory.id)
    await conn.execute(earlier.values(superseded_by=same.id))
    await delete_memories(conn, chat_id, [memory.id])
