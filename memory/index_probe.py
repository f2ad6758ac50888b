"""A look at an index from a process of its own: one that is broken can kill the process that loads it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from memory.chroma import Collection, embedded_client, stored
from memory.errors import IndexUnavailable

COLLECTION = "memories"
PROBE_SECONDS = 300.0
POLL_SECONDS = 0.05
QUERIES = 50
_BATCH = 256


def is_sound(path: Path, abandoned: threading.Event) -> bool:
    """Tell whether another process could read the whole index in `path`. Blocks for a second or more.

    Raises IndexUnavailable when `abandoned` is set meanwhile.
    """
    here = str(Path(__file__).resolve().parents[1])
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(  # noqa: S603 — our own module
        [sys.executable, "-m", "memory.index_probe", str(path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        return _result(process, abandoned) == 0
    finally:
        process.kill()
        process.wait()


def _result(process: subprocess.Popen[bytes], abandoned: threading.Event) -> int | None:
    deadline = time.monotonic() + PROBE_SECONDS
    while time.monotonic() < deadline:
        if abandoned.is_set():
            raise IndexUnavailable("The vector index was closed before it was open.")
        with suppress(subprocess.TimeoutExpired):
            return process.wait(POLL_SECONDS)
    return None


def examine(collection: Collection) -> bool:
    """Tell whether all vectors have length one and nearly all of a sample are found by themselves."""
    ids = collection.get(include=[])["ids"]
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        found: Any = collection.get(ids=batch, include=["embeddings"])["embeddings"]
        if len(found) != len(batch) or not np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-3):
            return False
    sample = ids[:: max(1, len(ids) // QUERIES)]
    return sum(_finds_itself(collection, key) for key in sample) >= 0.9 * len(sample)


def _finds_itself(collection: Collection, key: str) -> bool:
    vectors: Any = collection.get(ids=[key], include=["embeddings"])["embeddings"]
    found: Any = collection.query(query_embeddings=vectors, n_results=10, include=["distances"])["distances"]
    return bool(found[0]) and abs(found[0][0]) < 1e-3


def main(path: Path) -> int:
    opened = stored(embedded_client(path), COLLECTION)
    sound = examine(opened.collection)
    opened.shut()
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
