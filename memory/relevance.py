"""How much speaks for a memory: its meaning, its words, its age and its weight, as one number in 0..1."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.scales import Scale
from memory.text import language_of
from memory.types import Memory, MemoryType, Score, WordMatch

RELEVANT = 0.2
"""The floor for what is recalled in every turn without being asked for; see benchmarks/floor.py."""

PLAUSIBLE = 0.08
"""The floor for a search that somebody asked for: nearly every right memory is above it, and much else."""

MEANING = 0.6
WORDS = 0.4
"""Shares of the two sides. On LoCoMo this sum of absolute values beats the same sum of values that are scaled
to the best candidate, and unlike that one it says how good the best candidate is.
"""

RECENCY = 0.04
IMPORTANCE = 0.04
"""What the newest or weightiest is worth more than the oldest or lightest: enough to settle near ties."""

HALF_LIFE = {
    MemoryType.FACT: timedelta(days=365),
    MemoryType.PREFERENCE: timedelta(days=365),
    MemoryType.CONTEXT: timedelta(days=14),
    MemoryType.KNOWLEDGE: timedelta(days=3650),
    MemoryType.SUMMARY: timedelta(days=90),
    MemoryType.INSIGHT: timedelta(days=365),
    MemoryType.TURN: timedelta(days=365),
}

_UNSEEN = 10
"""Memories that a chat is taken to have besides its own: a word in the only one is not a common word."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What the candidates of one question are weighed with; without `scale` only words count."""

    scale: Scale | None
    language: str
    among: int
    now: datetime

    def guess(self, cosine: float | None, coverage: float) -> float:
        """Return what speaks for a candidate before its memory has been read."""
        return self._relevance(cosine, coverage, self.language)

    def score(self, memory: Memory, cosine: float | None, coverage: float) -> Score:
        """Return the score of a memory. `cosine` is ``None`` where it has no vector."""
        recency = _recency(memory, self.now)
        total = (
            self._relevance(cosine, coverage, language_of(memory.text))
            + RECENCY * (recency - 0.5)
            + IMPORTANCE * (memory.importance - 0.5)
        )
        return Score(
            total=min(1.0, max(0.0, total)),
            cosine=min(1.0, max(0.0, cosine or 0.0)),
            words=coverage,
            recency=recency,
            importance=memory.importance,
        )

    def _relevance(self, cosine: float | None, coverage: float, memory_language: str) -> float:
        if self.scale is None or cosine is None:
            return coverage
        worth = self.scale.worth(cosine, self.language, memory_language, self.among)
        return MEANING * worth + WORDS * coverage


def coverages(matches: Sequence[WordMatch], among: int) -> dict[int, float]:
    """Return for each match the share of the question's words that it has, rare ones counting for more.

    A word weighs its idf, ln(1 + (N - n + .5) / (n + .5)), as in BM25; one that no memory has weighs most.
    """
    seen = Counter(word for match in matches for word in match.matched)
    size = max(among, len(matches)) + _UNSEEN
    weight = {word: _idf(size, count) for word, count in seen.items()}
    asked = max((match.total for match in matches), default=0)
    whole = sum(weight.values()) + (asked - len(seen)) * _idf(size, 0)
    return {match.memory_id: sum(weight[word] for word in match.matched) / whole for match in matches}


def _idf(size: int, count: int) -> float:
    return math.log(1 + (size - count + 0.5) / (count + 0.5))


def _recency(memory: Memory, now: datetime) -> float:
    """1 for what holds since now, a half after the half-life of the memory's type."""
    age = max(now - memory.valid_from, timedelta())
    recency: float = 0.5 ** (age / HALF_LIFE[memory.type])
    return recency
