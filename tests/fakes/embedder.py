"""An embedder without a model: texts that share words or pieces of them are similar, always alike."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from memory.errors import EmbedderUnavailable
from memory.ports import Purpose
from memory.text import fold, stems
from memory.types import Vector


class HashEmbedder:
    """The `Embedder` of tests. `texts` keeps what it was asked for; with `failing` it has no model."""

    def __init__(self, model_id: str = "hash-1", dimensions: int = 128) -> None:
        self.model_id = model_id
        self.dimensions = dimensions
        self.texts: list[str] = []
        self.failing = False
        self.hits = self.misses = 0

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        if self.failing:
            raise EmbedderUnavailable("The embedding model is away; try again later.")
        self.texts += texts
        rows = [self._row(text) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.dimensions), np.float32)

    async def close(self) -> None:
        """There is nothing to close."""

    def _row(self, text: str) -> Vector:
        row = np.zeros(self.dimensions, np.float32)
        row[0] = 0.01  # a text without words has a vector as well
        for feature, weight in _features(text):
            code = zlib.crc32(f"{self.model_id} {feature}".encode())
            row[code % self.dimensions] += weight if code & 0x8000_0000 else -weight
        length = np.linalg.norm(row)
        normal: Vector = row / length if length else row
        return normal


def _features(text: str) -> Iterator[tuple[str, float]]:
    for stem in stems(text):
        yield stem, 1.0
    letters = fold(text)
    for start in range(len(letters) - 2):
        yield f"#{letters[start : start + 3]}", 0.2
