"""Which memories a person means by some words: by what the words mean, or as they stand between quotes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from memory.rows import listed
from memory.tables import memories, words
from memory.text import clean, fold, stems

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

MAX_STEMS = 5_000
"""More than the stems of the longest memory, and what one statement may ask for in any database."""

_QUOTES = ('""', "«»", "“”", "„“", "„”")


async def matching_ids(conn: AsyncConnection, chat_id: int, text: str) -> list[int]:
    """Return the ids of the active memories that `text` means; what was only said is none.

    They have all its stems, in any order and form: "собака" means "мою собаку зовут Бублик". Between quotes,
    or without a single stem, the text must stand in them word for word, its case aside.
    """
    verbatim, asked = _unquoted(text), frozenset(stems(text))
    if len(asked) > MAX_STEMS:
        return []
    if verbatim is None and asked:
        return await _with_stems(conn, chat_id, asked)
    pattern = _whole_words(text if verbatim is None else verbatim)
    return await _with_pattern(conn, chat_id, pattern) if pattern else []


def _unquoted(text: str) -> str | None:
    """What stands between the quotes around the whole text, None where there are none."""
    bare = clean(text)
    quoted = len(bare) > 1 and bare[0] + bare[-1] in _QUOTES
    return bare[1:-1] if quoted else None


async def _with_stems(conn: AsyncConnection, chat_id: int, asked: Collection[str]) -> list[int]:
    """The texts are looked up in the index of words; the few original words beside them are read."""
    found = (
        sa.select(words.c.memory_id)
        .where(words.c.chat_id == chat_id, words.c.word.in_(asked))
        .group_by(words.c.memory_id)
        .having(sa.func.count() == len(asked))
    )
    known = sa.select(memories.c.id).where(*listed(chat_id), memories.c.id.in_(found))
    ids = set((await conn.execute(known)).scalars())
    reworded = await _read(conn, chat_id, memories.c.original != "", memories.c.original != memories.c.text)
    return sorted(ids | await asyncio.to_thread(_having, asked, reworded))


def _having(asked: Collection[str], rows: Sequence[Any]) -> set[int]:
    return {row.id for row in rows if {*stems(row.text), *stems(row.original)}.issuperset(asked)}


async def _with_pattern(conn: AsyncConnection, chat_id: int, pattern: re.Pattern[str]) -> list[int]:
    rows = await _read(conn, chat_id)
    return await asyncio.to_thread(_fitting, pattern, rows)


def _fitting(pattern: re.Pattern[str], rows: Sequence[Any]) -> list[int]:
    return [row.id for row in rows if pattern.search(fold(row.text)) or pattern.search(fold(row.original))]


async def _read(conn: AsyncConnection, chat_id: int, *more: sa.ColumnElement[bool]) -> Sequence[Any]:
    query = sa.select(memories.c.id, memories.c.text, memories.c.original)
    return (await conn.execute(query.where(*listed(chat_id), *more))).all()


def _whole_words(text: str) -> re.Pattern[str] | None:
    """Fits the folded text where no word goes on at either end of it."""
    wanted = fold(text)
    before = r"\b" if re.match(r"\w", wanted) else ""
    after = r"\b" if re.search(r"\w\Z", wanted) else ""
    return re.compile(before + re.escape(wanted) + after) if wanted else None
