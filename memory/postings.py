"""An inverted index in memory that never changes: which rows have a word, and how often."""

from __future__ import annotations

import heapq
import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int32]
Places = NDArray[np.int64]

_STEP = 4
"""A segment is more than this many times as large as the next, so that there are few of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """The postings of some rows. Those of the word at a place lie from its start to the next one."""

    words: tuple[str, ...]  # rising
    starts: NDArray[np.int64]  # (len(words) + 1,)
    rows: Rows  # rising for each word
    counts: Rows
    nbytes: int

    def find(self, word: str) -> slice | None:
        """Return where the postings of the word lie."""
        place = bisect_left(self.words, word)
        if place == len(self.words) or self.words[place] != word:
            return None
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def beginning(self, prefix: str) -> Iterator[str]:
        """Yield the words that begin so, rising."""
        places = range(bisect_left(self.words, prefix), len(self.words))
        return takewhile(lambda word: word.startswith(prefix), (self.words[place] for place in places))


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """An index in segments, the largest and oldest first; adding to it makes another one that shares them."""

    segments: tuple[Segment, ...] = ()

    @property
    def nbytes(self) -> int:
        return sum(segment.nbytes for segment in self.segments)

    def find(self, word: str) -> tuple[Rows, Rows]:
        """Return the rows that have the word, rising, and how often each has it."""
        found = [(each, place) for each in self.segments if (place := each.find(word))]
        if len(found) == 1:
            [(segment, place)] = found
            return segment.rows[place], segment.counts[place]
        empty = np.empty(0, np.int32)
        return (
            np.concatenate([empty, *(segment.rows[place] for segment, place in found)]),
            np.concatenate([empty, *(segment.counts[place] for segment, place in found)]),
        )

    def beginning(self, prefix: str) -> Iterator[str]:
        """Yield the words that begin so, rising, each once."""
        last = None
        for word in heapq.merge(*(segment.beginning(prefix) for segment in self.segments)):
            if word != last:
                yield word
            last = word

    def with_added(self, words: Sequence[str], places: Places, rows: Rows, counts: Rows) -> Postings:
        """Return an index that has more postings; their rows must come after all that it has.

        `words` are distinct; each posting has the place of its word among them, its row and its count.
        """
        if not words:
            return self
        added = _segment(words, places, rows, counts)
        kept = list(self.segments)
        while kept and len(kept[-1].rows) <= _STEP * len(added.rows):
            added = _merged(kept.pop(), added)
        return Postings((*kept, added))

    def work_to_add(self, count: int) -> int:
        """Return how many postings `with_added` goes through for `count` new ones."""
        for segment in reversed(self.segments):
            if len(segment.rows) > _STEP * count:
                break
            count += len(segment.rows)
        return count


def _segment(words: Sequence[str], places: Places, rows: Rows, counts: Rows) -> Segment:
    ordered = sorted(words)
    if ordered != words:
        rank = {word: place for place, word in enumerate(ordered)}
        places = np.array([rank[word] for word in words], np.int64)[places]
    key = places << 32 | rows
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")
        places, rows, counts = places[order], rows[order], counts[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=len(ordered)))])
    for array in (starts, rows, counts):
        array.flags.writeable = False
    # Each word has a place in the tuple beside its own object.
    text = sum(map(sys.getsizeof, ordered)) + 8 * len(ordered)
    nbytes = text + starts.nbytes + rows.nbytes + counts.nbytes
    return Segment(tuple(ordered), starts, rows, counts, nbytes)


def _merged(older: Segment, newer: Segment) -> Segment:
    """Join two segments; sorting what consists of two sorted runs takes linear time."""
    words = list(dict.fromkeys(sorted(older.words + newer.words)))
    rank = {word: place for place, word in enumerate(words)}
    places = [
        np.repeat(np.array([rank[word] for word in each.words], np.int64), np.diff(each.starts))
        for each in (older, newer)
    ]
    return _segment(
        words,
        np.concatenate(places),
        np.concatenate([older.rows, newer.rows]),
        np.concatenate([older.counts, newer.counts]),
    )
