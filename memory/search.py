"""Finding what answers a question in one chat: by meaning, by words, by what was said around it, by time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory.bm25 import Scores, around_of, word_scores
from memory.chat_columns import TYPES
from memory.chat_copy import ChatCopy
from memory.errors import EmbedderUnavailable, RerankerUnavailable
from memory.ports import Clock, Embedder, Purpose, Reranker
from memory.question import Question, understand
from memory.ranking import PLAUSIBLE, RELEVANT, Ranking, of_people, rank, score
from memory.scales import Scale, known_scale, measured_scale
from memory.selection import distinct, diverse, within
from memory.types import Hit, Link, Memory, MemoryType, Query, Vector, Where

__all__ = ["MAX_HITS", "PLAUSIBLE", "RELEVANT", "Search"]

log = logging.getLogger(__name__)

Nearest: TypeAlias = Callable[[int, Vector, Sequence[MemoryType], int], Awaitable[list[tuple[int, float]]]]
"""(chat_id, vector, types, k) to pairs of memory id and cosine, best first. Raises StorageError."""

Around: TypeAlias = Mapping[int, tuple[Sequence[Memory], Sequence[Memory]]]

NEAREST = 1_000
"""Memories asked of the index where a chat is too big for its vectors to be in memory."""

READ_BACK = 60
"""The likeliest memories, whose texts are read from SQL."""

MAX_HITS = 200

SPARE = 10
"""Hits beside twice those wanted among which diversity has a choice."""

IN_A_THREAD = 4_000
"""A chat with so many memories takes longer to weigh than the event loop should stand still."""

HOPS = 2
HOP_DAMPING = 0.5
"""What a link passes on of the score of the memory from which it is followed."""

LINKED = 0.15
"""What the best possible link is worth beside the other signs."""

_BY_WORDS = "search goes by words alone for now"
_WITHOUT_OPINION = "search goes without a second opinion for now"

RERANKED = 30
"""Texts that the cross-encoder reads: about a second of a small model's time on two cores."""

RERANK_SECONDS = 3.0
"""After so long the order of the scores is better than none; a turn waits five seconds for all of recall."""

SECOND_OPINION = 0.7
"""The share of the cross-encoder in the order: it overrules the scores, which still settle near ties."""


class Copies(Protocol):
    """What search needs of memory.chat_copies.ChatCopies."""

    async def get(self, chat_id: int) -> ChatCopy: ...


