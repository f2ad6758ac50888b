"""What the calls to models cost, per chat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from memory.tables import usage

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from memory.database import Database


@dataclass(frozen=True, slots=True)
class Usage:
    """One call to a model. `input_tokens` leaves out what was read from or written to the cache."""

    model: str
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    purpose: str = "chat"


@dataclass(frozen=True, slots=True)
class Totals:
    """The sum of many calls."""

    calls: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: float

    @property
    def cached_share(self) -> float:
        """The part of everything sent, in 0..1, that was read from the cache."""
        sent = self.input_tokens + self.cache_read_tokens + self.cache_write_tokens
        return self.cache_read_tokens / sent if sent else 0.0


class UsageLog:
    """The account of every call, kept beside the turn that it was made for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(self, chat_id: int, at: datetime, rows: Sequence[Usage]) -> None:
        """Store calls that belong to no turn, such as those of background work."""
        async with self._database.write() as conn:
            await record_usage(conn, chat_id, at, rows)

    async def totals(self, chat_id: int | None, since: datetime | None = None) -> Totals:
        """Sum up one chat, or with ``None`` all of them, from `since` (inclusive) on."""
        columns = [sa.func.coalesce(sa.func.sum(usage.c[name]), 0) for name in _SUMMED]
        query = sa.select(sa.func.count(), *columns).select_from(usage)
        if chat_id is not None:
            query = query.where(usage.c.chat_id == chat_id)
        if since is not None:
            query = query.where(usage.c.at >= since)
        async with self._database.read() as conn:
            calls, *sums = (await conn.execute(query)).one()
        return Totals(calls=calls, **dict(zip(_SUMMED, sums, strict=True)))


_SUMMED = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "cost_usd")


async def record_usage(conn: AsyncConnection, chat_id: int, at: datetime, rows: Sequence[Usage]) -> None:
    """Store calls inside a transaction that the caller has open."""
    if rows:
        await conn.execute(sa.insert(usage), [_values(chat_id, at, row) for row in rows])


def _values(chat_id: int, at: datetime, row: Usage) -> dict[str, object]:
    return {
        "chat_id": chat_id,
        "at": at,
        "model": row.model,
        "purpose": row.purpose,
        "input_tokens": row.input_tokens,
        "cache_read_tokens": row.cache_read_tokens,
        "cache_write_tokens": row.cache_write_tokens,
        "output_tokens": row.output_tokens,
        "cost_usd": row.cost_usd,
    }
