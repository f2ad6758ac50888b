"""The inverted index: which stems each active memory has, and BM25 over them within one chat."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from memory.database import plan_for_many
from memory.tables import memories, words
from memory.text import stems
from memory.types import Status, WordMatch

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

K1 = 1.2
B = 0.75
MAX_ASKED = 60
"""Words of one question that are looked up, the rarest first; they are the bits of one 64-bit number."""


async def count_words(texts: Sequence[str]) -> list[Counter[str]]:
    """Return the stems of each text with their counts; many texts are counted in a thread."""
    return _count(texts) if len(texts) == 1 else await asyncio.to_thread(_count, texts)


async def add_words(conn: AsyncConnection, chat_id: int, found: Mapping[int, Counter[str]]) -> None:
    """Index memories that have become active, by id; their `word_count` is stored with them."""
    rows = [
        {
            "chat_id": chat_id,
            "memory_id": memory_id,
            "word": word,
            "count": count,
            "length": counts.total(),
        }
        for memory_id, counts in found.items()
        for word, count in counts.items()
    ]
    if rows:
        await conn.execute(sa.insert(words), rows)


async def remove_words(conn: AsyncConnection, chat_id: int, ids: Collection[int]) -> None:
    """Take memories out of the index."""
    gone = sa.delete(words).where(
        words.c.chat_id == chat_id, words.c.memory_id == sa.bindparam("the_id", type_=sa.BigInteger)
    )
    await conn.execute(gone, [{"the_id": memory_id} for memory_id in ids])


async def match_words(
    conn: AsyncConnection,
    chat_id: int,
    asked: Sequence[str],
    among: sa.Select[tuple[int]] | None,
    limit: int,
) -> list[WordMatch]:
    """Return the active memories of a chat that share stems with `asked`, best first by BM25.

    BM25 as in Robertson and Zaragoza (2009), with the idf of Lucene, ln(1 + (N - n + .5) / (n + .5)), which
    is never negative. N, n and the mean length are those of the chat; `among`, a query for ids, only narrows
    the result.
    """
    distinct = list(dict.fromkeys(asked))
    total, mean_length = await _size(conn, chat_id)
    frequency = await _frequency(conn, chat_id, distinct)
    rarity = {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in frequency.items()}
    if not rarity:
        return []
    looked_up = sorted(rarity, key=lambda word: (-rarity[word], word))[:MAX_ASKED]
    query = _scores(chat_id, {word: rarity[word] for word in looked_up}, mean_length)
    if among is not None:
        query = await _narrowed(conn, query, among)
    rows = await conn.execute(query.limit(limit))
    return [
        WordMatch(
            memory_id=row.memory_id,
            score=float(row.score),
            matched=frozenset(word for bit, word in enumerate(looked_up) if int(row.matched) >> bit & 1),
            total=len(distinct),
        )
        for row in rows
    ]


async def _size(conn: AsyncConnection, chat_id: int) -> tuple[int, float]:
    """How many memories the chat has, and how many words the mean one."""
    query = sa.select(sa.func.count(), sa.func.avg(memories.c.word_count)).where(*_active(chat_id))
    total, mean = (await conn.execute(query)).one()
    return total, float(mean or 1)


async def _frequency(conn: AsyncConnection, chat_id: int, asked: Sequence[str]) -> dict[str, int]:
    """In how many memories each word is, for those that the chat knows."""
    query = sa.select(words.c.word, sa.func.count()).where(
        words.c.chat_id == chat_id, words.c.word.in_(asked)
    )
    rows = await conn.execute(query.group_by(words.c.word))
    return {row.word: row[1] for row in rows}


def _count(texts: Sequence[str]) -> list[Counter[str]]:
    return [Counter(stems(text)) for text in texts]


def _active(chat_id: int) -> tuple[sa.ColumnElement[bool], ...]:
    return memories.c.chat_id == chat_id, memories.c.status == Status.ACTIVE


async def _narrowed(
    conn: AsyncConnection, query: sa.Select[Any], among: sa.Select[tuple[int]]
) -> sa.Select[Any]:
    await plan_for_many(conn)
    # The + 0 keeps SQLite from probing its index for each word with each id.
    return query.where((words.c.memory_id + 0).in_(among))


def _scores(chat_id: int, rarity: dict[str, float], mean_length: float) -> sa.Select[Any]:
    """One row for each memory that has one of the words: its score and the words it has, as bits."""
    weight = sa.case(rarity, value=words.c.word)
    bits = {word: sa.literal(1 << place, sa.BigInteger) for place, word in enumerate(rarity)}
    length = K1 * (1 - B) + K1 * B / mean_length * words.c.length
    score = sa.func.sum(weight * words.c.count * (K1 + 1) / (words.c.count + length))
    return (
        sa.select(
            words.c.memory_id,
            score.label("score"),
            sa.func.sum(sa.case(bits, value=words.c.word)).label("matched"),
        )
        .where(words.c.chat_id == chat_id, words.c.word.in_(list(rarity)))
        .group_by(words.c.memory_id)
        .order_by(sa.desc("score"), words.c.memory_id.desc())
    )
