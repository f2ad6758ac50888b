"""Migrations: each step whole or not at all, once, and never backwards."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from memory.database import Database, open_database
from memory.errors import StorageError
from memory.migrations import MIGRATIONS, Migration, migrate, schema_migrations
from memory.tables import metadata
from tests.fakes.clock import NOON, FrozenClock

NEXT = len(MIGRATIONS) + 1


def step(number: int, *statements: str) -> Migration:
    def apply(conn: sa.Connection) -> None:
        for statement in statements:
            conn.exec_driver_sql(statement)

    return Migration(number, f"step {number}", apply)


def described(conn: sa.Connection) -> dict[str, Any]:
    """Tables with their columns and the columns of their indexes and unique constraints."""
    inspector = sa.inspect(conn)
    return {
        table: (
            sorted((column["name"], column["nullable"]) for column in inspector.get_columns(table)),
            sorted(tuple(index["column_names"]) for index in inspector.get_indexes(table)),
            sorted(tuple(unique["column_names"]) for unique in inspector.get_unique_constraints(table)),
            sorted(tuple(key["constrained_columns"]) for key in inspector.get_foreign_keys(table)),
        )
        for table in inspector.get_table_names()
        if table != schema_migrations.name
    }


async def tables(database: Database) -> set[str]:
    async with database.read() as conn:
        return set(await conn.run_sync(lambda sync: sa.inspect(sync).get_table_names()))


async def recorded(database: Database) -> list[int]:
    async with database.read() as conn:
        query = sa.select(schema_migrations.c.number).order_by(schema_migrations.c.number)
        return list((await conn.execute(query)).scalars())


async def forget_all(database: Database) -> None:
    """Leave an empty database."""
    async with database.write() as conn:
        await conn.run_sync(metadata.drop_all)
        await conn.run_sync(schema_migrations.drop)


def test_the_steps_are_numbered_without_gaps() -> None:
    assert [migration.number for migration in MIGRATIONS] == list(range(1, NEXT))


async def test_the_migrations_make_the_tables_that_the_program_works_with(
    database: Database, clock: FrozenClock
) -> None:
    async with database.read() as conn:
        migrated = await conn.run_sync(described)
    await forget_all(database)
    async with database.write() as conn:
        await conn.run_sync(metadata.create_all)
        created = await conn.run_sync(described)
    assert migrated == created


async def test_each_step_is_recorded_with_its_time(database: Database) -> None:
    async with database.read() as conn:
        row = (await conn.execute(sa.select(schema_migrations))).first()
    assert row == (1, "first tables", NOON)


async def test_only_what_is_missing_is_applied(database: Database, clock: FrozenClock) -> None:
    steps = [*MIGRATIONS, step(NEXT, "CREATE TABLE more (id INTEGER)")]

    await migrate(database, clock, steps)
    await migrate(database, clock, steps)

    assert "more" in await tables(database)
    assert await recorded(database) == list(range(1, NEXT + 1))


async def test_a_step_that_fails_leaves_nothing_behind_and_the_steps_before_it_stay(
    database: Database, clock: FrozenClock
) -> None:
    good = step(NEXT, "CREATE TABLE good (id INTEGER)")
    bad = step(NEXT + 1, "CREATE TABLE half (id INTEGER)", "CREATE TABLE half (id INTEGER)")

    with pytest.raises(sa.exc.DBAPIError):
        await migrate(database, clock, [*MIGRATIONS, good, bad])

    assert {"good", "half"} & await tables(database) == {"good"}
    assert await recorded(database) == list(range(1, NEXT + 1))


async def test_of_many_that_start_at_once_one_migrates(database: Database, clock: FrozenClock) -> None:
    await forget_all(database)
    slow = step(NEXT, "CREATE TABLE more (id INTEGER)", "INSERT INTO more VALUES (1)")

    await asyncio.gather(*(migrate(database, clock, [*MIGRATIONS, slow]) for _ in range(4)))

    async with database.read() as conn:
        assert (await conn.exec_driver_sql("SELECT count(*) FROM more")).scalar_one() == 1


async def test_a_database_of_a_newer_program_is_refused(
    database: Database, tmp_path: Path, url: str, clock: FrozenClock
) -> None:
    await migrate(database, clock, [*MIGRATIONS, step(NEXT, "CREATE TABLE more (id INTEGER)")])
    with pytest.raises(StorageError, match=f"newer version .* step {NEXT}, this program knows {NEXT - 1}"):
        await open_database(tmp_path / "data", url, clock=clock)


async def test_tables_of_another_program_are_left_alone(database: Database, clock: FrozenClock) -> None:
    await forget_all(database)
    async with database.write() as conn:
        await conn.exec_driver_sql("CREATE TABLE messages (mine INTEGER)")

    with pytest.raises(StorageError, match="a table messages of some other program"):
        await migrate(database, clock)

    assert await tables(database) == {"messages"}


async def test_a_rival_that_is_faster_does_the_step_for_both(database: Database, clock: FrozenClock) -> None:
    [first, *_] = MIGRATIONS
    again = replace(first, number=NEXT)  # would fail if it were applied: its tables are there
    async with database.write() as conn:
        record = {"number": NEXT, "name": "the rival's", "applied_at": NOON}
        await conn.execute(sa.insert(schema_migrations).values(record))

    await migrate(database, clock, [*MIGRATIONS, again])

    assert await recorded(database) == list(range(1, NEXT + 1))
