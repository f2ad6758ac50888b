"""The steps that bring a database to the tables this program works with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from memory.errors import StorageError
from memory.ports import Clock
from memory.tables import ERASED, REVISION, UtcDateTime, counters, metadata

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from memory.database import Database

_ADVISORY_LOCK = 0x6D6E656D6F  # "mnemo": one program at a time changes a PostgreSQL database

schema_migrations = sa.Table(
    "schema_migrations",
    sa.MetaData(),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("applied_at", UtcDateTime, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Migration:
    """One step. `apply` runs in the transaction that also records it, so it happens wholly or not at all."""

    number: int
    name: str
    apply: Callable[[sa.Connection], None]


def _create_tables(conn: sa.Connection) -> None:
    taken = set(sa.inspect(conn).get_table_names()) & set(metadata.tables)
    if taken:
        raise StorageError(
            f"The database has a table {min(taken)} of some other program; give Mnemogram one of its own."
        )
    metadata.create_all(conn, checkfirst=False)
    conn.execute(sa.insert(counters), [{"name": name, "value": 0} for name in (REVISION, ERASED)])


MIGRATIONS: tuple[Migration, ...] = (Migration(1, "first tables", _create_tables),)
"""In the order of their numbers, which leave no gap. A step that was released is never edited."""


async def migrate(database: Database, clock: Clock, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Apply what is missing, each step in a transaction of its own; safe in several processes at once.

    Raises StorageError when a newer program has written the database.
    """
    async with database.read() as conn:
        version = await conn.run_sync(_version, len(migrations))
    for migration in migrations[version:]:
        async with database.write() as conn:
            if database.dialect == "postgresql":
                await conn.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
            await _apply(conn, migration, len(migrations), clock)


async def _apply(conn: AsyncConnection, migration: Migration, newest: int, clock: Clock) -> None:
    await conn.run_sync(schema_migrations.create, checkfirst=True)
    if await conn.run_sync(_version, newest) >= migration.number:
        return  # another process was faster
    await conn.run_sync(migration.apply)
    record = {"number": migration.number, "name": migration.name, "applied_at": clock.now()}
    await conn.execute(sa.insert(schema_migrations).values(record))


def _version(conn: sa.Connection, newest: int) -> int:
    """The number of the last step applied, 0 for an empty database."""
    if not sa.inspect(conn).has_table(schema_migrations.name):
        return 0
    version: int = conn.execute(
        sa.select(sa.func.coalesce(sa.func.max(schema_migrations.c.number), 0))
    ).scalar_one()
    if version > newest:
        raise StorageError(
            f"A newer version of Mnemogram has written this database (its tables are at step {version}, "
            f"this program knows {newest}); install that version or restore a backup."
        )
    return version
