"""Vectors in SQL: what every index is built from, the exact scan, and how far each index has followed."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

# PostgreSQL's ON CONFLICT is the SQL of SQLite as well; SQLAlchemy compiles this insert for both.
from sqlalchemy.dialects.postgresql import insert

from memory.database import Database, plan_for_many
from memory.rows import batches, vector_row, writing
from memory.tables import REVISION, counters, index_cursors, memories, tombstones, vectors
from memory.types import MemoryType, Status, StoredVector, Vector

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_ACTIVE = memories.c.status == Status.ACTIVE
_STREAMED = 500  # vectors that are copied in one go, while the event loop waits


@dataclass(frozen=True, slots=True)
class Change:
    """The latest thing that happened to a memory. One that is not `active` has no place in an index."""

    memory_id: int
    revision: int
    active: bool
    chat_id: int = 0
    type: MemoryType = MemoryType.FACT


@dataclass(frozen=True, slots=True)
class Cursor:
    """An index and the revision up to which it has followed."""

    index_id: str
    model_id: str
    revision: int


class VectorRows:
    """The vectors of all chats. Every method that reads for a chat takes its id. Raises StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.dialect = database.dialect

    async def store(self, model_id: str, found: Mapping[int, tuple[int, Vector]]) -> None:
        """Keep vectors by memory id, each with its chat; those of memories gone since are dropped."""
        rows = [
            vector_row(chat_id, memory_id, StoredVector(model_id, vector))
            for memory_id, (chat_id, vector) in found.items()
        ]
        async with writing(self._database) as conn:
            alive = await _among(conn, sa.select(memories.c.id).where(_ACTIVE), memories.c.id, found)
            present = [row for row in rows if row["memory_id"] in {id_ for (id_,) in alive}]
            if present:
                new = insert(vectors)
                replace = {"vector": new.excluded.vector}
                same = [vectors.c.memory_id, vectors.c.model_id]
                await conn.execute(new.on_conflict_do_update(index_elements=same, set_=replace), present)

    async def scan(
        self,
        chat_id: int,
        model_id: str,
        vector: Vector,
        types: Sequence[MemoryType],
        k: int,
        after_revision: int = 0,
    ) -> list[tuple[int, float]]:
        """Return up to `k` active memories of the chat with their cosine, best first, from all of them.

        With `after_revision` only the memories that changed since are looked at.
        """
        query = (
            sa.select(memories.c.id, vectors.c.vector)
            .join(vectors, vectors.c.memory_id == memories.c.id)
            .where(memories.c.chat_id == chat_id, vectors.c.chat_id == chat_id, _ACTIVE)
            .where(vectors.c.model_id == model_id, memories.c.revision > after_revision)
        )
        if types:
            query = query.where(memories.c.type.in_(types))
        async with self._database.read() as conn:
            await plan_for_many(conn)
            rows = (await conn.execute(query)).all()
        if len(rows) < 1_000:
            return _best(rows, vector, k)
        return await asyncio.to_thread(_best, rows, vector, k)

    async def changes(self, after_revision: int, limit: int) -> list[Change]:
        """Return what changed after a revision, oldest first, memories that were erased included."""
        changed = (
            sa.select(
                memories.c.id, memories.c.revision, memories.c.status, memories.c.chat_id, memories.c.type
            )
            .where(memories.c.revision > after_revision)
            .order_by(memories.c.revision)
            .limit(limit)
        )
        erased = (
            sa.select(tombstones.c.memory_id, tombstones.c.revision)
            .where(tombstones.c.revision > after_revision)
            .order_by(tombstones.c.revision)
            .limit(limit)
        )
        async with self._database.read() as conn:
            found = [
                Change(id_, revision, status == Status.ACTIVE, chat_id, MemoryType(type_))
                for id_, revision, status, chat_id, type_ in (await conn.execute(changed)).all()
            ]
            found += [Change(id_, revision, active=False) for id_, revision in await conn.execute(erased)]
        return sorted(found, key=lambda change: change.revision)[:limit]

    async def vectors(self, model_id: str, ids: Collection[int]) -> dict[int, Vector]:
        """Return the vectors that the model has made of these memories."""
        query = sa.select(vectors.c.memory_id, vectors.c.vector).where(vectors.c.model_id == model_id)
        async with self._database.read() as conn:
            rows = await _among(conn, query, vectors.c.memory_id, ids)
        return {memory_id: _vector(stored) for memory_id, stored in rows}

    async def bare(self, model_id: str, after_revision: int, limit: int) -> list[tuple[Change, str]]:
        """Return active memories without a vector of the model, with their words, oldest change first."""
        own = sa.select(vectors.c.memory_id).where(
            vectors.c.memory_id == memories.c.id, vectors.c.model_id == model_id
        )
        query = (
            sa.select(
                memories.c.id, memories.c.revision, memories.c.chat_id, memories.c.type, memories.c.text
            )
            .where(_ACTIVE, memories.c.revision > after_revision, ~own.exists())
            .order_by(memories.c.revision)
            .limit(limit)
        )
        async with self._database.read() as conn:
            rows = (await conn.execute(query)).all()
        return [
            (Change(id_, revision, active=True, chat_id=chat_id, type=MemoryType(type_)), text)
            for id_, revision, chat_id, type_, text in rows
        ]

    async def active(self, model_id: str) -> dict[int, tuple[int, bool]]:
        """Return the revision of every active memory, and whether the model has made its vector."""
        own = sa.and_(vectors.c.memory_id == memories.c.id, vectors.c.model_id == model_id)
        query = (
            sa.select(memories.c.id, memories.c.revision, vectors.c.memory_id.is_not(None))
            .outerjoin(vectors, own)
            .where(_ACTIVE)
        )
        async with self._database.read() as conn:
            rows = (await conn.execute(query)).all()
        return {memory_id: (revision, bool(embedded)) for memory_id, revision, embedded in rows}

    async def waiting(self, after_revision: int) -> int:
        """Count what `changes` would return without a limit."""
        async with self._database.read() as conn:
            counts = [
                (await conn.execute(sa.select(sa.func.count()).where(column > after_revision))).scalar_one()
                for column in (memories.c.revision, tombstones.c.revision)
            ]
        return sum(counts)

    async def last_revision(self) -> int:
        """Return the revision of the latest change of any memory."""
        query = sa.select(counters.c.value).where(counters.c.name == REVISION)
        async with self._database.read() as conn:
            return (await conn.execute(query)).scalar_one_or_none() or 0

    async def erased_after(self, revision: int) -> bool:
        """Tell whether any memory was erased for good since."""
        query = sa.select(tombstones.c.memory_id).where(tombstones.c.revision > revision).limit(1)
        async with self._database.read() as conn:
            return (await conn.execute(query)).first() is not None

    async def cursors(self, kind: str) -> list[Cursor]:
        """Return the indexes whose id begins with `kind` and a slash, the newest last."""
        query = sa.select(index_cursors.c.index_id, index_cursors.c.model_id, index_cursors.c.revision)
        begins = index_cursors.c.index_id.startswith(f"{kind}/", autoescape=True)
        async with self._database.read() as conn:
            rows = (await conn.execute(query.where(begins).order_by(index_cursors.c.index_id))).all()
        return [Cursor(*row) for row in rows]

    async def begin(self, cursor: Cursor) -> None:
        """Note an index that is about to be made."""
        async with self._database.write() as conn:
            await conn.execute(
                sa.insert(index_cursors).values(
                    index_id=cursor.index_id, model_id=cursor.model_id, revision=cursor.revision
                )
            )

    async def advance(self, index_id: str, revision: int) -> None:
        """Note how far an index has followed; never backwards, whoever else follows with it."""
        ahead = sa.and_(index_cursors.c.index_id == index_id, index_cursors.c.revision < revision)
        async with self._database.write() as conn:
            await conn.execute(sa.update(index_cursors).where(ahead).values(revision=revision))

    async def drop(self, index_id: str) -> None:
        """Forget an index."""
        async with self._database.write() as conn:
            await conn.execute(sa.delete(index_cursors).where(index_cursors.c.index_id == index_id))


