"""A copy of a chat with the room behind it: how the first is made, and the next from what has changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.chat_columns import TURN, Columns, enlarged, previous_turns, roomy, seen
from memory.chat_copy import ChatCopy
from memory.chat_reading import News, Reading
from memory.postings import Postings
from memory.types import Vector
from memory.words import PackedPostings


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A copy and the arrays that it shows the first rows of.

    Later copies share them: new rows are written behind what the earlier ones show, and a vector that came
    late into the row that had none. All else that changes is copied.
    """

    copy: ChatCopy
    columns: Columns
    vectors: Vector | None

    @property
    def nbytes(self) -> int:
        """How much memory it takes, room included."""
        copied = self.copy.alive.nbytes + self.copy.has_vector.nbytes + self.copy.previous.nbytes
        vectors = 0 if self.vectors is None else self.vectors.nbytes
        return self.columns.nbytes + vectors + copied + self.copy.words.nbytes


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """What changes in rows that are there already."""

    alive: NDArray[np.bool_]
    has_vector: NDArray[np.bool_]
    previous: NDArray[np.int32]


def first_held(chat_id: int, read: Reading) -> Held:
    """Make the copy of a chat from all that SQL has: a thread's work for a large chat."""
    count = len(read.columns)
    state = _State(np.ones(count, np.bool_), read.has_vector, np.full(count, -1, np.int32))
    turns, before = previous_turns(read.columns, state.alive)
    state.previous[turns] = before
    words = with_words(Postings(), read.columns.ids, read.words, 0)
    copy = _copy(chat_id, read, read.columns, read.vectors, state, words, rising=count)
    return Held(copy, read.columns, read.vectors)


def with_words(postings: Postings, ids: NDArray[np.int64], words: PackedPostings, start: int) -> Postings:
    """Return an index that has the words of memories whose rising `ids` get the rows from `start` on."""
    if not len(ids):
        return postings
    places, memory_ids, counts = words.unpacked()
    rows = np.minimum(np.searchsorted(ids, memory_ids), len(ids) - 1)
    known = ids[rows] == memory_ids
    return postings.with_added(
        words.words,
        places[known],
        (rows[known] + start).astype(np.int32),
        counts[known].astype(np.int32),
    )


def has_room(held: Held, news: News) -> bool:
    """Whether `with_room` has nothing to copy."""
    needed = len(held.copy) + len(news.columns)
    return needed <= len(held.columns) and (held.vectors is None or needed <= len(held.vectors))


def with_room(held: Held, news: News, limit_bytes: int) -> Held:
    """Return the same copy with room for the news, and without vectors if they outgrow the limit.

    Copies arrays that are too small, which is a thread's work for a large chat.
    """
    used = len(held.copy)
    needed = used + len(news.columns)
    vectors = held.vectors
    if vectors is not None:
        width = vectors.shape[1] or news.vectors.shape[1]
        if needed * width * vectors.itemsize > limit_bytes:
            vectors = None
        elif width > vectors.shape[1]:
            vectors = np.zeros((roomy(needed), width), np.float32)
        elif needed > len(vectors):
            vectors = enlarged(vectors, used, roomy(needed))
    return Held(held.copy, held.columns.with_room(used, needed), vectors)


def next_held(held: Held, news: News, words: Postings) -> Held:
    """Make the next copy. `held` has room for it and `words` are those before with those of the news."""
    old, start, count = held.copy, len(held.copy), len(held.copy) + len(news.columns)
    held.columns.write(start, news.columns)
    columns = held.columns.first(count)
    gone = np.flatnonzero(old.alive & np.isin(old.ids, news.changed))
    added = count - start
    state = _State(
        np.concatenate([old.alive, np.ones(added, np.bool_)]),
        np.concatenate([old.has_vector, np.zeros(added, np.bool_)]),
        np.concatenate([old.previous, np.full(added, -1, np.int32)]),
    )
    state.alive[gone] = False
    _take_vectors(held.vectors, news, columns, state)
    _find_previous(columns, state, np.concatenate([gone, np.arange(start, count)]))
    copy = _copy(old.chat_id, news, columns, held.vectors, state, words, rising=_rising(old, news.columns))
    return Held(copy, held.columns, held.vectors)


def _take_vectors(vectors: Vector | None, news: News, columns: Columns, state: _State) -> None:
    if vectors is None:
        state.has_vector[:] = False
    elif len(news.vector_ids):
        rows = np.flatnonzero(state.alive & np.isin(columns.ids, news.vector_ids))
        vectors[rows] = news.vectors[np.searchsorted(news.vector_ids, columns.ids[rows])]
        state.has_vector[rows] = True


def _find_previous(columns: Columns, state: _State, touched: NDArray[np.intp]) -> None:
    """Find the turns before those in the sessions of the rows that came or went."""
    sessions = np.unique(columns.sessions[touched][columns.types[touched] == TURN])
    if len(sessions):
        turns, before = previous_turns(columns, state.alive, sessions)
        state.previous[turns] = before


def _rising(old: ChatCopy, added: Columns) -> int:
    """How many of the first rows have rising ids; those of `added` have."""
    goes_on = old.rising == len(old) and (not old.rising or not len(added) or added.ids[0] > old.ids[-1])
    return old.rising + len(added) if goes_on else old.rising


def _copy(
    chat_id: int,
    told: Reading | News,
    columns: Columns,
    vectors: Vector | None,
    state: _State,
    words: Postings,
    *,
    rising: int,
) -> ChatCopy:
    count = len(columns)
    return ChatCopy(
        chat_id=chat_id,
        revision=told.revision,
        ids=seen(columns.ids, count),
        alive=seen(state.alive, count),
        types=seen(columns.types, count),
        origins=seen(columns.origins, count),
        speakers=seen(columns.speakers, count),
        speaker_names=told.speaker_names,
        valid_from=seen(columns.valid_from, count),
        sessions=seen(columns.sessions, count),
        importance=seen(columns.importance, count),
        lengths=seen(columns.lengths, count),
        previous=seen(state.previous, count),
        vectors=None if vectors is None else seen(vectors, count),
        has_vector=seen(state.has_vector, count),
        words=words,
        rising=rising,
        dead=count - int(state.alive.sum()),
    )
