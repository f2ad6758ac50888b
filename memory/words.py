"""The inverted index: which stems each active memory has, and how often."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from memory.tables import words
from memory.text import stems

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_COLUMNS = ("chat_id", "word", "memory_id", "count")
_PARSED = 500  # words whose numbers are parsed in one go, which keeps the interpreter to itself


@dataclass(frozen=True, slots=True)
class PackedPostings:
    """Words, each once, with the ids of the memories that have them and the counts in those, as "7,12,15".

    The databases join numbers faster than they hand out rows, and numpy reads them faster.
    """

    words: Sequence[str]
    sizes: Sequence[int]  # how many memories have each
    memory_ids: Sequence[str]
    counts: Sequence[str]

    def __len__(self) -> int:
        return sum(self.sizes)

    def unpacked(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return for each posting the place of its word, the memory's id and the count.

        A thread's work for many words: 50 ms for 800,000 postings.
        """
        places = np.repeat(np.arange(len(self.words)), np.array(self.sizes, np.int64))
        return places, _numbers(self.memory_ids), _numbers(self.counts)


NO_WORDS = PackedPostings((), (), (), ())


async def count_words(texts: Sequence[str]) -> list[Counter[str]]:
    """Return the stems of each text with their counts; many texts are counted in a thread."""
    return _count(texts) if len(texts) == 1 else await asyncio.to_thread(_count, texts)


async def add_words(conn: AsyncConnection, chat_id: int, found: Mapping[int, Counter[str]]) -> None:
    """Index memories that have become active, by id."""
    rows = [
        (chat_id, word, memory_id, count)
        for memory_id, counts in found.items()
        for word, count in counts.items()
    ]
    if rows:
        await conn.exec_driver_sql(_insertion(conn.dialect), rows)


async def remove_words(conn: AsyncConnection, chat_id: int, ids: Collection[int]) -> None:
    """Take memories out of the index."""
    gone = sa.delete(words).where(
        words.c.chat_id == chat_id, words.c.memory_id == sa.bindparam("the_id", type_=sa.BigInteger)
    )
    await conn.execute(gone, [{"the_id": memory_id} for memory_id in ids])


async def read_postings(
    conn: AsyncConnection, chat_id: int, ids: Collection[int] | None = None
) -> PackedPostings:
    """Read the words of a chat, all of them or those of some of its memories."""
    packed = [
        sa.func.aggregate_strings(sa.cast(column, sa.Text), ",")
        for column in (words.c.memory_id, words.c["count"])
    ]
    # In the order of code points, which is SQLite's: to sort many words would hold the interpreter's lock.
    order = words.c.word if conn.dialect.name == "sqlite" else sa.collate(words.c.word, "C")
    query = sa.select(words.c.word, sa.func.count(), *packed).group_by(words.c.word).order_by(order)
    if ids is None:
        query = query.where(words.c.chat_id == chat_id)
    else:
        # The + 0 keeps SQLite from reading the whole chat by its primary key.
        query = query.where(words.c.chat_id + 0 == chat_id, words.c.memory_id.in_(ids))
    found: list[list[Any]] = [[], [], [], []]
    async with conn.stream(query.execution_options(yield_per=_PARSED)) as rows:
        async for batch in rows.partitions():
            for column, values in zip(found, zip(*batch, strict=True), strict=True):
                column.extend(values)
    return PackedPostings(*found)


@lru_cache
def _insertion(dialect: sa.Dialect) -> str:
    """The statement itself: to have SQLAlchemy prepare each of so many rows takes half of the time."""
    compiled = sa.insert(words).compile(dialect=dialect, column_keys=_COLUMNS)
    assert compiled.positiontup == list(_COLUMNS), "the rows would get into the wrong columns"
    return str(compiled)


def _count(texts: Sequence[str]) -> list[Counter[str]]:
    return [Counter(stems(text)) for text in texts]


def _numbers(packed: Sequence[str]) -> NDArray[np.int64]:
    parts = [
        np.fromstring(",".join(packed[start : start + _PARSED]), np.int64, sep=",")
        for start in range(0, len(packed), _PARSED)
    ]
    return np.concatenate([np.empty(0, np.int64), *parts])
