"""Cuts a text with entities into messages of a size that Telegram takes, at the best place there is."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

LIMIT = 4096
"""UTF-16 units in one message."""

MAX_ENTITIES = 100
"""Telegram ignores the rest."""

# A break is taken when at least this share of the message stands before it; the better ones come first.
_BREAKS = (("\n\n", 0.5), ("\n", 0.3), (" ", 0.3))
_JOINER = "\u200d"
_LONGEST_GRAPHEME = 32


@dataclass(frozen=True, slots=True)
class Entity:
    """A format of a stretch of text; `offset` and `length` are UTF-16 units."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Part:
    """The content of one message."""

    text: str
    entities: tuple[Entity, ...] = ()


def units(text: str) -> int:
    """Return the length of a text in UTF-16 units, as Telegram counts."""
    return len(text) + sum(char > "\uffff" for char in text)


def cut(text: str, entities: Sequence[Entity], limit: int = LIMIT) -> list[Part]:
    """Return the parts in order; white space at their edges and parts without anything else are left out.

    Code that does not fit is continued in the next part as code of the same language.
    """
    offsets = [0, *accumulate(2 if char > "\uffff" else 1 for char in text)]
    entities = sorted(entities, key=lambda e: (e.offset, -e.length))
    parts, start = [], 0
    while start < len(text):
        end = _end(text, entities, offsets, start, limit)
        parts.append(_part(text, entities, offsets, start, end))
        start = end
    return [part for part in parts if part.text]


def _end(text: str, entities: Sequence[Entity], offsets: list[int], start: int, limit: int) -> int:
    """Return the index where the part that begins at `start` ends."""
    furthest = bisect_right(offsets, offsets[start] + limit) - 1
    begun = [e.offset for e in entities if e.end > offsets[start]]
    if len(begun) > MAX_ENTITIES:
        furthest = min(furthest, max(start + 1, bisect_right(offsets, begun[MAX_ENTITIES]) - 1))
    if furthest == len(text):
        return furthest
    return _before_code(entities, offsets, start, furthest, limit) or _at_break(text, start, furthest)


def _before_code(
    entities: Sequence[Entity], offsets: list[int], start: int, furthest: int, limit: int
) -> int | None:
    """Keep a block of code whole where it fits into the next message."""
    for entity in entities:
        across = offsets[start] + limit // 4 < entity.offset < offsets[furthest] < entity.end
        if entity.type == "pre" and across and entity.length <= limit:
            return bisect_right(offsets, entity.offset) - 1
    return None


def _at_break(text: str, start: int, furthest: int) -> int:
    for mark, share in _BREAKS:
        found = text.rfind(mark, start, furthest)
        if found >= start + (furthest - start) * share:
            return found + len(mark)
    return _between_graphemes(text, start, furthest)


def _between_graphemes(text: str, start: int, furthest: int) -> int:
    for index in range(furthest, max(start, furthest - _LONGEST_GRAPHEME), -1):
        if not _joined(text[index - 1], text[index]):
            return index
    return furthest


def _joined(left: str, right: str) -> bool:
    """Tell whether two characters may be one on the screen; flags are two regional letters."""
    return (
        _JOINER in (left, right)
        or unicodedata.category(right) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= right <= "\U0001f3ff"
        or ("\U0001f1e6" <= right <= "\U0001f1ff" and "\U0001f1e6" <= left <= "\U0001f1ff")
    )


def _part(text: str, entities: Sequence[Entity], offsets: list[int], start: int, end: int) -> Part:
    while start < end and text[start] in "\n\r\t\f\v":
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if not text[start:end].strip():
        return Part("")
    low, high = offsets[start], offsets[end]
    inside = (_clipped(e, low, high) for e in entities if e.offset < high and e.end > low)
    return Part(text[start:end], tuple(inside))


def _clipped(entity: Entity, low: int, high: int) -> Entity:
    begin = max(entity.offset, low)
    return replace(entity, offset=begin - low, length=min(entity.end, high) - begin)
