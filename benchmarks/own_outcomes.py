"""What the questions of the own set brought."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from memory.ranking import RELEVANT

K = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a question brought: ranks of its gold facts (from 0), and the relevance of what was found.

    `relevance` is that of the best gold fact, for an unanswerable question that of the best of all.
    """

    id: str
    split: str
    kind: str
    direction: str
    ranks: tuple[int, ...]
    gold: int
    relevance: float

    @property
    def answerable(self) -> bool:
        return self.gold > 0

    @property
    def recall(self) -> float:
        return sum(rank < K for rank in self.ranks) / self.gold

    @property
    def first(self) -> float:
        return float(0 in self.ranks)


def balanced(outcomes: Iterable[Outcome], floor: float = RELEVANT) -> tuple[float, float]:
    """The share of answerable questions whose fact reaches the floor, and of the others that stay silent."""
    some = list(outcomes)
    kept = [one.relevance >= floor for one in some if one.answerable]
    silent = [one.relevance < floor for one in some if not one.answerable]
    return float(np.mean(kept)), float(np.mean(silent))
