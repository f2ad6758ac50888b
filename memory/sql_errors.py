"""Database errors that an operator can mend, as sentences that say how."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from memory.errors import StorageError

FULL = "The disk with {place} is full; free some space and try again."
BUSY = "Another program keeps {place} locked; close it or try again in a minute."

_SQLITE_SENTENCES = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: "{place} cannot be written; give it to the user that runs the program.",
    sqlite3.SQLITE_PERM: "{place} cannot be written; give it to the user that runs the program.",
    sqlite3.SQLITE_CANTOPEN: "{place} cannot be opened; check the directory and its permissions.",
    sqlite3.SQLITE_NOTADB: "{place} is not a SQLite database; put a backup in its place with `restore`.",
    sqlite3.SQLITE_CORRUPT: "{place} is damaged; put your last backup in its place with `restore`.",
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_IOERR: "{place} cannot be read or written; check the disk and the space left on it.",
}
UNREACHABLE = "The database server does not answer; check storage.database_url and that it runs."
_POSTGRES_SENTENCES = {
    "53100": "The disk of the database server is full; free some space there and try again.",
    "53": "The database server has no room for another connection; try again in a minute.",
    "25006": "The database server only allows reading; point storage.database_url at the primary.",
    "42501": "The database user may not do this; grant it all rights on its schema.",
    "3D000": "The database server has no database of that name; create it or correct storage.database_url.",
    "3F": "The database has no such schema; create it or correct storage.database_url.",
    "28": "The database server refused user or password; correct storage.database_url.",
    "XX": "The database on the server is damaged; restore your last backup.",
    "57": UNREACHABLE,
    "08": UNREACHABLE,
}


@contextmanager
def sentences(file: Path | None) -> Iterator[None]:
    """Raise what an operator can mend as StorageError, without SQL and parameters; let all else pass.

    `file` is the SQLite database, ``None`` on PostgreSQL.
    """
    try:
        yield
    except sa.exc.DBAPIError as error:
        lost = UNREACHABLE if error.connection_invalidated and not file else None
        if sentence := _sentence(error.orig, file) or lost:
            raise StorageError(sentence) from None
        raise
    except sqlite3.Error as error:
        if sentence := sqlite_sentence(error, file):
            raise StorageError(sentence) from None
        raise
    except TimeoutError:
        if file:
            raise
        raise StorageError(UNREACHABLE) from None
    except sa.exc.TimeoutError:
        raise StorageError("The database has too much to do; try again in a minute.") from None


def sqlite_sentence(error: sqlite3.Error, file: Path | None) -> str | None:
    sentence = _SQLITE_SENTENCES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    return sentence.format(place=file) if sentence else None


def postgres_sentence(error: BaseException | None) -> str | None:
    state = str(getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or "")
    if state:
        return _POSTGRES_SENTENCES.get(state) or _POSTGRES_SENTENCES.get(state[:2])
    return UNREACHABLE if isinstance(error, OSError | EOFError) else None


def _sentence(error: BaseException | None, file: Path | None) -> str | None:
    return sqlite_sentence(error, file) if isinstance(error, sqlite3.Error) else postgres_sentence(error)
