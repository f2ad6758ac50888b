"""The files in which Chroma keeps its graph, and what must not be in them."""

from __future__ import annotations

import struct
from pathlib import Path

_HEADER = "header.bin"
_BLOCKS = ("data_level0.bin", "length.bin")
_ELEMENTS = struct.Struct("<20xQ")  # how many elements are in use, as Chroma 1.5 writes it


def blank_unused(directory: Path) -> bool:
    """Put zeros where a graph without elements keeps room for the first ones; tell whether there is a graph.

    Chroma (1.5.9) writes that room as it found it in memory, where vectors and texts that were erased may
    still stand. A graph that has elements is written without any room. Raises OSError.
    """
    headers = list(directory.rglob(_HEADER))
    for header in headers:
        if _is_empty(header):
            for name in _BLOCKS:
                _blank(header.with_name(name))
    return bool(headers)


def _is_empty(header: Path) -> bool:
    content = header.read_bytes()
    return len(content) >= _ELEMENTS.size and _ELEMENTS.unpack_from(content) == (0,)


def _blank(file: Path) -> None:
    if file.is_file():
        with file.open("r+b") as block:
            block.write(bytes(file.stat().st_size))
