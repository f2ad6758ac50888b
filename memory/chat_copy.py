"""One chat's active memories as arrays, for searching them exactly without a database."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from memory.postings import Postings, Rows
from memory.types import Vector


@dataclass(frozen=True, slots=True, eq=False)
class ChatCopy:
    """One row for each memory, first the loaded ones by rising id, then those that came or changed since.

    Never changes, so threads may read it; `ChatCopies` makes new ones that share its arrays, all of which
    have n entries and are read-only. Rows that are not `alive` are to be ignored.
    """

    chat_id: int
    revision: int  # everything up to it is in here
    ids: NDArray[np.int64]
    alive: NDArray[np.bool_]  # whether the memory is still active and not in a later row
    types: NDArray[np.int8]  # positions in tuple(MemoryType)
    origins: NDArray[np.int8]  # positions in tuple(Origin)
    speakers: NDArray[np.int32]  # positions in speaker_names
    speaker_names: tuple[str, ...]
    valid_from: NDArray[np.float64]  # seconds since the epoch
    sessions: NDArray[np.int64]  # 0 for none
    importance: NDArray[np.float32]
    lengths: NDArray[np.int32]  # words, for BM25
    previous: NDArray[np.int32]  # the row of the turn before in the session; -1 for none and for other types
    vectors: Vector | None  # (n, dimensions), with 0 dimensions before the first; None if they do not fit
    has_vector: NDArray[np.bool_]  # the vectors of other rows are not to be looked at
    words: Postings  # those of dead rows included
    rising: int  # so many rows from the first on have rising ids
    dead: int  # rows that are not alive

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def living(self) -> int:
        """How many rows are alive."""
        return len(self) - self.dead

    def row_of(self, memory_id: int) -> int | None:
        """Return the row of an active memory."""
        row = int(np.searchsorted(self.ids[: self.rising], memory_id))
        if row < self.rising and self.ids[row] == memory_id and self.alive[row]:
            return row
        tail = self.alive[self.rising :] & (self.ids[self.rising :] == memory_id)
        return self.rising + int(tail.argmax()) if tail.any() else None

    def postings(self, word: str) -> tuple[Rows, Rows]:
        """Return the rows, all alive and rising, that have a word, and how often each has it.

        `word` is one of `memory.text.stems`; an unknown one has no rows.
        """
        rows, counts = self.words.find(word)
        if not self.dead:
            return rows, counts
        alive = self.alive[rows]
        return rows[alive], counts[alive]

    def with_prefix(self, prefix: str, limit: int) -> list[str]:
        """Return the first `limit` words of active memories that begin so, in the order of their letters."""
        known = (word for word in self.words.beginning(prefix) if len(self.postings(word)[0]))
        return list(islice(known, max(0, limit)))

    def cosines(self, query: Vector) -> NDArray[np.float32] | None:
        """Return the cosine of each row with a vector of length 1, 0 for rows without a vector.

        ``None`` where the vectors are not in memory. Reads all of them: 15 ms for 100,000 rows, so many are
        a thread's work.
        """
        if self.vectors is None:
            return None
        if not self.vectors.shape[1]:
            return np.zeros(len(self), np.float32)
        return np.where(self.has_vector, self.vectors @ query, np.float32(0))
