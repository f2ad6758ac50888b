"""`backup` and `restore`: the whole database in one file; the vector index follows from it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from itertools import chain, count
from pathlib import Path

from bot.cli.errors import Failed, WrongUse
from bot.cli.output import print_json, progress
from bot.cli.targets import check_target
from bot.config import Config
from memory.database import FILE_NAME, open_database
from memory.errors import StorageError
from memory.lock import WORKPLACE, DirectoryLock
from memory.ports import RealClock
from memory.sqlite_file import damage_of, discard_file

OWN_TABLES = {"schema_migrations", "memories", "messages"}
INDEX_DIRECTORY = "index"
_LOGS = ("-wal", "-shm")


async def backup(config: Config, args: Namespace) -> int:
    """Copy the database as it is now; only a copy that was checked becomes the backup."""
    _need_database(config)
    _check_target(args.file, config.storage.dir / FILE_NAME, force=args.force)
    database = await open_database(config.storage.dir, _url(config), clock=RealClock())
    try:
        await database.backup(args.file, progress("Copied pages"))
    finally:
        await database.close()
    counts = await asyncio.to_thread(_counts, args.file)
    if args.json:
        print_json({"file": args.file.absolute(), "bytes": args.file.stat().st_size, **counts})
    else:
        print(
            f"{args.file} holds memories {counts['memories']}, messages {counts['messages']}; it was checked."
        )
    return 0


async def restore(config: Config, args: Namespace) -> int:
    """Put a backup in place of the database. What was there before is kept beside the backup."""
    if _url(config):
        raise WrongUse("The database is on a PostgreSQL server; restore it there, with pg_restore.")
    directory = config.storage.dir
    await asyncio.to_thread(_check_backup, args.file)
    with _owned(directory), tempfile.TemporaryDirectory(prefix=WORKPLACE, dir=directory) as workplace:
        await asyncio.to_thread(_copy, args.file, Path(workplace) / FILE_NAME)
        await _bring_up_to_date(Path(workplace))
        kept = await asyncio.to_thread(_exchange, Path(workplace), directory, args.file)
    counts = await asyncio.to_thread(_counts, directory / FILE_NAME)
    if args.json:
        print_json({"file": args.file.absolute(), "previous": kept, **counts})
        return 0
    print(
        f"Restored memories {counts['memories']}, messages {counts['messages']}; "
        "the vector index is built anew at the next start."
    )
    if kept:
        print(f"The previous database is kept as {kept}; delete it when it is no longer needed.")
    return 0


def _check_target(file: Path, database: Path, *, force: bool) -> None:
    if file.exists() and database.exists() and file.samefile(database):
        raise WrongUse(f"{file} is the database itself; name another file.")
    check_target(file, force=force)


def _need_database(config: Config) -> None:
    file = config.storage.dir / FILE_NAME
    if not _url(config) and not file.is_file():
        raise Failed(f"There is no database {file} yet, so nothing to back up; check storage.dir.")


def _check_backup(file: Path) -> None:
    """Raise Failed unless `file` is a sound database of this program."""
    if not file.is_file():
        raise Failed(f"There is no file {file}; name one that `backup` wrote.")
    if damage := damage_of(file):
        raise Failed(f"{file} cannot be restored ({damage}); use another backup.")
    with _reading(file) as conn:
        tables = {name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables >= OWN_TABLES:
        raise Failed(f"{file} is not a database of Mnemogram; name a file that `backup` wrote.")


def _counts(file: Path) -> dict[str, int]:
    with _reading(file) as conn:
        memories = conn.execute("SELECT count(*) FROM memories WHERE status = 'active'").fetchone()[0]
        messages = conn.execute("SELECT count(*) FROM messages").fetchone()[0]
    return {"memories": memories, "messages": messages}


@contextmanager
def _reading(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a database that nobody else changes, to read it only."""
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as conn:
        yield conn


@contextmanager
def _owned(directory: Path) -> Iterator[None]:
    """Keep every bot away from the directory. Raises AlreadyRunning, StorageError."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{directory} cannot be made ({error.strerror}); check storage.dir.") from None
    lock = DirectoryLock(directory)
    lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _copy(source: Path, target: Path) -> None:
    try:
        with _reading(source) as conn, closing(sqlite3.connect(target)) as copy:
            conn.backup(copy)
        target.chmod(0o600)
    except (sqlite3.Error, OSError):
        raise Failed(
            f"{target.parent.parent} has no room for the restored database; free some space."
        ) from None


async def _bring_up_to_date(directory: Path) -> None:
    """Apply the migrations that the backup lacks. Raises StorageError when a newer program wrote it."""
    database = await open_database(directory, clock=RealClock())
    await database.close()


def _exchange(workplace: Path, directory: Path, backup: Path) -> Path | None:
    """Put the new database in the place of the old one, which is kept beside the backup.

    It would not be safe in the data directory, where nothing may outlive an erasure. Wherever this is cut
    off, one whole database is in place. The index, which belongs to the old one, goes first: it is built
    anew from whichever database is found.
    """
    current = directory / FILE_NAME
    try:
        kept = _set_aside(current, backup) if current.exists() else None
        shutil.rmtree(directory / INDEX_DIRECTORY, ignore_errors=True)
        (workplace / FILE_NAME).replace(current)
    except OSError as error:
        raise Failed(f"{directory} cannot be written ({error.strerror}); nothing was restored.") from None
    return kept


def _set_aside(file: Path, backup: Path) -> Path:
    """Give the database a second name; it keeps the first until the new one takes that over."""
    kept = _free_name(backup.with_name(f"{backup.name}.replaced-{datetime.now().astimezone():%Y%m%d-%H%M%S}"))
    logs = [] if _fold_in(file) else [log for log in _LOGS if file.with_name(FILE_NAME + log).exists()]
    try:
        for part in ("", *logs):
            _also_as(file.with_name(FILE_NAME + part), kept.with_name(kept.name + part))
    except OSError as error:
        raise Failed(
            f"The former database cannot be kept in {kept.absolute().parent} ({error.strerror}), so nothing "
            "was restored; put the backup where there is room and try again."
        ) from None
    for log in logs:
        file.with_name(FILE_NAME + log).unlink()
    return kept


def _free_name(file: Path) -> Path:
    """Return a name that nothing has yet, as after two restores within one second."""
    more = (file.with_name(f"{file.name}-{number}") for number in count(2))
    return next(name for name in chain([file], more) if not name.exists())


def _fold_in(file: Path) -> bool:
    """Make the database one file, without logs that the new one would take for its own.

    Return False where it is too damaged for that. Raises Failed when another process uses it.
    """
    try:
        with closing(sqlite3.connect(file)) as conn:
            [(busy, *_)] = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.DatabaseError:
        return False
    if busy or file.with_name(f"{FILE_NAME}-wal").exists():
        raise Failed(f"Another command is using {file}; wait for its end and try again.")
    return True


def _also_as(file: Path, name: Path) -> None:
    """Link, or copy on a file system that has no links."""
    try:
        os.link(file, name)
    except OSError:
        part = name.with_name(f"{name.name}.part")
        try:
            shutil.copy2(file, part)
            part.rename(name)
        finally:
            discard_file(part)


def _url(config: Config) -> str:
    return config.storage.database_url.get_secret_value()
