"""What was said in finished conversations, word for word: memories of type TURN that follow their messages.

A turn stands on one message. It is hidden while something forgotten is told of in that message, and it goes
in the transaction that empties the message. Every function works in the transaction of its caller.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from memory.rows import batches, change, delete_memories, fetch_ids, filters, insert_rows, pieces, vector_row
from memory.tables import memories, messages, sources, vectors
from memory.types import Memory, MemoryType, Message, Status, StoredVector

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

BEGINNING = 600
"""Characters of a message that are indexed; of a long one the rest buries what it is about."""

IMPORTANCE = 0.5

_NEAR = 100  # turns in one statement: SQLite takes 500 parts of a union

_IS_TURN = memories.c.type == MemoryType.TURN
# A turn that was named in a forget waits for its own purge; one that only follows has no time of its own.
_FOLLOWS = sa.and_(_IS_TURN, memories.c.status == Status.FORGOTTEN, memories.c.purge_at.is_(None))


def beginning(text: str) -> str:
    """Return what is indexed of a message: all of it, or its first `BEGINNING` characters in whole words."""
    if len(text) <= BEGINNING:
        return text
    cut = text[:BEGINNING]
    if not text[BEGINNING - 1].isspace() and not text[BEGINNING].isspace():
        cut = cut.rsplit(maxsplit=1)[0]  # one endless word is cut all the same
    return cut.rstrip() + "…"


async def insert_turns(
    conn: AsyncConnection, said: Sequence[Message], found: Mapping[int, StoredVector], now: datetime
) -> None:
    """Insert a turn for each message, in their order, with the vector that is `found` by the message's id."""
    for piece in pieces(said):
        chat_id = piece[0].chat_id
        rows = await insert_rows(conn, chat_id, [_values(message, now) for message in piece])
        ids = {message.id: row.id for message, row in zip(piece, rows, strict=True)}
        stands = [
            {"chat_id": chat_id, "memory_id": ids[message.id], "message_id": message.id} for message in piece
        ]
        await conn.execute(sa.insert(sources), stands)
        stored = [vector_row(chat_id, ids[each], found[each]) for each in ids if each in found]
        if stored:
            await conn.execute(sa.insert(vectors), stored)


async def turns_in(conn: AsyncConnection, chat_id: int, session_id: int) -> dict[int, int]:
    """Return the turns of a session, hidden ones too: their ids by the message that each stands on."""
    said = sa.select(messages.c.id).where(messages.c.session_id == session_id)
    return {row.message_id: row.id for row in await conn.execute(_standing_on(chat_id, said))}


async def drop_turns(conn: AsyncConnection, chat_id: int, message_ids: Collection[int]) -> None:
    """Delete the turns that stand on these messages, for the files to be cleaned by the caller."""
    for batch in batches(message_ids):
        gone = [row.id for row in await conn.execute(_standing_on(chat_id, batch))]
        await delete_memories(conn, chat_id, gone)


async def hide_turns(
    conn: AsyncConnection, chat_id: int, message_ids: Collection[int], forgotten_in: int | None = None
) -> None:
    """Hide the turns that stand on these messages; `forgotten_in` as in `memory.forget.hide`."""
    mark = {"status": Status.FORGOTTEN, "purge_at": None, "forgotten_in": forgotten_in}
    for batch in batches(message_ids):
        rows = await conn.execute(_standing_on(chat_id, batch))
        await change(conn, chat_id, [row.id for row in rows if row.status == Status.ACTIVE], **mark)


async def show_turns(conn: AsyncConnection, chat_id: int, hidden: Collection[int]) -> None:
    """Bring back every turn that was hidden by `hide_turns` and stands on none of the `hidden` messages."""
    query = sa.select(memories.c.id, sources.c.message_id).join(sources, sources.c.memory_id == memories.c.id)
    rows = await conn.execute(query.where(memories.c.chat_id == chat_id, _FOLLOWS))
    back = [row.id for row in rows if row.message_id not in hidden]
    await change(conn, chat_id, back, status=Status.ACTIVE, forgotten_in=None)


async def neighbours(
    conn: AsyncConnection, chat_id: int, turns: Sequence[Memory], each_side: int
) -> dict[int, tuple[list[Memory], list[Memory]]]:
    """Return up to `each_side` active turns before each turn and after it in its session, in their order."""
    found: dict[int, tuple[list[Memory], list[Memory]]] = {turn.id: ([], []) for turn in turns}
    placed = [turn for turn in turns if turn.chat_id == chat_id and turn.session_id is not None]
    if each_side < 1:
        return found
    near: list[Any] = []
    for start in range(0, len(placed), _NEAR):
        sides = [side for turn in placed[start : start + _NEAR] for side in _sides(chat_id, turn, each_side)]
        near += (await conn.execute(sa.union_all(*sides))).all()
    read = {memory.id: memory for memory in await fetch_ids(conn, chat_id, {row.near for row in near})}
    for row in sorted(near, key=lambda row: row.near):
        if row.near in read:
            found[row.asked][int(row.near > row.asked)].append(read[row.near])
    return found


def _values(message: Message, now: datetime) -> dict[str, Any]:
    return {
        "type": MemoryType.TURN,
        "text": beginning(message.text),
        "origin": message.origin,
        "status": Status.ACTIVE,
        "speaker": message.speaker,
        "speaker_id": message.speaker_id,
        "session_id": message.session_id,
        "document": "",
        "original": "",
        "importance": IMPORTANCE,
        "learned_at": now,
        "valid_from": message.sent_at,
        "valid_until": None,
    }


def _standing_on(chat_id: int, said: Sequence[int] | sa.Select[tuple[int]]) -> sa.Select[Any]:
    """The turns of messages: `message_id`, `id` and `status`."""
    return (
        sa.select(sources.c.message_id, memories.c.id, memories.c.status)
        .join(memories, memories.c.id == sources.c.memory_id)
        # The + 0 keeps SQLite from trying each memory of the chat with each message.
        .where(memories.c.chat_id + 0 == chat_id, _IS_TURN, sources.c.message_id.in_(said))
    )


def _sides(chat_id: int, turn: Memory, each_side: int) -> list[sa.Select[Any]]:
    """One query for what is before a turn and one for what is after it, each cut to what is nearest."""
    session = sa.select(sa.literal(turn.id, sa.BigInteger).label("asked"), memories.c.id.label("near")).where(
        *filters(chat_id), _IS_TURN, memories.c.session_id == turn.session_id
    )
    before = session.where(memories.c.id < turn.id).order_by(memories.c.id.desc())
    after = session.where(memories.c.id > turn.id).order_by(memories.c.id)
    return [sa.select(side.limit(each_side).subquery()) for side in (before, after)]