async def read_dimensions(conn: AsyncConnection, chat_id: int, model_id: str) -> int:
    """Return how many numbers the model's vectors have, 0 while the chat has none of them."""
    query = sa.select(sa.func.length(vectors.c.vector)).where(
        vectors.c.chat_id == chat_id, vectors.c.model_id == model_id
    )
    return ((await conn.execute(query.limit(1))).scalar_one_or_none() or 0) // 4


async def read_vectors(
    conn: AsyncConnection, chat_id: int, model_id: str, ids: NDArray[np.int64], into: Vector
) -> NDArray[np.bool_]:
    """Write the vectors of a chat into `into`, each in the row that its memory has in the rising `ids`.

    Returns which rows have got one.
    """
    found = np.zeros(len(ids), np.bool_)
    query = sa.select(vectors.c.memory_id, vectors.c.vector).where(
        vectors.c.chat_id == chat_id, vectors.c.model_id == model_id
    )
    async with conn.stream(query.execution_options(yield_per=_STREAMED)) as stream:
        async for batch in stream.partitions():
            stored_ids, stored = zip(*batch, strict=True)
            rows = np.minimum(np.searchsorted(ids, stored_ids), len(ids) - 1)
            known = ids[rows] == stored_ids
            into[rows[known]] = np.frombuffer(b"".join(stored), "<f4").reshape(len(stored), -1)[known]
            found[rows[known]] = True
    return found


async def read_vectors_of(
    conn: AsyncConnection, chat_id: int, model_id: str, ids: Collection[int]
) -> tuple[NDArray[np.int64], Vector]:
    """Return which of some memories of a chat have a vector of the model, by rising id, and the vectors."""
    # The + 0 keeps SQLite from going through all vectors of the chat.
    query = sa.select(vectors.c.memory_id, vectors.c.vector).where(
        vectors.c.chat_id + 0 == chat_id, vectors.c.model_id == model_id
    )
    rows = sorted(await _among(conn, query, vectors.c.memory_id, ids))
    matrix = np.frombuffer(b"".join(row.vector for row in rows), "<f4").reshape(len(rows), -1 if rows else 0)
    return np.array([row.memory_id for row in rows], np.int64), matrix


async def _among(
    conn: AsyncConnection, query: Any, column: sa.ColumnElement[int], ids: Collection[int]
) -> list[Any]:
    found: list[Any] = []
    for batch in batches(ids):
        found += (await conn.execute(query.where(column.in_(batch)))).all()
    return found


def _best(rows: Sequence[Any], vector: Vector, k: int) -> list[tuple[int, float]]:
    if not rows or k <= 0:
        return []
    matrix = np.frombuffer(b"".join(row.vector for row in rows), "<f4").reshape(len(rows), -1)
    cosines = matrix @ vector
    best = np.argsort(-cosines, kind="stable")[:k]
    return [(int(rows[position].id), float(cosines[position])) for position in best]


def _vector(stored: bytes) -> Vector:
    return np.frombuffer(stored, "<f4").astype(np.float32)
