"""Conversations that have ended, and what they left in the tables."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import sqlalchemy as sa

from memory.database import Database
from memory.indexing import Indexing
from memory.memories import Memories
from memory.ports import Embedder
from memory.sessions import Sessions, Turn
from memory.tables import memories as rows
from memory.tables import sessions as session_rows
from memory.types import Author, Incoming, Memory, MemoryType, SessionState, Where
from tests.contracts.chats import ANNA, CHAT
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import HashEmbedder

IDLE = timedelta(minutes=30)
TURNS = Where(types=(MemoryType.TURN,))


class Talk:
    """A chat that talks, falls silent and is indexed. `news` counts what the index was told."""

    def __init__(self, database: Database, clock: FrozenClock) -> None:
        self.database = database
        self.clock = clock
        self.sessions = Sessions(database, clock)
        self.memories = Memories(database, clock)
        self.embedder = HashEmbedder()
        self.indexing = self.another()
        self.news = 0
        self._told = 0

    def another(self, embedder: Embedder | None = None, clock: FrozenClock | None = None) -> Indexing:
        """One more process that indexes."""
        return Indexing(self.database, embedder or self.embedder, clock or self.clock, changed=self._changed)

    async def ask(self, text: str, *, chat_id: int = CHAT) -> Turn:
        """A message that is not answered yet; a minute passes."""
        self._told += 1
        self.clock.advance(minutes=1)
        incoming = Incoming(chat_id, Author(7, ANNA), text, self.clock.now(), f"talk:{self._told}")
        return await self.sessions.begin_turn(incoming, IDLE)

    async def say(self, text: str, answer: str, *, chat_id: int = CHAT) -> Turn:
        turn = await self.ask(text, chat_id=chat_id)
        await self.sessions.finish_turn(turn, answer)
        return turn

    async def end(self) -> None:
        """Let every conversation fall silent."""
        self.clock.advance(IDLE, minutes=1)
        await self.sessions.close_idle(IDLE)

    async def index(self) -> int:
        await self.end()
        return await self.indexing.index_closed()

    async def turns(self, chat_id: int = CHAT) -> list[Memory]:
        """The turns that can be found, in the order of their ids."""
        found = await self.memories.list(chat_id, TURNS, limit=None)
        return sorted(found, key=lambda turn: turn.id)

    async def texts(self, chat_id: int = CHAT) -> list[str]:
        return [turn.text for turn in await self.turns(chat_id)]

    async def stored(self, chat_id: int = CHAT) -> int:
        """How many turns there are at all, hidden ones too."""
        query = sa.select(sa.func.count()).where(rows.c.chat_id == chat_id, rows.c.type == MemoryType.TURN)
        async with self.database.read() as conn:
            return int((await conn.execute(query)).scalar_one())

    async def state(self, session_id: int) -> SessionState:
        query = sa.select(session_rows.c.state).where(session_rows.c.id == session_id)
        async with self.database.read() as conn:
            return SessionState((await conn.execute(query)).scalar_one())

    @property
    def _changed(self) -> Callable[[], None]:
        def count() -> None:
            self.news += 1

        return count
