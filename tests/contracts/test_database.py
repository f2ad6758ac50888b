"""Transactions of the database, the same on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import sqlalchemy as sa

from memory.database import Database, next_revision, open_database
from memory.errors import StorageError
from memory.tables import profiles, sources
from tests.fakes.clock import NOON, FrozenClock


async def note(database: Database, chat_id: int, text: str = "x") -> None:
    async with database.write() as conn:
        await conn.execute(sa.insert(profiles).values(chat_id=chat_id, text=text, updated_at=NOON))


async def execute(database: Database, statement: sa.Executable, *parameters: dict[str, object]) -> None:
    async with database.write() as conn:
        await conn.execute(statement, *parameters)


async def noted(database: Database) -> list[int]:
    async with database.read() as conn:
        return sorted((await conn.execute(sa.select(profiles.c.chat_id))).scalars())


# Transactions


async def test_a_transaction_is_stored_as_a_whole_or_not_at_all(database: Database) -> None:
    await note(database, 1)

    async def fail() -> None:
        async with database.write() as conn:
            await conn.execute(sa.insert(profiles).values(chat_id=2, text="x", updated_at=NOON))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await noted(database) == [1]


async def test_a_reader_keeps_its_snapshot_while_a_writer_commits(database: Database) -> None:
    await note(database, 1)
    query = sa.select(sa.func.count()).select_from(profiles)
    async with database.read() as conn:
        before = (await conn.execute(query)).scalar_one()
        await note(database, 2)
        after = (await conn.execute(query)).scalar_one()
    assert (before, after) == (1, 1)


async def test_many_writers_at_once_all_get_their_turn(database: Database) -> None:
    await asyncio.gather(*(note(database, chat_id) for chat_id in range(20)))
    assert await noted(database) == list(range(20))


async def test_after_a_writer_was_cancelled_the_next_one_can_write(database: Database) -> None:
    begun = asyncio.Event()

    async def hang() -> None:
        async with database.write() as conn:
            await conn.execute(sa.insert(profiles).values(chat_id=1, text="x", updated_at=NOON))
            begun.set()
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(hang())
        await begun.wait()
        task.cancel()
    await asyncio.wait_for(note(database, 2), 5)
    assert await noted(database) == [2]


async def test_foreign_keys_are_checked(database: Database) -> None:
    with pytest.raises(sa.exc.IntegrityError):
        await execute(database, sa.insert(sources).values(chat_id=1, memory_id=1, message_id=1))


async def test_ids_have_64_bits(database: Database) -> None:
    await note(database, -(2**63))
    await note(database, 2**63 - 1)
    assert await noted(database) == [-(2**63), 2**63 - 1]


async def test_revisions_survive_a_rollback_and_never_repeat(database: Database) -> None:
    async with database.write() as conn:
        first = await next_revision(conn)
    async with database.write() as conn:
        second = await next_revision(conn)
    assert (first, second) == (1, 2)


# Errors


async def test_errors_of_the_program_keep_parameters_to_themselves(database: Database) -> None:
    statement = sa.text("INSERT INTO nowhere (text) VALUES (:text)")
    with pytest.raises(sa.exc.DBAPIError) as caught:
        await execute(database, statement, {"text": "my secret"})
    assert "my secret" not in str(caught.value)


# A server


async def refused(url: str, clock: FrozenClock) -> str:
    with pytest.raises(StorageError) as caught:
        await open_database(Path("unused"), url, clock=clock)
    assert caught.value.__suppress_context__
    return str(caught.value)


@pytest.mark.parametrize("place", ["nobody@127.0.0.1:1", "127.0.0.1:port"])
async def test_a_server_that_cannot_be_reached(clock: FrozenClock, place: str) -> None:
    assert "server does not answer" in await refused(f"postgresql://{place}/test", clock)


async def test_a_server_without_such_a_database_schema_or_user(server: str, clock: FrozenClock) -> None:
    url = sa.make_url(server)
    wrong = {
        "no database of that name": url.set(database="no_such_database"),
        "no such schema": url.set(query={"search_path": "no_such_schema"}),
        "refused user or password": url.set(username="no_such_user"),
    }
    for sentence, address in wrong.items():
        assert sentence in await refused(address.render_as_string(hide_password=False), clock)


async def test_both_spellings_of_an_address_are_taken(server: str, clock: FrozenClock) -> None:
    for spelling in (server, server.replace("postgresql://", "postgresql+asyncpg://")):
        database = await open_database(Path("unused"), spelling, clock=clock)
        assert database.dialect == "postgresql"
        assert await database.damage() == ""
        await database.close()


async def test_a_server_is_not_backed_up_from_here(server: str, clock: FrozenClock) -> None:
    database = await open_database(Path("unused"), server, clock=clock)
    try:
        with pytest.raises(StorageError, match="pg_dump"):
            await database.backup(Path("copy.db"))
    finally:
        await database.close()


async def test_a_connection_that_the_server_cut_is_replaced(server: str, clock: FrozenClock) -> None:
    database = await open_database(Path("unused"), server, clock=clock)

    async def be_cut() -> None:
        async with database.read() as first, database.read() as second:
            own = (await second.exec_driver_sql("SELECT pg_backend_pid()")).scalar_one()
            await first.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": own})
            await second.execute(sa.select(profiles))

    try:
        with pytest.raises(StorageError, match="does not answer"):
            await be_cut()
        await note(database, 1)
        assert await noted(database) == [1]
    finally:
        await database.close()
