"""What the warm copy of a chat is made from: all that SQL has of the chat, or what is new in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from memory.chat_columns import NO_COLUMNS, Columns, read_columns, roomy
from memory.chat_copy import ChatCopy
from memory.tables import memories, tombstones
from memory.types import Vector
from memory.vector_rows import read_dimensions, read_vectors, read_vectors_of
from memory.words import NO_WORDS, PackedPostings, read_postings

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

MAX_NEWS = 1_000
"""With more news than that all is read anew: taking them in would hold up the event loop."""

FLOAT_BYTES = np.dtype(np.float32).itemsize

# Of the memories without a vector those that get theirs next are looked at; only if all of them have got it,
# more.
_FIRST_LOOK = 64
_NEXT_LOOKS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """All that SQL has of a chat. `vectors` are in the order of the rows, with room behind them."""

    revision: int
    columns: Columns
    speaker_names: tuple[str, ...]
    vectors: Vector | None
    has_vector: NDArray[np.bool_]
    words: PackedPostings


@dataclass(frozen=True, slots=True, eq=False)
class News:
    """What changed in a chat: the ids that did, with rows and words of those of them that are active now.

    `vectors` are those of `vector_ids`, which rise; late ones of memories that did not change are among them.
    """

    revision: int
    changed: Sequence[int]
    columns: Columns
    speaker_names: tuple[str, ...]
    vector_ids: NDArray[np.int64]
    vectors: Vector
    words: PackedPostings

    def __bool__(self) -> bool:
        return bool(self.changed) or len(self.vector_ids) > 0


async def read_all(conn: AsyncConnection, chat_id: int, model_id: str, limit_bytes: int) -> Reading:
    """Read a chat; without its vectors if they take more than `limit_bytes`."""
    speakers: dict[str, int] = {}
    columns = await read_columns(conn, chat_id, speakers)
    dimensions = await read_dimensions(conn, chat_id, model_id)
    vectors, has_vector = None, np.zeros(len(columns), np.bool_)
    if len(columns) * dimensions * FLOAT_BYTES <= limit_bytes:
        vectors = np.zeros((roomy(len(columns)), dimensions), np.float32)
        if dimensions and len(columns):
            has_vector = await read_vectors(conn, chat_id, model_id, columns.ids, vectors)
    words = await read_postings(conn, chat_id)
    last = await _last_revision(conn, chat_id)
    return Reading(last, columns, tuple(speakers), vectors, has_vector, words)


async def read_news(
    conn: AsyncConnection, copy: ChatCopy, revisions: NDArray[np.int64], model_id: str
) -> News | None:
    """Read what has changed since the copy was made; ``None`` when there is too much of it.

    `revisions` are those of the rows of the copy.
    """
    changes = (await conn.execute(_changes(copy.chat_id, copy.revision))).all()
    changed = [row.id for row in changes]
    waiting = _waiting(copy, revisions, changed)
    if len(changed) > MAX_NEWS:
        return None
    speakers = {name: place for place, name in enumerate(copy.speaker_names)}
    columns, words = NO_COLUMNS, NO_WORDS
    if changed or len(waiting):
        await _plan_for_few(conn)
    if changed:
        columns = await read_columns(conn, copy.chat_id, speakers, changed)
        words = await read_postings(conn, copy.chat_id, columns.ids.tolist())
    new = columns.ids if copy.vectors is not None else NO_COLUMNS.ids
    vector_ids, vectors = await _read_vectors(conn, copy.chat_id, model_id, new, waiting)
    if len(vector_ids) > MAX_NEWS:
        return None
    revision = max((row.revision for row in changes), default=copy.revision)
    return News(revision, changed, columns, tuple(speakers), vector_ids, vectors, words)


async def _last_revision(conn: AsyncConnection, chat_id: int) -> int:
    last = [
        sa.select(sa.func.max(table.c.revision)).where(table.c.chat_id == chat_id).scalar_subquery()
        for table in (memories, tombstones)
    ]
    return max(each or 0 for each in (await conn.execute(sa.select(*last))).one())


def _changes(chat_id: int, after_revision: int) -> sa.CompoundSelect[int, int]:
    """What changed and what was erased."""
    changed = sa.select(memories.c.id, memories.c.revision).where(
        memories.c.chat_id == chat_id, memories.c.revision > after_revision
    )
    erased = sa.select(tombstones.c.memory_id, tombstones.c.revision).where(
        tombstones.c.chat_id == chat_id, tombstones.c.revision > after_revision
    )
    return sa.union_all(changed, erased).limit(MAX_NEWS + 1)


async def _plan_for_few(conn: AsyncConnection) -> None:
    """Let PostgreSQL take the indexes: right after an import it would rather read whole tables."""
    if conn.dialect.name == "postgresql":
        await conn.exec_driver_sql("SET LOCAL enable_seqscan = off")


def _waiting(copy: ChatCopy, revisions: NDArray[np.int64], changed: Sequence[int]) -> NDArray[np.int64]:
    """The ids of unchanged rows without a vector, in the order in which they get one, that of revisions."""
    if copy.vectors is None:
        return NO_COLUMNS.ids
    rows = np.flatnonzero(copy.alive & ~copy.has_vector)
    if changed:
        rows = rows[~np.isin(copy.ids[rows], changed)]
    return copy.ids[rows[np.argsort(revisions[rows], kind="stable")]]


async def _read_vectors(
    conn: AsyncConnection, chat_id: int, model_id: str, new: NDArray[np.int64], waiting: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Vector]:
    """Read the vectors of new memories, and those that waiting ones have got by now, by rising id."""
    found = [await read_vectors_of(conn, chat_id, model_id, new.tolist())] if len(new) else []
    waiting, look = waiting[: MAX_NEWS + 1], _FIRST_LOOK
    while len(waiting):
        found.append(await read_vectors_of(conn, chat_id, model_id, waiting[:look].tolist()))
        if len(found[-1][0]) < min(look, len(waiting)):
            break
        waiting, look = waiting[look:], _NEXT_LOOKS
    some = [(ids, vectors) for ids, vectors in found if len(ids)]
    if not some:
        return NO_COLUMNS.ids, np.empty((0, 0), np.float32)
    ids = np.concatenate([ids for ids, _ in some])
    order = np.argsort(ids)
    return ids[order], np.concatenate([vectors for _, vectors in some])[order]
