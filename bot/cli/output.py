"""How commands print: lines of text for people, one JSON value for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime
from enum import Enum
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.texts import shortened
from memory.types import Hit, Memory

LINE_CHARS = 160
"""Characters of a memory in a list."""


def print_json(value: object) -> None:
    """Print one value, readable in Russian too, times as ISO 8601 in UTC."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=_plain))


def say(line: str) -> None:
    """Tell the person at the terminal something that is not part of the result."""
    print(line, file=sys.stderr, flush=True)


def progress(done_word: str) -> Callable[[int, int], None]:
    """Return what shows progress to a person at the terminal, and nothing to a log."""

    def show(done: int, total: int) -> None:
        if sys.stderr.isatty():
            end = "\n" if done >= total else ""
            print(f"\r{done_word} {done} of {total}", end=end, file=sys.stderr, flush=True)

    return show


def memory_json(memory: Memory) -> dict[str, object]:
    return {name: getattr(memory, name) for name in Memory.__slots__}


def hit_json(hit: Hit) -> dict[str, object]:
    score = {name: round(getattr(hit.score, name), 4) for name in type(hit.score).__slots__}
    return {"score": score, "memory": memory_json(hit.memory)}


def memory_line(memory: Memory, zone: ZoneInfo) -> str:
    """One memory as a line: its number, day, type, speaker and the beginning of its text."""
    said = f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text
    day = memory.valid_from.astimezone(zone).date()
    return f"{memory.id:>6}  {day}  {memory.type:<10}  {shortened(said, LINE_CHARS)}"


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no place in the output")
