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

    async def taken(self, above: int, question: int) -> frozenset[int]:
        """Return which ids above this one are known to belong to something, in any chat.

        Questions are looked for from this one on, which is given by its number in the database.
        """
        said = sa.select(notices.c.platform_id).where(notices.c.channel == self.channel)
        asked = sa.select(messages.c.source).where(self._mine, messages.c.id >= question)
        async with self._database.read() as conn:
            ids = set((await conn.execute(said.where(notices.c.platform_id > above))).scalars())
            ids |= set((await conn.execute(self._answers.where(outgoing.c.platform_id > above))).scalars())
            ids |= {_id_in(source) for source in (await conn.execute(asked)).scalars()}
        return frozenset(each for each in ids if each > above)

    async def newest(self) -> int:
        """Return the highest id that is known of an answer or a notice; 0 for none."""
        said = sa.select(notices.c.platform_id).where(notices.c.channel == self.channel)
        known = sa.union_all(said, self._answers).subquery()
        async with self._database.read() as conn:
            return max(0, await conn.scalar(sa.select(sa.func.max(known.c.platform_id))) or 0)

    @property
    def _mine(self) -> sa.ColumnElement[bool]:
        return messages.c.source.startswith(f"{self.channel}:", autoescape=True)

    @property
    def _answers(self) -> sa.Select[tuple[int]]:
        joined = sa.select(outgoing.c.platform_id).join(messages, messages.c.id == outgoing.c.message_id)
        return joined.where(self._mine)


def _id_in(source: str) -> int:
    number = source.rpartition(":")[2]
    return int(number) if number.isdecimal() else 0
