"""Finding what answers a question in one chat, by meaning and by words."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from memory.errors import EmbedderUnavailable, IndexUnavailable
from memory.ports import Clock, Embedder, Purpose
from memory.question import bare_question
from memory.relevance import PLAUSIBLE, RELEVANT, Asking, coverages
from memory.scales import Scale, known_scale, measured_scale
from memory.text import fold, language_of, stems
from memory.types import Hit, Memory, MemoryType, Query, Vector, Where, WordMatch

__all__ = ["MAX_HITS", "PLAUSIBLE", "RELEVANT", "Search"]

log = logging.getLogger(__name__)

Nearest: TypeAlias = Callable[[int, Vector, Sequence[MemoryType], int], Awaitable[list[tuple[int, float]]]]
"""(chat_id, vector, types, k) to pairs of memory id and cosine, best first. Raises IndexUnavailable."""

POOL = 200
"""Candidates from each side."""

NARROWED_POOL = 1_000
"""Candidates by meaning where speaker, time or session are asked for, which the index does not know."""

READ_BACK = 60
"""Candidates that are read from SQL."""

MAX_HITS = 200
MAX_WORDS = 300

_NEGATION = re.compile(r"(?:не|ни|нет|без|no|not|never|none|without|cannot|\w*n['’]t)")
_WRITTEN = re.compile(r"\w+(?:['’]\w+)?")


class Stored(Protocol):
    """What search needs of memory.memories.Memories."""

    async def get_active(self, chat_id: int, ids: Collection[int]) -> list[Memory]: ...

    async def word_matches(
        self, chat_id: int, words: Sequence[str], where: Where = ..., limit: int = ...
    ) -> list[WordMatch]: ...


@dataclass(frozen=True, slots=True)
class _Near:
    """The nearest memories by meaning; `complete` says that no other memory of the chat has a vector."""

    scale: Scale
    cosines: Mapping[int, float]
    complete: bool

    def cosine(self, memory_id: int) -> float | None:
        """``None`` without a vector; for what is farther than the nearest, the most that it can be."""
        if memory_id in self.cosines or self.complete:
            return self.cosines.get(memory_id)
        return min(self.cosines.values())


class Search:
    """Search within one chat. Without an embedder or an index it goes by words alone."""

    def __init__(self, memories: Stored, nearest: Nearest, embedder: Embedder, clock: Clock) -> None:
        self._memories = memories
        self._nearest = nearest
        self._embedder = embedder
        self._clock = clock
        self._measured: dict[str, Scale] = {}
        self._by_words_alone = False

    async def search(self, query: Query) -> list[Hit]:
        """Return up to `query.k` hits, at most `MAX_HITS`, best first and each read back from SQL.

        Nothing asked, a `k` below one or a window that ends before it begins find nothing.
        """
        question = bare_question(query.text, query.where.speaker)
        if query.k < 1 or _is_empty(query.where) or not any(map(str.isalnum, question)):
            return []
        words = list(dict.fromkeys(stems(question)))[:MAX_WORDS]
        near, matches = await asyncio.gather(
            self._near(query, question),
            self._memories.word_matches(query.chat_id, words, query.where, POOL),
        )
        hits = await self._weigh(query, language_of(question), near, matches)
        return _best(hits, query.floor, min(query.k, MAX_HITS))

    async def _near(self, query: Query, question: str) -> _Near | None:
        """The nearest memories, or ``None`` while there is no embedder or no index."""
        k = NARROWED_POOL if _is_narrowed(query.where) else POOL
        try:
            scale = await self._scale()
            vector = (await self._embedder.embed([question], Purpose.QUERY))[0]
            pairs = await self._nearest(query.chat_id, vector, query.where.types, k)
        except (EmbedderUnavailable, IndexUnavailable) as error:
            self._note_words_alone(type(error).__name__)
            return None
        self._by_words_alone = False
        return _Near(scale, dict(pairs), complete=len(pairs) < k)

    def _note_words_alone(self, error: str) -> None:
        """Log it once, not at every question."""
        if not self._by_words_alone:
            log.warning("search goes by words alone for now", extra={"error": error})
        self._by_words_alone = True

    async def _scale(self) -> Scale:
        model_id = self._embedder.model_id
        scale = known_scale(model_id) or self._measured.get(model_id)
        if scale is None:
            scale = self._measured[model_id] = await measured_scale(self._embedder)
        return scale

    async def _weigh(
        self, query: Query, language: str, near: _Near | None, matches: Sequence[WordMatch]
    ) -> list[Hit]:
        """Read the likeliest candidates back, through scope and filters once more, and score them."""
        by_words = {match.memory_id for match in matches}
        ids = by_words.union(near.cosines) if near else by_words
        cosines = {one: near.cosine(one) if near else None for one in ids}
        covered = dict.fromkeys(ids, 0.0) | coverages(matches, among=len(ids))
        asking = Asking(near.scale if near else None, language, len(ids), self._clock.now())
        likely = sorted(ids, key=lambda one: (-asking.guess(cosines[one], covered[one]), -one))
        if not _is_narrowed(query.where):
            likely = likely[: max(READ_BACK, 2 * min(query.k, MAX_HITS))]
        memories = await self._memories.get_active(query.chat_id, likely)
        return [
            Hit(memory, asking.score(memory, cosines[memory.id], covered[memory.id]))
            for memory in memories
            if memory.chat_id == query.chat_id and _fits(memory, query.where)
        ]


def _is_empty(where: Where) -> bool:
    return where.since is not None and where.until is not None and where.since >= where.until


def _is_narrowed(where: Where) -> bool:
    """Whether the filters say more than the index knows."""
    return bool(where.speaker or where.since or where.until or where.session_id is not None)


def _fits(memory: Memory, where: Where) -> bool:
    return (
        (not where.types or memory.type in where.types)
        and (not where.speaker or memory.speaker == where.speaker)
        and (where.since is None or memory.valid_from >= where.since)
        and (where.until is None or memory.valid_from < where.until)
        and (where.session_id is None or memory.session_id == where.session_id)
    )


def _best(hits: Iterable[Hit], floor: float, k: int) -> list[Hit]:
    """The `k` best of what reaches the floor, each wording once."""
    ranked = sorted(hits, key=lambda hit: -hit.score.total)
    found: list[Hit] = []
    for hit in _distinct(hit for hit in ranked if hit.score.total >= floor):
        found.append(hit)
        if len(found) == k:
            break
    return found


def _distinct(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Leave out what says the same as a better hit: the same stems in other forms or another order.

    Negations must agree and half of the words as they are written, so that "I love Masha" and
    "Masha loves me" both stay.
    """
    known: dict[frozenset[str], list[frozenset[str]]] = {}
    for hit in hits:
        folded = fold(hit.memory.text)
        written = frozenset(_WRITTEN.findall(folded) or [folded])
        same = known.setdefault(frozenset(stems(folded)), [])
        if not any(_alike(written, other) for other in same):
            same.append(written)
            yield hit


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    if any(map(_NEGATION.fullmatch, one ^ other)):
        return False
    return 2 * len(one & other) >= len(one | other)
