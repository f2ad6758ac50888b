"""/admin: a few numbers about the whole bot, for its admins only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa
from aiogram import F, Router
from aiogram.filters import Command, MagicData
from aiogram.types import Message

from bot.texts import text
from handlers.access import Person
from handlers.gate import Gate
from handlers.say import say
from memory.rows import NO_TURN
from memory.tables import index_cursors, memories, messages
from memory.types import Status
from memory.usage import Totals, UsageLog

if TYPE_CHECKING:
    from memory.database import Database


@dataclass(frozen=True, slots=True)
class Counts:
    """What the database holds. `behind` is ``None`` where no index has followed it yet."""

    chats: int
    memories: int
    messages: int
    behind: int | None


async def on_admin(_: Message, person: Person, gate: Gate, database: Database) -> None:
    counts = await count(database)
    totals = await UsageLog(database).totals(None)
    await say(gate, person, report(counts, totals, person.language))


def report(counts: Counts, totals: Totals, language: str) -> str:
    index = "admin-index-none" if counts.behind is None else "admin-index"
    return text(
        "admin-report",
        language,
        chats=counts.chats,
        memories=counts.memories,
        messages=counts.messages,
        calls=totals.calls,
        sent=totals.input_tokens + totals.cache_read_tokens + totals.cache_write_tokens,
        received=totals.output_tokens,
        cached=round(totals.cached_share * 100),
        cost=f"{totals.cost_usd:.2f}",
        index=text(index, language, behind=counts.behind or 0),
    )


async def count(database: Database) -> Counts:
    active = memories.c.status == Status.ACTIVE
    followed = sa.select(sa.func.max(index_cursors.c.revision))
    async with database.read() as conn:
        cursor = (await conn.execute(followed)).scalar()
        news = sa.select(sa.func.count()).where(active, memories.c.revision > (cursor or 0))
        return Counts(
            chats=await conn.scalar(sa.select(sa.func.count(messages.c.chat_id.distinct()))) or 0,
            memories=await conn.scalar(sa.select(sa.func.count()).where(active, NO_TURN)) or 0,
            messages=await conn.scalar(sa.select(sa.func.count()).select_from(messages)) or 0,
            behind=None if cursor is None else await conn.scalar(news),
        )


def router() -> Router:
    commands = Router(name="admin")
    commands.message.register(on_admin, Command("admin", ignore_case=True), MagicData(F.person.is_admin))
    return commands
