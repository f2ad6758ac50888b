"""Filling a database with big chats soon: sentences in the words of the own set, and random vectors."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from benchmarks.own_set import load
from benchmarks.own_values import LANGUAGES, OwnSet
from memory.database import Database
from memory.rows import insert_rows, vector_row, writing
from memory.tables import sessions, vectors
from memory.types import MemoryType, Origin, SessionState, Status, StoredVector

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

SESSION = 20
"""What comes from one conversation: the first two are facts, the others what was said, word for word."""

FACTS = 2
WORDS = (8, 20)
"""The fewest and the most words of a sentence."""

TOGETHER = 2_000
"""Memories that are written in one transaction."""

_BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


class Sentences:
    """Makes sentences that mean nothing, of real words, each as often as Zipf's law has it (Zipf, 1949)."""

    def __init__(self, own: OwnSet, seed: int = 1) -> None:
        self._luck = np.random.default_rng(seed)
        self._words = {language: _by_frequency(own, language) for language in LANGUAGES}

    def make(self, count: int) -> list[str]:
        """Return so many, Russian and English ones in turn."""
        return [self._one(LANGUAGES[number % len(LANGUAGES)]) for number in range(count)]

    def _one(self, language: str) -> str:
        words, chances = self._words[language]
        length = int(self._luck.integers(*WORDS, endpoint=True))
        told = " ".join(words[place] for place in np.searchsorted(chances, self._luck.random(length)))
        return told[0].upper() + told[1:] + "."


def questions(own: OwnSet, seed: int = 1) -> list[str]:
    """Return the questions of the own set in both languages, none twice, in an order by luck."""
    said = [*(one.text for one in own.questions), *(one.text for one in own.unanswerable)]
    distinct = list(dict.fromkeys(text[language] for text in said for language in LANGUAGES))
    random.Random(seed).shuffle(distinct)
    return distinct


async def fill(
    database: Database,
    chats: Mapping[int, int],
    *,
    model_id: str,
    dimensions: int,
    progress: Callable[[int], None] = lambda _done: None,
) -> None:
    """Write so many memories into each chat, by its id. `progress` gets how many there are by now."""
    own = load()
    sentences = Sentences(own, seed=min(chats))
    speakers = sorted({fact.speaker["en"] for fact in own.facts.values()})
    done = 0
    for batch in _batches(chats):
        async with writing(database) as conn:
            for chat_id, begin, count in batch:
                rows = await _insert(conn, chat_id, begin, sentences.make(count), speakers)
                await _insert_vectors(conn, chat_id, [row.id for row in rows], model_id, dimensions)
                done += count
        progress(done)


def _by_frequency(own: OwnSet, language: str) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
    """The words, the most frequent first, and how likely it is that one of those up to each is meant."""
    counted = Counter(
        word for fact in own.facts.values() for word in fact.text[language].lower().strip(".").split()
    )
    words = [word for word, _ in counted.most_common()]
    chances = 1 / np.arange(1, len(words) + 1)
    return words, np.cumsum(chances) / chances.sum()


def _batches(chats: Mapping[int, int]) -> Iterable[list[tuple[int, int, int]]]:
    """What one transaction writes: chats, each with the number of its first memory and how many there are."""
    sessions_of = (
        (chat_id, begin, min(SESSION, size - begin))
        for chat_id, size in chats.items()
        for begin in range(0, size, SESSION)
    )
    while batch := list(islice(sessions_of, TOGETHER // SESSION)):
        yield batch


async def _insert(
    conn: AsyncConnection, chat_id: int, begin: int, texts: Sequence[str], speakers: Sequence[str]
) -> list[sa.Row[Any]]:
    """Insert what comes from one conversation, as the program itself does it."""
    said_at = _BEGIN + timedelta(hours=begin / SESSION)
    session = {"chat_id": chat_id, "state": SessionState.INDEXED, "started_at": said_at, "last_at": said_at}
    added = await conn.execute(sa.insert(sessions).values(session).returning(sessions.c.id))
    session_id = added.scalar_one()
    values = [
        {
            "type": MemoryType.FACT if number < FACTS else MemoryType.TURN,
            "text": text,
            "origin": Origin.PERSON,
            "status": Status.ACTIVE,
            "speaker": speakers[number % len(speakers)],
            "session_id": session_id,
            "document": "",
            "original": "",
            "importance": 0.5,
            "learned_at": said_at,
            "valid_from": said_at + timedelta(minutes=number),
            "valid_until": None,
        }
        for number, text in enumerate(texts)
    ]
    return await insert_rows(conn, chat_id, values)


async def _insert_vectors(
    conn: AsyncConnection, chat_id: int, ids: Sequence[int], model_id: str, dimensions: int
) -> None:
    made = np.random.default_rng(ids[0]).standard_normal((len(ids), dimensions), np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    rows = [
        vector_row(chat_id, memory_id, StoredVector(model_id, vector))
        for memory_id, vector in zip(ids, made, strict=True)
    ]
    await conn.execute(sa.insert(vectors), rows)
