"""What memory needs from outside: embeddings, a vector index, a second opinion and the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory.types import MemoryType, Vector


class Purpose(StrEnum):
    """What a text is embedded for; some models want different prompts."""

    QUERY = "query"
    PASSAGE = "passage"


class Embedder(Protocol):
    """Turns texts into vectors of one model."""

    @property
    def model_id(self) -> str:
        """Identity of model, prompts and post-processing; vectors of two identities are never compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        """Return L2-normalised vectors, shape (len(texts), dimensions), float32, in the order of `texts`.

        Raises EmbedderUnavailable.
        """
        ...


class Reranker(Protocol):
    """A second opinion: reads the question together with each text, which is slower than comparing vectors
    and tells better whether the one answers the other.
    """

    @property
    def model_id(self) -> str:
        """Identity of the model; scores of two identities are never compared."""
        ...

    async def rerank(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how well each text answers the question, 0..1, shape (len(texts),), in the order of `texts`.

        Raises RerankerUnavailable.
        """
        ...


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What the index keeps of a memory: no text, only where it belongs."""

    memory_id: int
    chat_id: int
    type: MemoryType
    vector: Vector


class VectorIndex(Protocol):
    """Nearest neighbours within one chat. It may lag behind SQL and may be lost at any time."""

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        """Add or replace entries. Raises IndexUnavailable."""
        ...

    async def delete(self, memory_ids: Sequence[int]) -> None:
        """Remove entries; unknown ids are ignored. Raises IndexUnavailable."""
        ...

    async def nearest(
        self, chat_id: int, vector: Vector, types: Sequence[MemoryType], k: int
    ) -> list[tuple[int, float]]:
        """Return up to `k` pairs of memory id and cosine (-1..1), best first; no `types` means all.

        Raises IndexUnavailable.
        """
        ...

    async def ids(self) -> set[int]:
        """Return every memory id in the index. Raises IndexUnavailable."""
        ...


class Clock(Protocol):
    """The time, so that tests can stop it."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...


class RealClock:
    """The time of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)
