"""The stores under test: one suite for SQLite and, where a server is named, for PostgreSQL."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from memory.database import Database, open_database
from memory.memories import Memories
from tests.fakes.clock import FrozenClock

POSTGRES = os.environ.get("MNEMOGRAM_TEST_POSTGRES", "")


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(params=["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """The address of an empty database: "" for SQLite, or a schema of its own on the server."""
    if request.param == "sqlite":
        yield ""
        return
    if not POSTGRES:
        pytest.skip("MNEMOGRAM_TEST_POSTGRES names no server")
    async with _schema() as address:
        yield address


@pytest.fixture
async def server() -> AsyncIterator[str]:
    """The address of an empty PostgreSQL database, for what only a server can do."""
    if not POSTGRES:
        pytest.skip("MNEMOGRAM_TEST_POSTGRES names no server")
    async with _schema() as address:
        yield address


@pytest.fixture
async def database(tmp_path: Path, url: str, clock: FrozenClock) -> AsyncIterator[Database]:
    database = await open_database(tmp_path / "data", url, clock=clock)
    yield database
    await database.close()


@pytest.fixture
def memories(database: Database, clock: FrozenClock) -> Memories:
    return Memories(database, clock)


@asynccontextmanager
async def _schema() -> AsyncIterator[str]:
    import asyncpg  # type: ignore[import-untyped]

    name = f"test_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(POSTGRES)
    try:
        await connection.execute(f"CREATE SCHEMA {name}")
        yield f"{POSTGRES}{'&' if '?' in POSTGRES else '?'}search_path={name}"
        await connection.execute(f"DROP SCHEMA {name} CASCADE")
    finally:
        await connection.close()
