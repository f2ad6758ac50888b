"""A look at an index from a process of its own: one that is broken can kill the process that loads it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from memory.chroma import Collection, embedded_client, stored
from memory.errors import IndexUnavailable

COLLECTION = "memories"
PROBE_SECONDS = 300.0
"""The longest that the other process may be silent; a large index on a busy machine takes longer in all."""

DAMAGED = 3
"""The exit status that says so; any but this and 0 tells of something else, such as a missing module."""

POLL_SECONDS = 0.05
QUERIES = 50
_BATCH = 256
# What kills a process that runs into broken files, unlike the signals that others send.
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP)
_UNSEEN = "The vector index could not be looked at and is tried again soon; search goes on without it."


def is_sound(path: Path, abandoned: threading.Event) -> bool:
    """Tell whether another process could read the whole index in `path`. Blocks for a second or more.

    Raises IndexUnavailable when this cannot be told now: the process could not begin or was ended by others,
    or `abandoned` is set meanwhile.
    """
    process = _started(path)
    try:
        status = _status(process, abandoned)
    finally:
        process.kill()
        process.wait()
        cast("IO[bytes]", process.stdout).close()
    if status in (None, DAMAGED) or -(status or 0) in _CRASHES:
        return False
    if status:
        raise IndexUnavailable(_UNSEEN)
    return True


def _started(path: Path) -> subprocess.Popen[bytes]:
    here = str(Path(__file__).resolve().parents[1])
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        return subprocess.Popen(  # noqa: S603 — our own module
            _command(path),
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        raise IndexUnavailable(_UNSEEN) from None


def _command(path: Path) -> list[str]:
    return [sys.executable, "-m", "memory.index_probe", str(path)]


def _status(process: subprocess.Popen[bytes], abandoned: threading.Event) -> int | None:
    """Wait for the exit status; None when there was no sign of life for PROBE_SECONDS."""
    output = cast("IO[bytes]", process.stdout)
    last_sign = time.monotonic()
    while time.monotonic() - last_sign < PROBE_SECONDS:
        if abandoned.is_set():
            raise IndexUnavailable("The vector index was closed before it was open.")
        if (status := process.poll()) is not None:
            return status
        readable, *_ = select.select([output], [], [], POLL_SECONDS)
        if readable and os.read(output.fileno(), 1024):
            last_sign = time.monotonic()
        elif readable:  # closed: it is about to end
            time.sleep(POLL_SECONDS)
    return None


def examine(collection: Collection) -> bool:
    """Tell whether all vectors have length one and nearly all of a sample are found by themselves."""
    ids = collection.get(include=[])["ids"]
    for start in range(0, len(ids), _BATCH):
        _show_life()
        batch = ids[start : start + _BATCH]
        found: Any = collection.get(ids=batch, include=["embeddings"])["embeddings"]
        if len(found) != len(batch) or not np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-3):
            return False
    sample = ids[:: max(1, len(ids) // QUERIES)]
    _show_life()
    return sum(_finds_itself(collection, key) for key in sample) >= 0.9 * len(sample)


def _show_life() -> None:
    """Tell whoever waits; when nobody does any more, this fails and ends the process."""
    os.write(sys.stdout.fileno(), b".")


def _finds_itself(collection: Collection, key: str) -> bool:
    vectors: Any = collection.get(ids=[key], include=["embeddings"])["embeddings"]
    found: Any = collection.query(query_embeddings=vectors, n_results=10, include=["distances"])["distances"]
    return bool(found[0]) and abs(found[0][0]) < 1e-3


def main(path: Path) -> int:
    """Return 0 for a sound index and DAMAGED for one that is not; what is not its fault goes on."""
    try:
        opened = stored(embedded_client(path), COLLECTION)
        sound = examine(opened.collection)
        opened.shut()
    except (ImportError, MemoryError, KeyboardInterrupt):
        raise
    except BaseException:  # noqa: BLE001 — a panic of the native part is no Exception
        return DAMAGED
    return 0 if sound else DAMAGED


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
