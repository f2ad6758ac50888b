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
from memory.types import Hit, Memory, MemoryType, Origin, Score

LINE_CHARS = 160
"""Characters of a memory in a list."""

PARTS = {
    "total": "total",
    "relevance": "relevance",
    "cosine": "meaning",
    "words": "words",
    "context": "words around",
    "recency": "recency",
    "importance": "importance",
    "window": "time window",
    "speaker": "speaker",
    "linked": "linked",
    "reranked": "second opinion",
}
"""What the parts of a score are called, in the order in which they are shown."""


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
    values = {name: getattr(hit.score, name) for name in Score.__slots__}
    return {
        "score": {name: value if value is None else round(value, 4) for name, value in values.items()},
        "memory": memory_json(hit.memory),
        "before": [memory_json(turn) for turn in hit.before],
        "after": [memory_json(turn) for turn in hit.after],
    }


def memory_line(memory: Memory, zone: ZoneInfo) -> str:
    """One memory as a line: its number, day, type, speaker and the beginning of its text."""
    day = memory.valid_from.astimezone(zone).date()
    return f"{memory.id:>6}  {day}  {memory.type:<10}  {_said(memory)}"


def neighbour_lines(hit: Hit) -> list[str]:
    """What was said around a found turn, to stand below it."""
    before = [f"{'':20}{'before':<10}  {_said(turn)}" for turn in hit.before]
    return before + [f"{'':20}{'after':<10}  {_said(turn)}" for turn in hit.after]


def score_line(score: Score) -> str:
    """The parts of a score that are there, to stand below the hit; a second opinion is one at 0, too."""
    values = {name: getattr(score, name) for name in PARTS}
    told = [
        f"{PARTS[name]} {value:.2f}"
        for name, value in values.items()
        if name == "total" or (value is not None and (value >= 0.005 or name == "reranked"))
    ]
    return f"{'':8}{', '.join(told)}"


def _said(memory: Memory) -> str:
    own = memory.type is MemoryType.TURN and memory.origin is Origin.ASSISTANT
    speaker = "the bot" if own else memory.speaker
    return shortened(f"{speaker}: {memory.text}" if speaker else memory.text, LINE_CHARS)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no place in the output")
