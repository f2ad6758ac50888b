"""What the tests of warm copies share: making them, and telling what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memory.chat_copies import ChatCopies
from memory.chat_copy import ChatCopy
from memory.database import Database
from memory.memories import Memories
from memory.text import stems
from memory.types import Memory, MemoryType, Origin, StoredVector, Vector
from memory.vector_rows import VectorRows
from tests.contracts.chats import CHAT, fact

MODEL = "model-1"
DIMENSIONS = 4
PLENTY = 1 << 30


def fresh(database: Database, limit_bytes: int = PLENTY) -> ChatCopies:
    return ChatCopies(database, lambda: MODEL, limit_bytes=limit_bytes)


def vector(seed: int) -> Vector:
    made: Vector = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    return made


async def add(
    memories: Memories, text: str, chat_id: int = CHAT, seed: int | None = None, **more: Any
) -> Memory:
    stored = None if seed is None else StoredVector(MODEL, vector(seed))
    return (await memories.add(fact(text, chat_id=chat_id, **more), stored)).memory


async def embed(database: Database, memory: Memory, seed: int, model: str = MODEL) -> None:
    """Store a vector later than its memory, which gets no new revision by that."""
    await VectorRows(database).store(model, {memory.id: (memory.chat_id, vector(seed))})


def ids_of(copy: ChatCopy, rows: Sequence[int] | np.ndarray[Any, Any]) -> list[int]:
    return [int(copy.ids[row]) for row in rows]


def found(copy: ChatCopy, word: str) -> list[int]:
    [stem] = stems(word)
    return ids_of(copy, copy.postings(stem)[0])


def content(copy: ChatCopy) -> dict[int, tuple[Any, ...]]:
    """What a copy says of each living memory, independent of the order of its rows."""
    words: dict[int, dict[str, int]] = {}
    for word in copy.with_prefix("", 1_000_000):
        for row, count in zip(*copy.postings(word), strict=True):
            words.setdefault(int(row), {})[word] = int(count)
    said: dict[int, tuple[Any, ...]] = {}
    for row in map(int, np.flatnonzero(copy.alive)):
        before = int(copy.previous[row])
        assert before == -1 or copy.alive[before]
        embedded = copy.vectors is not None and bool(copy.has_vector[row])
        memory_id = int(copy.ids[row])
        assert memory_id not in said
        assert copy.row_of(memory_id) == row
        said[memory_id] = (
            tuple(MemoryType)[copy.types[row]],
            tuple(Origin)[copy.origins[row]],
            copy.speaker_names[copy.speakers[row]],
            float(copy.valid_from[row]),
            int(copy.sessions[row]),
            float(copy.importance[row]),
            int(copy.lengths[row]),
            int(copy.ids[before]) if before >= 0 else None,
            copy.vectors[row].tobytes() if copy.vectors is not None and embedded else None,
            words.get(row, {}),
        )
    assert words.keys() <= set(map(int, np.flatnonzero(copy.alive)))
    return said
