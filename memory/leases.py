"""Leases: one worker at a time does a piece of background work, and a late one cannot store its result."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

# PostgreSQL's ON CONFLICT is the SQL of SQLite as well; SQLAlchemy compiles this insert for both.
from sqlalchemy.dialects.postgresql import insert

from memory.errors import LeaseLost
from memory.ports import Clock
from memory.tables import leases

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from memory.database import Database


# Long past, so that a clock that is set back does not keep a lease that was given back.
_FREE = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on `name`. The token rises with every holder, so that an old one is told apart."""

    name: str
    token: int
    expires_at: datetime


class Leases:
    """Rights to work, shared by every process that uses the database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def acquire(self, name: str, duration: timedelta) -> Lease | None:
        """Take the lease when it is free or has expired; ``None`` while somebody else holds it.

        One that ends later than any clock that is about right could have set it is from a clock that has
        been set back since, and counts as expired.
        """
        now = self._clock.now()
        until = now + duration
        async with self._database.write() as conn:
            take = _take(name, now, until, latest=until + duration)
            token = (await conn.execute(take)).scalar_one_or_none()
        return None if token is None else Lease(name, token, until)

    async def check(self, conn: AsyncConnection, lease: Lease) -> None:
        """Make sure, inside the transaction that stores the result, that nobody has taken over.

        Until that transaction ends nobody can: the row is locked. An expired lease that nobody wanted still
        counts. Raises LeaseLost.
        """
        held = sa.select(leases.c.token).where(leases.c.name == lease.name).with_for_update()
        if (await conn.execute(held)).scalar_one_or_none() != lease.token:
            raise LeaseLost(f"Another worker took over {lease.name}, so this result is left out.")

    async def release(self, lease: Lease) -> None:
        """Give the lease back; nothing happens when another holder has it already."""
        mine = (leases.c.name == lease.name) & (leases.c.token == lease.token)
        async with self._database.write() as conn:
            await conn.execute(sa.update(leases).where(mine).values(expires_at=_FREE))


def _take(name: str, now: datetime, until: datetime, latest: datetime) -> sa.Executable:
    return (
        insert(leases)
        .values(name=name, token=1, expires_at=until)
        .on_conflict_do_update(
            index_elements=[leases.c.name],
            set_={"token": leases.c.token + 1, "expires_at": until},
            where=(leases.c.expires_at <= now) | (leases.c.expires_at > latest),
        )
        .returning(leases.c.token)
    )
