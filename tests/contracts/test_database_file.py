"""The file of SQLite: private, durable, shared with a second process, and plain about what goes wrong."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import sqlite3
import stat
import subprocess
import sys
import types
from collections.abc import AsyncIterator, Coroutine, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from memory.database import FILE_NAME, Database, mark_erased, open_database
from memory.errors import StorageError
from memory.memories import Memories
from memory.tables import counters, profiles
from tests.contracts.chats import CHAT, fact
from tests.fakes.clock import NOON, FrozenClock

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def database(tmp_path: Path, clock: FrozenClock) -> AsyncIterator[Database]:
    database = await open_database(tmp_path / "data", clock=clock)
    yield database
    await database.close()


@pytest.fixture
def file(database: Database) -> Path:
    assert database.file
    return database.file


def files(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


async def pragma(database: Database, name: str) -> object:
    async with database.read() as conn:
        value: object = (await conn.exec_driver_sql(f"PRAGMA {name}")).scalar_one()
    return value


async def note(database: Database, chat_id: int, text: str = "x") -> None:
    async with database.write() as conn:
        await conn.execute(sa.insert(profiles).values(chat_id=chat_id, text=text, updated_at=NOON))


async def noted(database: Database) -> list[int]:
    async with database.read() as conn:
        return sorted((await conn.execute(sa.select(profiles.c.chat_id))).scalars())


async def test_directory_and_files_are_for_the_owner_only(file: Path, database: Database) -> None:
    await note(database, 1)
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()}
    assert set(modes) == {FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


async def test_commits_survive_a_power_cut_and_deleted_text_is_overwritten(
    file: Path, database: Database
) -> None:
    full, on = 2, 1
    assert await pragma(database, "journal_mode") == "wal"
    assert await pragma(database, "synchronous") == full
    assert await pragma(database, "secure_delete") == on
    assert await pragma(database, "foreign_keys") == on
    assert await pragma(database, "busy_timeout") == 10_000


PROGRAM = """
import asyncio, sys
from pathlib import Path
from memory.database import open_database
from memory.memories import Memories
from memory.ports import RealClock
from memory.types import MemoryType, NewMemory, Origin

async def main():
    database = await open_database(Path(sys.argv[1]), clock=RealClock())
    memories = Memories(database, RealClock())
    for number in range(10):
        text = f"{sys.argv[2]} number {number}"
        await memories.add(NewMemory(int(sys.argv[3]), text, MemoryType.FACT, Origin.PERSON))
    await database.close()

