"""What is known of each memory of a chat without its text, as arrays that can take more rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from memory.tables import memories
from memory.types import MemoryType, Origin, Status

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

TYPES = {type_: place for place, type_ in enumerate(MemoryType)}
ORIGINS = {origin: place for place, origin in enumerate(Origin)}
TURN = TYPES[MemoryType.TURN]
"""What stands for types and origins in the columns."""

_BATCH = 500  # rows that are made into arrays in one go; with more of them at once the collector has to run
_READ = (
    memories.c.id,
    memories.c.revision,
    memories.c.type,
    memories.c.origin,
    memories.c.speaker,
    memories.c.valid_from,
    memories.c.session_id,
    memories.c.importance,
    memories.c.word_count,
)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """One array for each value, with one entry for each row; see `memory.chat_copy.ChatCopy`."""

    ids: NDArray[np.int64]
    revisions: NDArray[np.int64]
    types: NDArray[np.int8]
    origins: NDArray[np.int8]
    speakers: NDArray[np.int32]
    valid_from: NDArray[np.float64]
    sessions: NDArray[np.int64]
    importance: NDArray[np.float32]
    lengths: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays())

    def first(self, count: int) -> Columns:
        """Return the first rows, read-only; they share the arrays."""
        return Columns(*(seen(array, count) for array in self.arrays()))

    def with_room(self, used: int, needed: int) -> Columns:
        """Return arrays that begin with the `used` rows and have room for `needed`: these if they do."""
        if needed <= len(self):
            return self
        return Columns(*(enlarged(array, used, roomy(needed)) for array in self.arrays()))

    def write(self, at: int, rows: Columns) -> None:
        """Write rows into the room from `at` on."""
        for array, values in zip(self.arrays(), rows.arrays(), strict=True):
            array[at : at + len(values)] = values

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Yield them in one order."""
        return (getattr(self, field.name) for field in fields(self))


async def read_columns(
    conn: AsyncConnection, chat_id: int, speakers: dict[str, int], ids: Collection[int] | None = None
) -> Columns:
    """Read the active memories of a chat, or those of them that are among `ids`, by rising id.

    `speakers` gets a number for each name that it has not yet.
    """
    query = sa.select(*_READ).where(memories.c.chat_id == chat_id, memories.c.status == Status.ACTIVE)
    if ids is not None:
        # Written so that no index fits but that of the ids: the others lead through the whole chat.
        mine = memories.c.chat_id + 0 == chat_id, memories.c.status + "" == Status.ACTIVE
        query = sa.select(*_READ).where(*mine, memories.c.id.in_(ids))
    async with conn.stream(query.order_by(memories.c.id).execution_options(yield_per=_BATCH)) as rows:
        parts = [_columns(batch, speakers) async for batch in rows.partitions()]
    same = zip(*(part.arrays() for part in [NO_COLUMNS, *parts]), strict=True)
    return Columns(*(np.concatenate(arrays) for arrays in same))


def _columns(rows: Sequence[Sequence[Any]], speakers: dict[str, int]) -> Columns:
    ids, revisions, types, origins, names, times, sessions, importance, lengths = (
        zip(*rows, strict=True) if rows else [()] * len(_READ)
    )
    return Columns(
        np.array(ids, np.int64),
        np.array(revisions, np.int64),
        np.array([TYPES[each] for each in types], np.int8),
        np.array([ORIGINS[each] for each in origins], np.int8),
        np.array([speakers.setdefault(name, len(speakers)) for name in names], np.int32),
        np.array([time.timestamp() for time in times], np.float64),
        np.array([each or 0 for each in sessions], np.int64),
        np.array(importance, np.float32),
        np.array(lengths, np.int32),
    )


def previous_turns(
    columns: Columns, alive: NDArray[np.bool_], sessions: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the living turns, or those of some sessions alone, and the row of the turn before each, or -1.

    The ids of a session's turns rise in the order in which they were said.
    """
    turns = alive & (columns.types == TURN) & (columns.sessions > 0)
    if sessions is not None:
        turns &= np.isin(columns.sessions, sessions)
    rows = np.flatnonzero(turns)
    rows = rows[np.lexsort((columns.ids[rows], columns.sessions[rows]))]
    same = np.diff(columns.sessions[rows], prepend=0) == 0
    return rows, np.where(same, np.roll(rows, 1), -1)


def roomy(count: int) -> int:
    """Return for how many rows there should be room where `count` are needed."""
    return count + count // 8 + 8


def enlarged(array: NDArray[Any], used: int, rows: int) -> NDArray[Any]:
    """Return an array with that many rows, of which the first `used` are those of `array`."""
    larger = np.zeros((rows, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


def seen(array: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the first rows as they are seen from outside: they cannot be written."""
    view = array[:count]
    view.flags.writeable = False
    return view


NO_COLUMNS = _columns([], {})
