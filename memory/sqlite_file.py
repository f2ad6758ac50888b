"""The file of a SQLite database: making it, and copying it while it is in use."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from memory.errors import StorageError
from memory.sql_errors import FULL, sqlite_sentence

_BACKUP_PAGES = 256


def prepare_file(file: Path, busy_seconds: float) -> None:
    """Make directory and file, for their owner's eyes only; SQLite gives its other files the same mode.

    Raises StorageError.
    """
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _touch(file)
        _use_wal(file, busy_seconds)
    except sqlite3.Error as error:
        raise StorageError(sqlite_sentence(error, file) or f"{file} cannot be used ({error}).") from None
    except (FileExistsError, NotADirectoryError):
        raise StorageError(f"{file.parent} is not a directory; set storage.dir to one.") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageError(FULL.format(place=file)) from None
        raise StorageError(
            f"{file.parent} cannot be written ({reason(error)}); give it to the user that runs the program."
        ) from None


async def copy_database(driver: Any, target: Path, progress: Callable[[int, int], None] | None) -> None:
    """Copy the database of an aiosqlite connection, as its open transaction sees it, into a new file.

    `progress` gets the pages done and their total. Raises OSError, sqlite3.Error.
    """
    await asyncio.to_thread(discard_file, target)
    await asyncio.to_thread(_touch, target)
    copy = sqlite3.connect(target, check_same_thread=False)
    try:
        await driver.backup(
            copy,
            pages=_BACKUP_PAGES,
            progress=lambda _, left, total: progress and progress(total - left, total),
        )
        await asyncio.to_thread(copy.execute, "PRAGMA journal_mode=DELETE")
    finally:
        await asyncio.to_thread(copy.close)


def damage_of(file: Path) -> str:
    """Return what is wrong with a database that nobody else uses, or "" for a sound one."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as conn:
            found = str(conn.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError:
        return "it is not a sound SQLite database"
    return "" if found == "ok" else "SQLite finds faults in it"


def discard_file(file: Path) -> None:
    """Remove a file that may not be there."""
    with suppress(OSError):
        file.unlink(missing_ok=True)


def reason(error: Exception) -> str:
    """Say in a few words what the system objected to."""
    return (error.strerror or "" if isinstance(error, OSError) else str(error)) or type(error).__name__


def _touch(file: Path) -> None:
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))


def _use_wal(file: Path, busy_seconds: float) -> None:
    """Switch to the write-ahead log, once in a file's life; SQLite itself does not wait for a rival here."""
    deadline = time.monotonic() + busy_seconds
    with closing(sqlite3.connect(file, timeout=busy_seconds)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return
