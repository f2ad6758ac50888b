"""The places in a chat that repeat what a memory says, and emptying them.

The turns of a conversation are no places of their own: what a turn says stands in its message, so that it
goes, or is hidden, with that message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from memory.phrases import Phrases
from memory.rows import NO_TURN, batches, fetch_ids
from memory.tables import inbox, memories, messages, profiles, sessions
from memory.turns import drop_turns
from memory.types import Memory, Origin, Status

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

LONG_CHARS = 200
"""What repeats so much of the beginning of a memory repeats the memory."""

_PENDING = "pending"  # the state of an update that is still being dealt with


@dataclass(frozen=True, slots=True)
class Traces:
    """Ids of what tells of some memories besides their own rows."""

    memories: frozenset[int]  # old versions of others and the bot's own insights with the same words
    messages: frozenset[int]  # with text: what they stand on, what repeats them, the answers to both
    sessions: frozenset[int]  # whose summary repeats them or comes from one of these messages
    profile: bool  # whether the chat's profile repeats them


async def find_traces(conn: AsyncConnection, chat_id: int, versions: Sequence[Memory]) -> Traces:
    """Look for what would still tell of these memories once their rows are gone; reads the whole chat."""
    if not versions:
        return Traces(frozenset(), frozenset(), frozenset(), profile=False)
    phrases = Phrases(chain.from_iterable(map(_wordings, versions)))
    message_ids = await _messages(conn, chat_id, versions, phrases, messages.c.chat_id == chat_id)
    profile = sa.select(profiles.c.text).where(profiles.c.chat_id == chat_id)
    return Traces(
        memories=frozenset(await _hidden_copies(conn, chat_id, phrases)),
        messages=frozenset(message_ids),
        sessions=frozenset(await _sessions(conn, chat_id, phrases, message_ids)),
        profile=phrases.are_in((await conn.execute(profile)).scalar() or ""),
    )


async def find_in_session(
    conn: AsyncConnection, chat_id: int, session_id: int, versions: Sequence[Memory]
) -> set[int]:
    """Return the messages of `find_traces` that are in one session; costs what that session costs."""
    if not versions:
        return set()
    phrases = Phrases(chain.from_iterable(map(_wordings, versions)))
    return await _messages(conn, chat_id, versions, phrases, messages.c.session_id == session_id)


def _wordings(memory: Memory) -> Iterator[str]:
    """What repeats a memory holds one of these; a long one may have been shown without its end."""
    for text in (memory.text, memory.original):
        yield text
        if len(text) > LONG_CHARS:
            yield text[:LONG_CHARS].rpartition(" ")[0] or text[:LONG_CHARS]


async def erase_traces(conn: AsyncConnection, chat_id: int, traces: Traces) -> None:
    """Empty messages, with their turns, summaries and profile. This is the only place that empties a message.

    Messages stay as rows, so that a redelivery is still known.
    """
    await drop_turns(conn, chat_id, traces.messages)
    for batch in batches(traces.messages):
        said = sa.update(messages).where(messages.c.chat_id == chat_id, messages.c.id.in_(batch))
        await conn.execute(said.values(text="", tokens=0))
    for batch in batches(traces.sessions):
        told = sa.update(sessions).where(sessions.c.chat_id == chat_id, sessions.c.id.in_(batch))
        await conn.execute(told.values(summary="", compressed_to=None))
    if traces.profile:
        await conn.execute(sa.update(profiles).where(profiles.c.chat_id == chat_id).values(text=""))
    dealt_with = sa.update(inbox).where(inbox.c.chat_id == chat_id, inbox.c.state != _PENDING)
    await conn.execute(dealt_with.values(payload=None))


async def _messages(
    conn: AsyncConnection,
    chat_id: int,
    versions: Sequence[Memory],
    phrases: Phrases,
    among: sa.ColumnElement[bool],
) -> set[int]:
    """What another memory with the same words stands on is left out: it was told again on purpose."""
    stood_on = {message_id for memory in versions for message_id in memory.message_ids}
    kept = await _told_again(conn, chat_id, {memory.id for memory in versions}, phrases) - stood_on
    query = sa.select(messages.c.id, messages.c.reply_to, messages.c.text)
    with_text = (messages.c.chat_id == chat_id, messages.c.text != "", among)
    rows = (await conn.execute(query.where(*with_text))).all()
    free = [row for row in rows if row.id not in kept and row.reply_to not in kept]
    touched = stood_on | await asyncio.to_thread(_containing, phrases, free)
    return {row.id for row in rows if row.id in touched or row.reply_to in touched}


async def _told_again(
    conn: AsyncConnection, chat_id: int, gone: Collection[int], phrases: Phrases
) -> set[int]:
    active = (memories.c.chat_id == chat_id, memories.c.status == Status.ACTIVE, NO_TURN)
    rows = [
        row
        for row in await conn.execute(sa.select(memories.c.id, memories.c.text).where(*active))
        if row.id not in gone
    ]
    again = await fetch_ids(conn, chat_id, await asyncio.to_thread(_containing, phrases, rows))
    return {message_id for memory in again for message_id in memory.message_ids}


async def _hidden_copies(conn: AsyncConnection, chat_id: int, phrases: Phrases) -> set[int]:
    """Memories with the same words that nobody could pick to be forgotten."""
    query = sa.select(memories.c.id, memories.c.text).where(
        memories.c.chat_id == chat_id,
        NO_TURN,
        sa.or_(memories.c.status == Status.SUPERSEDED, memories.c.origin == Origin.DERIVED),
    )
    return await asyncio.to_thread(_containing, phrases, (await conn.execute(query)).all())


async def _sessions(
    conn: AsyncConnection, chat_id: int, phrases: Phrases, message_ids: Collection[int]
) -> set[int]:
    summarised = (sessions.c.chat_id == chat_id, sessions.c.summary != "")
    rows = (
        await conn.execute(sa.select(sessions.c.id, sessions.c.summary.label("text")).where(*summarised))
    ).all()
    touched = await asyncio.to_thread(_containing, phrases, rows)
    for batch in batches(message_ids):
        lost = sa.select(messages.c.session_id).where(messages.c.id.in_(batch)).distinct()
        touched.update((await conn.execute(lost)).scalars())
    return touched & {row.id for row in rows}


def _containing(phrases: Phrases, rows: Sequence[Any]) -> set[int]:
    return {row.id for row in rows if phrases.are_in(row.text)}
