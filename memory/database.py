"""The SQL database: opening it, its transactions, and its errors as sentences."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from memory.errors import StorageError
from memory.migrations import migrate
from memory.ports import Clock
from memory.sql_errors import BUSY, UNREACHABLE, postgres_sentence, sentences
from memory.sqlite_file import copy_database, damage_of, discard_file, prepare_file, reason
from memory.tables import ERASED, REVISION, counters

log = logging.getLogger(__name__)

FILE_NAME = "mnemogram.db"
BUSY_SECONDS = 10.0
# The tables that hold what people said.
_TEXT_TABLES = "messages, memories, words, vectors, sessions, profiles, inbox"

# A commit must survive a power cut (FULL), and what is deleted is overwritten with zeros (secure_delete).
_PRAGMAS = ("foreign_keys=ON", "secure_delete=ON", "synchronous=FULL", "journal_size_limit=67108864")


class Database:
    """Transactions on one database. `open_database` makes it."""

    def __init__(self, engine: AsyncEngine, file: Path | None) -> None:
        self.dialect: Literal["sqlite", "postgresql"] = "sqlite" if file else "postgresql"
        self.file = file
        self._engine = engine
        self._one_writer: AbstractAsyncContextManager[object]
        if file:
            self._reader = engine
            self._writer = engine.execution_options(mnemogram_begin="BEGIN IMMEDIATE")
            self._bare = engine.execution_options(mnemogram_begin="")
            self._one_writer = asyncio.Lock()
        else:
            self._reader = engine.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
            self._writer = engine
            self._bare = engine.execution_options(isolation_level="AUTOCOMMIT")
            self._one_writer = nullcontext()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """One snapshot of the database for any number of queries. Raises StorageError."""
        with sentences(self.file):
            async with self._reader.connect() as conn:
                yield conn

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """One transaction, committed at the end and rolled back on an error. It must not be nested.

        On SQLite writers queue here, so that only another process is ever waited for by polling.
        Raises StorageError; every other database error means a fault in the program.
        """
        async with self._one_writer:
            with sentences(self.file):
                async with self._writer.begin() as conn:
                    yield conn

    async def is_scrub_due(self) -> bool:
        """Whether memories were purged and the files are not clean yet, as after a crash in between."""
        async with self.read() as conn:
            return await _counter(conn, ERASED) > 0

    async def scrub(self) -> None:
        """Make sure that no file holds what has been erased since the last time.

        When memories were purged the file is rewritten, which takes its size in time; else only the
        write-ahead log is emptied. What fails stays due: the next call or start tries again, so it raises
        nothing. On PostgreSQL the rows are vacuumed; its logs and backups are in its operator's hands.
        """
        try:
            async with self.read() as conn:
                erased = await _counter(conn, ERASED)
            if self.file or erased:
                await self._clean_files(rewrite=erased > 0)
            if erased:
                done = sa.update(counters).where(counters.c.name == ERASED, counters.c.value == erased)
                async with self.write() as conn:
                    await conn.execute(done.values(value=0))
        except StorageError as error:
            log.warning("cleaning the database files is put off", extra={"reason": str(error)})

    async def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy the database as it is at this moment into the file `target`, while writers go on.

        What stood in `target` goes only when the copy is whole and sound. `progress` gets the pages done and
        their total, in the thread of the database. Raises StorageError.
        """
        if not self.file:
            raise StorageError("The database is on a PostgreSQL server; back it up there, with pg_dump.")
        part = target.with_name(target.name + ".part")
        try:
            async with self.read() as conn:
                # The open transaction keeps one snapshot through all the steps of the copy.
                await conn.execute(sa.select(counters.c.value).limit(1))
                driver = (await conn.get_raw_connection()).driver_connection
                await copy_database(driver, part, progress)
            if damage := await asyncio.to_thread(damage_of, part):
                raise StorageError(f"The database is damaged ({damage}), so no backup was made; restore one.")
            await asyncio.to_thread(part.replace, target)
        except (OSError, sqlite3.Error) as error:
            raise StorageError(f"The backup {target} cannot be written ({reason(error)}).") from None
        finally:
            await asyncio.to_thread(discard_file, part)

    async def damage(self) -> str:
        """Return what SQLite finds wrong with the file, in its words, or "" for a sound one."""
        if not self.file:
            return ""
        try:
            async with self.read() as conn:
                found = (await conn.exec_driver_sql("PRAGMA quick_check(1)")).scalar_one()
        except StorageError as error:
            return str(error)
        return "" if found == "ok" else str(found)

    async def close(self) -> None:
        """Close every connection; on SQLite the last process to do so folds the write-ahead log in."""
        await self._engine.dispose()

    async def _clean_files(self, *, rewrite: bool) -> None:
        """Rewrite the file, since pages that were split may keep stale copies in spite of secure_delete."""
        async with self._one_writer:
            with sentences(self.file):
                async with self._bare.connect() as conn:
                    if rewrite:
                        await conn.exec_driver_sql("VACUUM" if self.file else f"VACUUM {_TEXT_TABLES}")
                    if self.file:
                        busy, *_ = (await conn.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")).one()
                        if busy:
                            raise StorageError(BUSY.format(place=self.file))


async def open_database(directory: Path, url: str = "", *, clock: Clock) -> Database:
    """Open the database, SQLite in `directory` or PostgreSQL at `url`, and bring it up to date.

    Raises StorageError: the directory cannot be used, the file is no database, a newer program wrote it.
    """
    file = None if url else directory / FILE_NAME
    if file:
        await asyncio.to_thread(prepare_file, file, BUSY_SECONDS)
    database = Database(_sqlite(file) if file else _postgresql(url), file)
    try:
        await migrate(database, clock)
        if await database.is_scrub_due():
            await database.scrub()
    except BaseException:
        await database.close()
        raise
    return database


async def next_revision(conn: AsyncConnection) -> int:
    """Take the next revision; until this transaction ends no other can, so revisions commit in order."""
    return (await take_revisions(conn, 1))[0]


async def take_revisions(conn: AsyncConnection, count: int) -> range:
    """Take `count` revisions at once."""
    last = await _raise_counter(conn, REVISION, count)
    return range(last - count + 1, last + 1)


async def mark_erased(conn: AsyncConnection) -> None:
    """Note in the transaction that erases text that the files have to be cleaned, even after a crash."""
    await _raise_counter(conn, ERASED, 1)


async def plan_for_many(conn: AsyncConnection) -> None:
    """Keep PostgreSQL from nested loops in this transaction.

    Right after an import it does not know yet how many rows a chat has, and such a loop takes minutes.
    """
    if conn.dialect.name == "postgresql":
        await conn.exec_driver_sql("SET LOCAL enable_nestloop = off")


async def _raise_counter(conn: AsyncConnection, name: str, by: int) -> int:
    raised = sa.update(counters).where(counters.c.name == name).values(value=counters.c.value + by)
    value: int = (await conn.execute(raised.returning(counters.c.value))).scalar_one()
    return value


async def _counter(conn: AsyncConnection, name: str) -> int:
    value: int = (await conn.execute(sa.select(counters.c.value).where(counters.c.name == name))).scalar_one()
    return value


def _sqlite(file: Path) -> AsyncEngine:
    engine = create_async_engine(
        sa.URL.create("sqlite+aiosqlite", database=str(file)),
        connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
        pool_size=4,
        max_overflow=4,
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "connect", _set_up)
    event.listen(engine.sync_engine, "begin", _begin)
    event.listen(engine.sync_engine, "invalidate", _let_go)
    return engine


def _set_up(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _let_go(connection: Any, *_: object) -> None:
    """End the transaction of a connection that is given up, as after a cancelled statement.

    Closing it would not: a half-read cursor keeps it, and with it the lock, until it is collected.
    """
    connection.rollback()


def _begin(conn: sa.Connection) -> None:
    """Start the transaction in the driver's place, which would do so only before the first write."""
    if statement := conn.get_execution_options().get("mnemogram_begin", "BEGIN"):
        conn.exec_driver_sql(statement)


def _postgresql(url: str) -> AsyncEngine:
    address = url.replace("postgresql+asyncpg://", "postgresql://", 1)

    async def connect() -> Any:
        import asyncpg  # type: ignore[import-untyped]

        try:
            return await asyncpg.connect(address, timeout=BUSY_SECONDS, command_timeout=60)
        except asyncpg.PostgresError as error:
            raise StorageError(postgres_sentence(error) or UNREACHABLE) from None
        except (OSError, TimeoutError, ValueError, asyncpg.InterfaceError):
            raise StorageError(UNREACHABLE) from None

    return create_async_engine(
        "postgresql+asyncpg://", async_creator=connect, pool_pre_ping=True, hide_parameters=True
    )
