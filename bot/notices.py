"""What was said besides answers: its ids are kept, so that nothing is ever put in its place."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import sqlalchemy as sa

# PostgreSQL's ON CONFLICT is the SQL of SQLite as well; SQLAlchemy compiles this insert for both.
from sqlalchemy.dialects.postgresql import insert

from memory.errors import StorageError
from memory.tables import messages, notices, outgoing

if TYPE_CHECKING:
    from memory.database import Database

log = logging.getLogger(__name__)


class Notices:
    """The messenger's ids of one bot. With `channel` begins the source of each message that it gets."""

    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self.channel = channel

    async def keep(self, chat_id: int, platform_id: int) -> None:
        """Note a message that is no answer. A fault is only logged, as the message itself has been sent."""
        values = {"channel": self.channel, "chat_id": chat_id, "platform_id": platform_id}
        try:
            async with self._database.write() as conn:
                await conn.execute(insert(notices).values(values).on_conflict_do_nothing())
        except StorageError as error:
            log.warning("a sent message was not recorded", extra={"error": type(error).__name__})

    async def taken(self, chat_id: int, above: int) -> frozenset[int]:
        """Return which ids above this one belong to answers and notices in the chat."""
        mine = (notices.c.channel == self.channel, notices.c.chat_id == chat_id)
        queries = (
            sa.select(notices.c.platform_id).where(*mine, notices.c.platform_id > above),
            self._answers.where(outgoing.c.chat_id == chat_id, outgoing.c.platform_id > above),
        )
        async with self._database.read() as conn:
            return frozenset([found for query in queries for found in (await conn.execute(query)).scalars()])

    async def newest(self) -> int:
        """Return the highest id that is known of any chat; 0 for none."""
        said = sa.select(notices.c.platform_id).where(notices.c.channel == self.channel)
        known = sa.union_all(said, self._answers).subquery()
        async with self._database.read() as conn:
            return max(0, await conn.scalar(sa.select(sa.func.max(known.c.platform_id))) or 0)

    @property
    def _answers(self) -> sa.Select[tuple[int]]:
        joined = sa.select(outgoing.c.platform_id).join(messages, messages.c.id == outgoing.c.message_id)
        return joined.where(messages.c.source.startswith(f"{self.channel}:", autoescape=True))
