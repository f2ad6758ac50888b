"""Who owns the data directory: the one process that may open its vector index and run its jobs."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from memory.errors import AlreadyRunning, StorageError
from memory.sql_errors import FULL

WORKPLACE = "restore-"
"""Begins the names of the directories in which the owner prepares a database to be put in place."""

_LOCK = "owner.lock"
_PID = "owner.pid"


class DirectoryLock:
    """The lock of one data directory, held while this object lives: until its process ends, however."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # A file of its own names the process: whoever tries the lock empties the file that is locked.
        self._pid = directory / _PID
        self._lock = FileLock(directory / _LOCK, timeout=0, thread_local=False)

    def acquire(self) -> None:
        """Own the directory, which is made when it is missing, until `release`.

        Raises AlreadyRunning, or StorageError when the directory cannot be written.
        """
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout:
            raise AlreadyRunning(self._refusal()) from None
        except (FileExistsError, NotADirectoryError):
            raise StorageError(f"{self._directory} is not a directory; set storage.dir to one.") from None
        except OSError as error:
            raise _not_writable(self._directory, error) from None
        self._note_process()
        self._clear_workplaces()

    def release(self) -> None:
        """Let go of the directory; without having it this does nothing."""
        if self._lock.is_locked:
            self._pid.unlink(missing_ok=True)
            self._lock.release()

    def holder(self) -> int | None:
        """Return the process that owns the directory, 0 when it is unknown, or ``None`` when nobody does."""
        if self._lock.is_locked:
            return os.getpid()
        if not (self._directory / _LOCK).exists():
            return None
        try:
            self._lock.acquire()
        except Timeout:
            return self._noted_process()
        except OSError:
            return None
        self._lock.release()
        return None

    def _note_process(self) -> None:
        """Note who is here, for the refusals of others only: a full disk does not hinder the owner."""
        with suppress(OSError):
            self._pid.write_text(str(os.getpid()), encoding="ascii")

    def _clear_workplaces(self) -> None:
        """Remove what a killed owner has left; only the owner makes such directories."""
        for left in self._directory.glob(f"{WORKPLACE}*/"):
            shutil.rmtree(left, ignore_errors=True)

    def _noted_process(self) -> int:
        try:
            return int(self._pid.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0

    def _refusal(self) -> str:
        pid = self._noted_process()
        who = f"process {pid}" if pid else "another process"
        return (
            f"{self._directory} is in use by {who}; stop it first, or set storage.dir to another directory."
        )


def _not_writable(directory: Path, error: OSError) -> StorageError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(FULL.format(place=directory))
    return StorageError(
        f"{directory} cannot be written ({error.strerror or type(error).__name__}); "
        "give it to the user that runs the program."
    )
