"""A seal on a directory that was closed well: what each file held, so that later damage is seen at once."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

SEAL = "seal.json"
_BLOCK = 1 << 20


def seal(directory: Path) -> None:
    """Write down length and checksum of every file below `directory`, which nobody writes to any more.

    Raises OSError.
    """
    part = directory / f"{SEAL}.part"
    part.write_text(json.dumps(_contents(directory)), encoding="utf-8")
    part.replace(directory / SEAL)


def break_seal(directory: Path) -> bool | None:
    """Take the seal off and return whether it was whole, or ``None`` where there was none. Raises OSError."""
    file = directory / SEAL
    try:
        noted = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        return False
    whole: bool = noted == _contents(directory)
    file.unlink()
    return whole


def _contents(directory: Path) -> dict[str, list[int]]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {
        path.relative_to(directory).as_posix(): [path.stat().st_size, _checksum(path)]
        for path in files
        if not path.name.startswith(SEAL)
    }


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum
