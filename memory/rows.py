"""Rows of memories: the filters that keep a query within its chat, reading and inserting."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import sqlalchemy as sa

# PostgreSQL's ON CONFLICT is the SQL of SQLite as well; SQLAlchemy compiles this insert for both.
from sqlalchemy.dialects.postgresql import insert

from memory.database import take_revisions
from memory.errors import InvalidMemory
from memory.tables import memories, messages, sessions, sources, tombstones, vectors
from memory.text import clean, text_hash
from memory.types import Memory, MemoryType, NewMemory, Origin, Status, StoredVector, Where
from memory.words import add_words, count_words, remove_words

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from memory.database import Database

log = logging.getLogger(__name__)

Condition: TypeAlias = sa.ColumnElement[bool]
T = TypeVar("T")

ANY = Where()
_BATCH = 10_000  # ids in one statement; both databases end a little above 32,000
_PIECE = 20  # rows that are written in one go: preparing more of them would hold up the event loop

# Written out, so that both databases see that an index of what is active and no turn fits.
_IS_ACTIVE = memories.c.status == sa.literal_column("'active'")
NO_TURN = memories.c.type != sa.literal_column("'turn'")
"""What people call a memory: not the word-for-word index of what was said."""


@asynccontextmanager
async def writing(database: Database) -> AsyncIterator[AsyncConnection]:
    """One transaction that changes memories: the only one at a time, so that what it reads stays true."""
    async with database.write() as conn:
        if database.dialect == "postgresql":
            await take_revisions(conn, 0)  # locks the counter; SQLite has one writer anyway
        yield conn


def filters(chat_id: int, where: Where = ANY, status: Status | None = Status.ACTIVE) -> list[Condition]:
    """Return what a row must fulfil to be seen: the one place where the scope of a query is built."""
    found: list[Condition] = [memories.c.chat_id == chat_id]
    if status:
        found.append(memories.c.status == status)
    if where.types:
        found.append(memories.c.type.in_(where.types))
    if where.speaker:
        found.append(memories.c.speaker == where.speaker)
    if where.since:
        found.append(memories.c.valid_from >= where.since)
    if where.until:
        found.append(memories.c.valid_from < where.until)
    if where.session_id is not None:
        found.append(memories.c.session_id == where.session_id)
    return found


def listed(chat_id: int, where: Where = ANY) -> list[Condition]:
    """Return what an active memory must fulfil to be listed and counted: turns only where they are named."""
    found = filters(chat_id, where)
    return found if where.types else [*found, NO_TURN]


async def fetch(
    conn: AsyncConnection,
    chat_id: int,
    *conditions: Condition,
    order: Sequence[sa.ColumnElement[Any]] = (memories.c.id,),
    limit: int | None = None,
    offset: int = 0,
) -> list[Memory]:
    """Read memories of one chat with their sources."""
    query = sa.select(memories).where(memories.c.chat_id == chat_id, *conditions).order_by(*order)
    return await _read(conn, chat_id, query.limit(limit).offset(offset))


async def fetch_ids(conn: AsyncConnection, chat_id: int, ids: Collection[int]) -> list[Memory]:
    """Read the memories of the chat among `ids`, whatever their status, by rising id."""
    found: list[Memory] = []
    for batch in batches(ids):
        query = sa.select(memories).where(_own(chat_id), memories.c.id.in_(batch))
        found += await _read(conn, chat_id, query.order_by(memories.c.id))
    return found


def in_scope(chat_id: int, found: Iterable[Memory]) -> Iterator[Memory]:
    """Let through what belongs to the chat. Anything else is a fault of a query and must not be seen."""
    for memory in found:
        if memory.chat_id == chat_id:
            yield memory
        else:
            log.error("a memory of another chat was held back", extra={"chat": chat_id, "memory": memory.id})


def cleaned(new: NewMemory) -> NewMemory:
    """Return the memory without what no database can hold. Raises InvalidMemory for one without words."""
    text = clean(new.text)
    if not text:
        raise InvalidMemory("There is nothing to remember in an empty text; write what should be kept.")
    return replace(
        new,
        text=text,
        original=clean(new.original),
        speaker=clean(new.speaker),
        document=clean(new.document),
    )


async def insert_memory(
    conn: AsyncConnection, new: NewMemory, now: datetime, vector: StoredVector | None
) -> Memory:
    """Insert an active memory with its words, its vector and those of its sources that are in the chat."""
    values = {
        "type": new.type,
        "text": new.text,
        "origin": new.origin,
        "status": Status.ACTIVE,
        "speaker": new.speaker,
        "speaker_id": new.speaker_id,
        "session_id": await _own_session(conn, new.chat_id, new.session_id),
        "document": new.document,
        "original": new.original,
        "importance": new.importance,
        "learned_at": now,
        "valid_from": new.valid_from or now,
        "valid_until": new.valid_until,
    }
    [row] = await insert_rows(conn, new.chat_id, [values])
    if vector:
        await conn.execute(sa.insert(vectors).values(vector_row(new.chat_id, row.id, vector)))
    if not new.message_ids:
        return _memory(row, ())
    await add_sources(conn, new.chat_id, row.id, new.message_ids)
    return _memory(row, (await _sources(conn, new.chat_id, [row.id])).get(row.id, ()))


async def tell_again(conn: AsyncConnection, known: Memory, new: NewMemory) -> Memory:
    """Add the messages of `new` to a memory with the same words.

    What a person says about themselves becomes theirs, whatever it was found in before. One that stands on
    no message keeps none: else a turn that is cut off would take it for its own.
    """
    if known.message_ids:
        await add_sources(conn, new.chat_id, known.id, new.message_ids)
    if new.origin is Origin.PERSON and known.origin is not Origin.PERSON:
        theirs = {"origin": new.origin, "speaker": new.speaker, "speaker_id": new.speaker_id, "document": ""}
        await change(conn, new.chat_id, [known.id], **theirs)
    [told] = await fetch_ids(conn, new.chat_id, [known.id])
    return told


async def insert_rows(
    conn: AsyncConnection, chat_id: int, values: Sequence[Mapping[str, Any]]
) -> list[sa.Row[Any]]:
    """Insert rows of memories and, for active ones, their words; return the rows in the same order."""
    return [row for piece in pieces(values) for row in await _insert_piece(conn, chat_id, piece)]


async def add_sources(
    conn: AsyncConnection, chat_id: int, memory_id: int, message_ids: Collection[int]
) -> None:
    """Note the messages that a memory stands on; ids that are not of this chat are left out."""
    if not message_ids:
        return
    own = sa.select(
        sa.literal(chat_id, sa.BigInteger), sa.literal(memory_id, sa.BigInteger), messages.c.id
    ).where(messages.c.chat_id == chat_id, messages.c.id.in_(message_ids))
    rows = insert(sources).from_select(["chat_id", "memory_id", "message_id"], own)
    await conn.execute(rows.on_conflict_do_nothing())


async def change(conn: AsyncConnection, chat_id: int, ids: Collection[int], **values: Any) -> None:
    """Set the same values in many memories of a chat, each with a revision of its own.

    Words are kept for active memories only: they follow a `status` in `values`, and stay where there is none.
    """
    for piece in pieces(list(ids)):
        await _change_piece(conn, chat_id, piece, values)


async def _change_piece(
    conn: AsyncConnection, chat_id: int, ids: Sequence[int], values: Mapping[str, Any]
) -> None:
    revisions = await take_revisions(conn, len(ids))
    rows = [{"the_id": each, "the_revision": revision} for each, revision in zip(ids, revisions, strict=True)]
    update = sa.update(memories).where(
        memories.c.chat_id == chat_id, memories.c.id == sa.bindparam("the_id", type_=sa.BigInteger)
    )
    await conn.execute(
        update.values(revision=sa.bindparam("the_revision", type_=sa.BigInteger), **values), rows
    )
    if "status" not in values:
        return
    await remove_words(conn, chat_id, ids)
    if values["status"] == Status.ACTIVE:
        again = await fetch_ids(conn, chat_id, ids)
        counted = await count_words([memory.text for memory in again])
        await add_words(conn, chat_id, {memory.id: each for memory, each in zip(again, counted, strict=True)})


async def find_same(conn: AsyncConnection, chat_id: int, text: str) -> Memory | None:
    """Return the active memory of the chat that has the same words; that they were said before is none."""
    found = await fetch(conn, chat_id, _IS_ACTIVE, NO_TURN, memories.c.text_hash == text_hash(text))
    return found[0] if found else None


async def delete_memories(conn: AsyncConnection, chat_id: int, ids: Collection[int]) -> None:
    """Delete rows with all that hangs on them, and leave tombstones for the index to follow."""
    for piece in pieces([each for batch in batches(ids) for each in batch]):
        mine = sa.select(memories.c.id).where(_own(chat_id), memories.c.id.in_(piece))
        gone = (await conn.execute(mine)).scalars().all()
        rows = [
            {"memory_id": memory_id, "chat_id": chat_id, "revision": revision}
            for memory_id, revision in zip(gone, await take_revisions(conn, len(gone)), strict=True)
        ]
        if rows:
            await conn.execute(sa.insert(tombstones), rows)
            await conn.execute(sa.delete(memories).where(memories.c.id.in_(gone)))


def vector_row(chat_id: int, memory_id: int, vector: StoredVector) -> dict[str, Any]:
    """Return the values of the row that keeps a vector."""
    stored = vector.vector.astype("<f4").tobytes()
    return {"chat_id": chat_id, "memory_id": memory_id, "model_id": vector.model_id, "vector": stored}


def pieces(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut what is to be written into parts that are soon prepared."""
    for start in range(0, len(items), _PIECE):
        yield items[start : start + _PIECE]


def batches(ids: Collection[int]) -> Iterator[list[int]]:
    """Cut ids into lists that fit into one statement, without those that no row can have."""
    rest = sorted(each for each in set(ids) if is_id(each))
    for start in range(0, len(rest), _BATCH):
        yield rest[start : start + _BATCH]


def is_id(number: int) -> bool:
    """Whether a row can have this id at all; beyond 64 bits the databases raise errors of their own."""
    return 0 < number < 2**63


def _own(chat_id: int) -> Condition:
    """The scope of what is looked up by id; the + 0 keeps SQLite from going through the whole chat for it."""
    return memories.c.chat_id + 0 == chat_id


async def _read(conn: AsyncConnection, chat_id: int, query: sa.Select[Any]) -> list[Memory]:
    rows = (await conn.execute(query)).all()
    stands_on = await _sources(conn, chat_id, [row.id for row in rows])
    return list(in_scope(chat_id, (_memory(row, stands_on.get(row.id, ())) for row in rows)))


async def _insert_piece(
    conn: AsyncConnection, chat_id: int, values: Sequence[Mapping[str, Any]]
) -> list[sa.Row[Any]]:
    revisions = await take_revisions(conn, len(values))
    counted = await count_words([each["text"] for each in values])
    rows = [
        {
            **each,
            "chat_id": chat_id,
            "text_hash": text_hash(each["text"]),
            "word_count": counts.total(),
            "revision": revision,
        }
        for each, counts, revision in zip(values, counted, revisions, strict=True)
    ]
    inserted = sa.insert(memories).returning(memories, sort_by_parameter_order=True)
    found = list((await conn.execute(inserted, rows)).all())
    active = {
        row.id: counts for row, counts in zip(found, counted, strict=True) if row.status == Status.ACTIVE
    }
    await add_words(conn, chat_id, active)
    return found


async def _sources(conn: AsyncConnection, chat_id: int, ids: Collection[int]) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    for batch in batches(ids):
        query = sa.select(sources.c.memory_id, sources.c.message_id).where(
            sources.c.chat_id == chat_id, sources.c.memory_id.in_(batch)
        )
        for memory_id, message_id in await conn.execute(query.order_by(sources.c.message_id)):
            found[memory_id] = (*found.get(memory_id, ()), message_id)
    return found


async def _own_session(conn: AsyncConnection, chat_id: int, session_id: int | None) -> int | None:
    """The session, unless it is one of another chat."""
    if session_id is None:
        return None
    own = sa.select(sessions.c.id).where(sessions.c.chat_id == chat_id, sessions.c.id == session_id)
    return (await conn.execute(own)).scalar_one_or_none()


def _memory(row: sa.Row[Any], message_ids: tuple[int, ...]) -> Memory:
    return Memory(
        id=row.id,
        chat_id=row.chat_id,
        type=MemoryType(row.type),
        text=row.text,
        origin=Origin(row.origin),
        status=Status(row.status),
        learned_at=row.learned_at,
        valid_from=row.valid_from,
        revision=row.revision,
        speaker=row.speaker,
        speaker_id=row.speaker_id,
        session_id=row.session_id,
        message_ids=message_ids,
        document=row.document,
        original=row.original,
        importance=row.importance,
        valid_until=row.valid_until,
        superseded_by=row.superseded_by,
        purge_at=row.purge_at,
    )
