"""Durable updates: what the messenger delivers is written here before it is confirmed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

# PostgreSQL's ON CONFLICT is the SQL of SQLite as well; SQLAlchemy compiles this insert for both.
from sqlalchemy.dialects.postgresql import insert

from memory.ports import Clock
from memory.tables import inbox

if TYPE_CHECKING:
    from memory.database import Database

log = logging.getLogger(__name__)

MAX_STARTS = 5
"""How often work on one update may begin: one that kills the process must not do so for ever."""

KEEP = timedelta(days=14)
"""How long the id of a finished update is kept; the messenger redelivers for a day at most."""


class UpdateState(StrEnum):
    """Where an update is on its way."""

    PENDING = "pending"  # not dealt with; also while it is worked on, so that a restart finds it
    DONE = "done"  # dealt with; its payload is emptied, its id kept against redelivery
    FAILED = "failed"  # given up: it cannot be read, or MAX_STARTS attempts ended without an end


class Attempt(StrEnum):
    """What is to be done with an update that somebody wants to begin with."""

    BEGUN = "begun"  # work on it; the attempt is counted
    OVER = "over"  # leave it alone: it has come to its end before
    GIVEN_UP = "given up"  # it had MAX_STARTS attempts and has just become FAILED


@dataclass(frozen=True, slots=True)
class RawUpdate:
    """An update as it came; `payload` is JSON, `chat_id` 0 where it belongs to no chat."""

    update_id: int
    chat_id: int
    payload: str


@dataclass(frozen=True, slots=True)
class InboxItem:
    """An update that waits to be dealt with."""

    id: int
    update_id: int
    chat_id: int
    payload: str
    attempts: int
    received_at: datetime


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many updates wait, and since when the oldest of them has."""

    pending: int
    oldest_at: datetime | None


class Inbox:
    """The updates of one bot, in the order in which they came."""

    def __init__(self, database: Database, clock: Clock, bot_id: int) -> None:
        self._database = database
        self._clock = clock
        self._mine = inbox.c.bot_id == bot_id
        self._bot_id = bot_id

    async def put(self, updates: Sequence[RawUpdate]) -> list[InboxItem]:
        """Store updates, all or none, and return those that were not known yet, in their order."""
        if not updates:
            return []
        now = self._clock.now()
        async with self._database.write() as conn:
            rows = [(await conn.execute(self._insert(update, now))).one_or_none() for update in updates]
        return [_item(row) for row in rows if row is not None]

    async def pending(self) -> list[InboxItem]:
        """Return what is to be dealt with, the oldest first."""
        query = sa.select(inbox).where(self._waiting).order_by(inbox.c.id)
        async with self._database.read() as conn:
            return [_item(row) for row in await conn.execute(query)]

    async def started(self, item_id: int) -> Attempt:
        """Count an attempt before the work begins, or say why there may be none."""
        one_of_mine = self._waiting & (inbox.c.id == item_id)
        attempt = sa.update(inbox).where(one_of_mine).values(attempts=inbox.c.attempts + 1)
        async with self._database.write() as conn:
            if (await conn.execute(attempt.where(inbox.c.attempts < MAX_STARTS))).rowcount:
                return Attempt.BEGUN
            given_up = (await conn.execute(self._end(item_id, UpdateState.FAILED))).rowcount
        if not given_up:
            return Attempt.OVER
        log.error("an update was given up", extra={"item": item_id, "attempts": MAX_STARTS})
        return Attempt.GIVEN_UP

    async def released(self, item_id: int) -> None:
        """The work was stopped in good order, so this attempt does not count against the update."""
        one_of_mine = self._waiting & (inbox.c.id == item_id) & (inbox.c.attempts > 0)
        async with self._database.write() as conn:
            await conn.execute(sa.update(inbox).where(one_of_mine).values(attempts=inbox.c.attempts - 1))

    async def done(self, item_id: int) -> None:
        """The update has been dealt with."""
        async with self._database.write() as conn:
            await conn.execute(self._end(item_id, UpdateState.DONE))

    async def failed(self, item_id: int, error_class: str) -> None:
        """The update can never be dealt with."""
        async with self._database.write() as conn:
            await conn.execute(self._end(item_id, UpdateState.FAILED))
        log.error("an update failed", extra={"item": item_id, "error": error_class})

    async def backlog(self) -> Backlog:
        """Say how much waits."""
        query = sa.select(sa.func.count(), sa.func.min(inbox.c.received_at)).where(self._waiting)
        async with self._database.read() as conn:
            pending, oldest_at = (await conn.execute(query)).one()
        return Backlog(pending, oldest_at)

    async def prune(self, older_than: timedelta = KEEP) -> int:
        """Drop the rows of updates that came longer ago and are over; return how many."""
        over = (inbox.c.state != UpdateState.PENDING) & (inbox.c.received_at < self._clock.now() - older_than)
        async with self._database.write() as conn:
            return int((await conn.execute(sa.delete(inbox).where(self._mine, over))).rowcount)

    @property
    def _waiting(self) -> sa.ColumnElement[bool]:
        return self._mine & (inbox.c.state == UpdateState.PENDING)

    def _insert(self, update: RawUpdate, now: datetime) -> sa.Executable:
        values = {
            "bot_id": self._bot_id,
            "update_id": update.update_id,
            "chat_id": update.chat_id,
            "state": UpdateState.PENDING,
            "payload": update.payload,
            "received_at": now,
        }
        return insert(inbox).values(values).on_conflict_do_nothing().returning(*inbox.c)

    def _end(self, item_id: int, state: UpdateState) -> sa.Update:
        one_of_mine = self._waiting & (inbox.c.id == item_id)
        return sa.update(inbox).where(one_of_mine).values(state=state, payload=None)


def _item(row: sa.Row[Any]) -> InboxItem:
    return InboxItem(
        id=row.id,
        update_id=row.update_id,
        chat_id=row.chat_id,
        payload=row.payload,
        attempts=row.attempts,
        received_at=row.received_at,
    )