asyncio.run(main())
"""


def another_process(directory: Path, name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(directory), name, str(CHAT)], cwd=ROOT)


async def test_a_second_process_writes_beside_this_one(
    file: Path, database: Database, memories: Memories
) -> None:
    other = another_process(file.parent, "other")
    for number in range(10):
        await memories.add(fact(f"own number {number}"))
    assert await asyncio.to_thread(other.wait, 60) == 0
    assert await memories.count(CHAT) == 20


async def test_several_processes_may_start_at_once_in_an_empty_directory(
    tmp_path: Path, clock: FrozenClock
) -> None:
    programs = [another_process(tmp_path / "new", name) for name in ("a", "b", "c")]
    assert [await asyncio.to_thread(program.wait, 60) for program in programs] == [0, 0, 0]

    database = await open_database(tmp_path / "new", clock=clock)
    try:
        assert await Memories(database, clock).count(CHAT) == 30
    finally:
        await database.close()


# Backups


async def test_a_backup_holds_the_moment_it_was_begun_in_one_private_file(
    file: Path, database: Database, memories: Memories, tmp_path: Path, clock: FrozenClock
) -> None:
    await memories.add(fact("Anna likes tea"))
    await note(database, 1, "x" * 2_000_000)
    steps: list[tuple[int, int]] = []
    (tmp_path / "copy").mkdir()

    await asyncio.gather(
        database.backup(tmp_path / "copy" / FILE_NAME, lambda done, total: steps.append((done, total))),
        note(database, 2),
    )

    assert files(tmp_path / "copy") == [FILE_NAME]
    assert stat.S_IMODE((tmp_path / "copy" / FILE_NAME).stat().st_mode) == 0o600
    assert len(steps) > 1
    assert steps[-1][0] == steps[-1][1]
    copy = await open_database(tmp_path / "copy", clock=clock)
    try:
        assert len(await Memories(copy, clock).list(CHAT)) == 1
        assert await copy.damage() == ""
    finally:
        await copy.close()


async def test_a_backup_that_cannot_be_written_says_so_and_leaves_nothing(
    file: Path, database: Database, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(StorageError, match=r"backup .* cannot be written"):
        await database.backup(tmp_path / "taken" / "copy.db")
    assert files(tmp_path) == ["data", "taken"]


# What goes wrong, as a sentence


async def refused(directory: Path, clock: FrozenClock) -> str:
    with pytest.raises(StorageError) as caught:
        await open_database(directory, clock=clock)
    assert caught.value.__suppress_context__
    return str(caught.value)


async def test_a_file_in_the_place_of_the_directory(tmp_path: Path, clock: FrozenClock) -> None:
    (tmp_path / "data").write_text("mine")
    assert "is not a directory; set storage.dir" in await refused(tmp_path / "data", clock)
    assert "is not a directory; set storage.dir" in await refused(tmp_path / "data" / "deeper", clock)


async def test_a_directory_that_cannot_be_written(clock: FrozenClock) -> None:
    sentence = await refused(Path("/proc/mnemogram"), clock)
    assert sentence.startswith("/proc/mnemogram cannot be")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_a_directory_of_another_user(tmp_path: Path) -> None:
    program = (
        "import asyncio, os, sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from memory.database import open_database\n"
        "from memory.errors import StorageError\n"
        "from memory.ports import RealClock\n"
        "import aiosqlite, concurrent.futures.thread\n"
        "os.setuid(65534)\n"
        "try: asyncio.run(open_database(Path(sys.argv[1]), clock=RealClock()))\n"
        "except StorageError as error: print(error)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path), str(ROOT)]
    done = await asyncio.to_thread(lambda: subprocess.run(command, capture_output=True, text=True))
    assert "cannot be" in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1


def overwrite(file: Path, part: slice) -> None:
    content = bytearray(file.read_bytes())
    content[part] = b"\xff" * len(content[part])
    file.write_bytes(content)


async def test_a_file_that_is_no_database(tmp_path: Path, clock: FrozenClock) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"not a database at all" * 500)
    assert "is not a SQLite database" in await refused(tmp_path, clock)


async def test_a_database_whose_pages_are_overwritten(
    file: Path, database: Database, memories: Memories, clock: FrozenClock
) -> None:
    for number in range(200):
        await memories.add(fact(f"Anna likes tea number {number}"))
    await database.close()
    overwrite(file, slice(4096, None))

    assert "is damaged" in await refused(file.parent, clock)


async def test_damage_is_described(file: Path, database: Database, memories: Memories) -> None:
    assert await database.damage() == ""
    await memories.add(fact("Anna likes tea"))
    await database.close()
    overwrite(file, slice(-4096, None))
    assert await database.damage() != ""


async def test_a_full_disk_stops_the_transaction_and_nothing_else(file: Path, database: Database) -> None:
    await note(database, 1)

    async def fill() -> None:
        async with database.write() as conn:
            await conn.exec_driver_sql("PRAGMA max_page_count=1")
            much = {"chat_id": 2, "text": "secret" * 1_000_000, "updated_at": NOON}
            await conn.execute(sa.insert(profiles).values(much))

    with pytest.raises(StorageError, match=r"disk with .* is full; free some space") as caught:
        await fill()
    assert "secret" not in repr(caught.value)
    assert caught.value.__suppress_context__
    assert await noted(database) == [1]


async def test_a_lock_that_another_program_keeps(
    file: Path, database: Database, monkeypatch: pytest.MonkeyPatch, clock: FrozenClock
) -> None:
    monkeypatch.setattr("memory.database.BUSY_SECONDS", 0.05)
    rival = sqlite3.connect(file, isolation_level=None)
    rival.execute("BEGIN IMMEDIATE")
    second = await open_database(file.parent, clock=clock)
    try:
        with pytest.raises(StorageError, match="locked"):
            await note(second, 1)
        rival.execute("ROLLBACK")
        await note(second, 1)
    finally:
        rival.close()
        await second.close()


async def test_a_scrub_that_is_in_the_way_of_a_reader_is_done_the_next_time(
    file: Path, monkeypatch: pytest.MonkeyPatch, clock: FrozenClock, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("memory.database.BUSY_SECONDS", 0.05)
    database = await open_database(file.parent, clock=clock)
    reader = sqlite3.connect(file, isolation_level=None)
    try:
        async with database.write() as conn:
            await mark_erased(conn)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM counters").fetchall()

        with caplog.at_level(logging.WARNING):
            await database.scrub()
        assert "put off" in caplog.text
        reader.execute("ROLLBACK")
        await database.scrub()

        async with database.read() as conn:
            query = sa.select(counters.c.value).where(counters.c.name == "erased")
            assert (await conn.execute(query)).scalar_one() == 0
    finally:
        reader.close()
        await database.close()


# Cancelled writes


@types.coroutine
def cut_off(work: Coroutine[Any, Any, None], at: int) -> Generator[Any, None, bool]:
    """Run `work` and cancel its task when it waits for the `at`th time; return whether it ended before."""
    task, broken = asyncio.current_task(), None
    assert task
    for step in itertools.count():
        try:
            waits = work.throw(broken) if broken else work.send(None)
        except StopIteration:
            return step <= at
        if step == at:
            task.cancel()
        try:
            yield waits
            broken = None
        except asyncio.CancelledError as error:
            broken = error
    raise AssertionError


async def test_a_write_that_is_cancelled_anywhere_leaves_the_file_unlocked(
    database: Database, file: Path, clock: FrozenClock
) -> None:
    def write_beside() -> None:
        with closing(sqlite3.connect(file, timeout=2)) as conn:
            conn.execute("BEGIN IMMEDIATE")
            conn.rollback()

    store = Memories(database, clock)
    kept, ended, at = [], False, 0
    while not ended:
        try:
            ended = await cut_off(add(store, at), at)
        except asyncio.CancelledError as error:
            kept.append(error)  # with its traceback, as a caller may keep it
        await asyncio.to_thread(write_beside)
        at += 1
    assert len(kept) > 10


async def add(store: Memories, number: int) -> None:
    await store.add(fact(f"the number is {number}"))
