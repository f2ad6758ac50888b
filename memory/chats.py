"""Which chats there are: how much each has left here, and when it was last heard of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from memory.database import Database
from memory.rows import NO_TURN
from memory.tables import memories, messages
from memory.types import Status


@dataclass(frozen=True, slots=True)
class ChatSummary:
    """A chat by its number: active memories, messages that have text, and when the last of both came."""

    chat_id: int
    memories: int
    messages: int
    last_at: datetime


async def chats(database: Database) -> list[ChatSummary]:
    """Return the chats that have left something, the one last heard of first. Raises StorageError."""
    known = sa.select(
        memories.c.chat_id,
        sa.literal(1).label("memory"),
        sa.literal(0).label("message"),
        memories.c.learned_at,
    ).where(memories.c.status == Status.ACTIVE, NO_TURN)
    said = sa.select(messages.c.chat_id, sa.literal(0), sa.literal(1), messages.c.sent_at).where(
        messages.c.text != ""
    )
    left = sa.union_all(known, said).subquery()
    last = sa.func.max(left.c.learned_at)
    query = (
        sa.select(left.c.chat_id, sa.func.sum(left.c.memory), sa.func.sum(left.c.message), last)
        .group_by(left.c.chat_id)
        .order_by(last.desc(), left.c.chat_id)
    )
    async with database.read() as conn:
        return [ChatSummary(chat_id, int(m), int(n), at) for chat_id, m, n, at in await conn.execute(query)]