class Stored(Protocol):
    """What search needs of memory.memories.Memories."""

    async def get_active(self, chat_id: int, ids: Collection[int]) -> list[Memory]: ...

    async def linked(self, chat_id: int, ids: Collection[int]) -> list[Link]: ...

    async def neighbours(self, chat_id: int, turns: Sequence[Memory], each_side: int) -> Around: ...


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A chat with everything that is known of its rows and the question, before texts are read."""

    copy: ChatCopy
    question: Question
    scale: Scale | None
    ranking: Ranking
    allowed: NDArray[np.bool_]

    def hit(self, memory: Memory) -> Hit | None:
        row = self.copy.row_of(memory.id)
        if row is None or not self.allowed[row]:
            return None
        return Hit(memory, score(self.ranking, self.copy, row, memory, self.question, self.scale))


class Search:
    """Search within one chat. Without an embedder or an index it goes by words alone."""

    def __init__(
        self,
        copies: Copies,
        memories: Stored,
        nearest: Nearest,
        embedder: Embedder,
        clock: Clock,
        reranker: Reranker | None = None,
    ) -> None:
        self._copies = copies
        self._memories = memories
        self._nearest = nearest
        self._embedder = embedder
        self._clock = clock
        self._reranker = reranker
        self._measured: dict[str, Scale] = {}
        self._noted: set[str] = set()

    async def search(self, query: Query) -> list[Hit]:
        """Return up to `query.k` hits, at most `MAX_HITS`, best first and each read back from SQL.

        Nothing asked, a `k` below one or a window that ends before it begins find nothing.
        Raises StorageError.
        """
        if query.k < 1 or _is_empty(query.where):
            return []
        copy = await self._copies.get(query.chat_id)
        question = understand(query, copy.speaker_names, self._clock.now())
        if question.is_empty or not copy.living:
            return []
        weighed = await self._weigh(query, copy, question)
        k = min(query.k, MAX_HITS)
        hits = await self._read(query, weighed, _likeliest(weighed, max(READ_BACK, 2 * k)))
        hits = await self._followed(query, weighed, hits, k)
        hits = await self._reread(question, hits, k)
        surest = distinct(hit for hit in hits if hit.score.relevance >= query.floor)
        found = diverse(list(islice(surest, 2 * k + SPARE)), k, several=question.wants_several)
        return within(await self._surrounded(query, found), query.tokens)

    async def _weigh(self, query: Query, copy: ChatCopy, question: Question) -> _Weighed:
        scale, vector = await self._meaning(question)
        listed = await self._listed(query, copy, vector)

        def weigh() -> _Weighed:
            cosines = _cosines(copy, vector, listed)
            around = around_of(copy, of_people(copy))
            words = word_scores(copy, around, question.words, question.spelled)
            ranking = rank(copy, around, question, words, cosines, scale, self._clock.now())
            return _Weighed(copy, question, scale, ranking, _allowed(copy, query.where))

        return weigh() if len(copy.ids) < IN_A_THREAD else await asyncio.to_thread(weigh)

    async def _meaning(self, question: Question) -> tuple[Scale | None, Vector | None]:
        """The question as a vector, and what cosines with it are worth; nothing without an embedder."""
        try:
            scale = await self._scale()
            vector: Vector = (await self._embedder.embed([question.bare], Purpose.QUERY))[0]
        except EmbedderUnavailable as error:
            self._note_once(_BY_WORDS, error)
            return None, None
        self._noted.discard(_BY_WORDS)
        return scale, vector

    async def _scale(self) -> Scale:
        model_id = self._embedder.model_id
        scale = known_scale(model_id) or self._measured.get(model_id)
        if scale is None:
            scale = self._measured[model_id] = await measured_scale(self._embedder)
        return scale

    async def _listed(
        self, query: Query, copy: ChatCopy, vector: Vector | None
    ) -> list[tuple[int, float]] | None:
        """The nearest of a chat whose vectors are not in memory, by the index."""
        if vector is None or copy.vectors is not None:
            return None
        return await self._nearest(query.chat_id, vector, query.where.types, NEAREST)

    async def _read(self, query: Query, weighed: _Weighed, ids: Collection[int]) -> list[Hit]:
        """Read memories back from SQL, through the scope once more, and score them; best first."""
        memories = await self._memories.get_active(query.chat_id, ids)
        found = [weighed.hit(memory) for memory in memories if memory.chat_id == query.chat_id]
        return _by_total(hit for hit in found if hit is not None)

    async def _followed(self, query: Query, weighed: _Weighed, hits: list[Hit], k: int) -> list[Hit]:
        """Let what the best hits are linked with gain by it, one or two links away."""
        known = {hit.memory.id: hit for hit in hits}
        passed = {hit.memory.id: hit.score.relevance for hit in hits[:k]}
        frontier, linked = dict(passed), dict[int, float]()
        for _ in range(HOPS):
            links = await self._memories.linked(query.chat_id, list(frontier)) if frontier else []
            frontier = _passed_on(links, frontier, passed | linked)
            linked |= frontier
        if not linked:
            return hits
        missing = await self._read(query, weighed, [one for one in linked if one not in known])
        return _by_total(_gaining(hit, linked.get(hit.memory.id, 0.0)) for hit in (*hits, *missing))

    async def _reread(self, question: Question, hits: list[Hit], k: int) -> list[Hit]:
        """Let the cross-encoder, where there is one, read the best and put them in another order.

        Those that it does not read are left out: they would stand above what it has turned down.
        """
        if self._reranker is None or not hits:
            return hits
        top = hits[: max(RERANKED, k)]
        try:
            async with asyncio.timeout(RERANK_SECONDS):
                opinions = await self._reranker.rerank(question.bare, [hit.memory.text for hit in top])
        except (RerankerUnavailable, TimeoutError) as error:
            self._note_once(_WITHOUT_OPINION, error)
            return hits
        self._noted.discard(_WITHOUT_OPINION)
        return _by_total([_reranked(hit, float(opinion)) for hit, opinion in zip(top, opinions, strict=True)])

    async def _surrounded(self, query: Query, hits: list[Hit]) -> list[Hit]:
        """Give each turn the turns around it."""
        turns = [hit.memory for hit in hits if hit.memory.type is MemoryType.TURN]
        if query.neighbours < 1 or not turns:
            return hits
        around = await self._memories.neighbours(query.chat_id, turns, query.neighbours)
        found = {hit.memory.id for hit in hits}

        def seen(memories: Sequence[Memory]) -> tuple[Memory, ...]:
            mine = [memory for memory in memories if memory.chat_id == query.chat_id]
            return tuple(memory for memory in mine if memory.id not in found)

        return [
            replace(hit, before=seen(around[hit.memory.id][0]), after=seen(around[hit.memory.id][1]))
            if hit.memory.id in around
            else hit
            for hit in hits
        ]

    def _note_once(self, what: str, error: Exception) -> None:
        """Log it once, not at every question."""
        if what not in self._noted:
            self._noted.add(what)
            log.warning(what, extra={"error": type(error).__name__})


def _is_empty(where: Where) -> bool:
    return where.since is not None and where.until is not None and where.since >= where.until


def _allowed(copy: ChatCopy, where: Where) -> NDArray[np.bool_]:
    """The rows that the filters let through."""
    allowed = copy.alive.copy()
    if where.types:
        allowed &= np.isin(copy.types, [TYPES[kind] for kind in where.types])
    if where.speaker:
        known = where.speaker in copy.speaker_names
        allowed &= copy.speakers == (copy.speaker_names.index(where.speaker) if known else -1)
    if where.since is not None:
        allowed &= copy.valid_from >= where.since.timestamp()
    if where.until is not None:
        allowed &= copy.valid_from < where.until.timestamp()
    if where.session_id is not None:
        allowed &= copy.sessions == where.session_id
    return allowed


def _cosines(copy: ChatCopy, vector: Vector | None, listed: list[tuple[int, float]] | None) -> Scores:
    """The cosine of each row with the question, `nan` where there is none.

    What is farther away than the `listed` nearest counts as the farthest of them.
    """
    cosines = np.full(len(copy.ids), np.nan, np.float32)
    if vector is None:
        return cosines
    if listed is None:
        exact = copy.cosines(vector)
        return cosines if exact is None else np.where(copy.has_vector, exact, np.nan).astype(np.float32)
    if len(listed) >= NEAREST:
        cosines[:] = min(cosine for _, cosine in listed)
    for memory_id, cosine in listed:
        if (row := copy.row_of(memory_id)) is not None:
            cosines[row] = cosine
    return cosines


def _likeliest(weighed: _Weighed, count: int) -> list[int]:
    """The ids of the rows that are worth reading, the likeliest first."""
    rows = np.flatnonzero(weighed.allowed)
    raw = weighed.ranking.raw[rows]
    if len(rows) > count:
        best = np.argpartition(-raw, count)[:count]
        rows, raw = rows[best], raw[best]
    return [int(weighed.copy.ids[row]) for row in rows[np.argsort(-raw, kind="stable")]]


def _by_total(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score.total, -hit.memory.id))


def _passed_on(
    links: Iterable[Link], frontier: Mapping[int, float], known: Mapping[int, float]
) -> dict[int, float]:
    """What the ends of the links get from the memories at their other ends; the best of several counts."""
    gained: dict[int, float] = {}
    for link in links:
        for here, there in ((link.from_id, link.to_id), (link.to_id, link.from_id)):
            gain = HOP_DAMPING * link.weight * frontier.get(here, 0.0)
            if gain > max(gained.get(there, 0.0), known.get(there, 0.0)):
                gained[there] = gain
    return gained


def _gaining(hit: Hit, linked: float) -> Hit:
    if not linked:
        return hit
    total = min(1.0, hit.score.total + LINKED * linked)
    relevance = max(hit.score.relevance, linked)
    return replace(hit, score=replace(hit.score, total=total, relevance=relevance, linked=linked))


def _reranked(hit: Hit, opinion: float) -> Hit:
    total = (1 - SECOND_OPINION) * hit.score.total + SECOND_OPINION * opinion
    return replace(hit, score=replace(hit.score, total=total, reranked=opinion))
