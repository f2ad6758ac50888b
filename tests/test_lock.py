"""One process owns the data directory, until it ends, however it ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memory.errors import AlreadyRunning, StorageError
from memory.lock import DirectoryLock

OWNER = """
import sys, time
from pathlib import Path
from memory.lock import DirectoryLock
lock = DirectoryLock(Path(sys.argv[1]))
lock.acquire()
print("owned", flush=True)
time.sleep(600)
"""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns the directory."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
    )
    with process:
        assert process.stdout
        assert process.stdout.readline() == "owned\n"
        yield process
        process.kill()


def test_a_free_directory_is_made_and_owned_until_it_is_released(tmp_path: Path) -> None:
    lock, other = DirectoryLock(tmp_path / "new" / "data"), DirectoryLock(tmp_path / "new" / "data")
    assert lock.holder() is None

    lock.acquire()

    assert lock.holder() == other.holder() == os.getpid()
    with pytest.raises(AlreadyRunning, match=f"process {os.getpid()};"):
        other.acquire()
    lock.release()
    assert other.holder() is None
    other.acquire()
    other.release()


def test_a_second_process_is_refused_with_the_number_of_the_first(
    tmp_path: Path, owner: subprocess.Popen[str]
) -> None:
    lock = DirectoryLock(tmp_path)

    for _ in range(2):
        with pytest.raises(AlreadyRunning, match=f"in use by process {owner.pid}; stop it first"):
            lock.acquire()
        assert lock.holder() == owner.pid


def test_a_killed_owner_holds_nothing(tmp_path: Path, owner: subprocess.Popen[str]) -> None:
    owner.send_signal(signal.SIGKILL)
    owner.wait(10)
    lock = DirectoryLock(tmp_path)

    assert lock.holder() is None
    lock.acquire()

    assert lock.holder() == os.getpid()
    lock.release()


def test_releasing_what_is_not_owned_does_not_disturb_the_owner(
    tmp_path: Path, owner: subprocess.Popen[str]
) -> None:
    lock = DirectoryLock(tmp_path)

    lock.release()

    assert lock.holder() == owner.pid


def test_an_owner_that_left_no_number_is_still_an_owner(tmp_path: Path, owner: subprocess.Popen[str]) -> None:
    (tmp_path / "owner.pid").unlink()
    lock = DirectoryLock(tmp_path)

    assert lock.holder() == 0
    with pytest.raises(AlreadyRunning, match="another process"):
        lock.acquire()


def test_a_file_in_the_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x", encoding="utf-8")

    with pytest.raises(StorageError, match=r"set storage\.dir"):
        DirectoryLock(tmp_path / "data").acquire()
    with pytest.raises(StorageError, match=r"set storage\.dir"):
        DirectoryLock(tmp_path / "data" / "below").acquire()


def test_a_directory_that_cannot_be_written_is_refused() -> None:
    # Whoever may write everywhere becomes somebody else for a moment, in a place that all may enter.
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o555)
        with _ordinary_user(), pytest.raises(StorageError, match="cannot be written"):
            DirectoryLock(Path(place) / "data").acquire()


def test_a_full_disk_is_called_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(StorageError, match="is full; free some space"):
        DirectoryLock(tmp_path / "data").acquire()


def test_a_note_that_cannot_be_written_does_not_hinder_the_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    lock = DirectoryLock(tmp_path)
    monkeypatch.setattr(Path, "write_text", full)
    lock.acquire()

    with pytest.raises(AlreadyRunning, match="another process"):
        DirectoryLock(tmp_path).acquire()
    lock.release()


@contextmanager
def _ordinary_user() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)
