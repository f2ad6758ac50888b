"""What days and times that somebody wrote mean: exact ones as moments, those named in words as windows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from memory.dates.grammar import parse
from memory.dates.spans import Now
from memory.dates.tokens import Token, read
from memory.types import Window

_LEADING = (
    r"(?i:(?:in|on|at|during|over|within|throughout|around|by|for|from|of|в|во|на|за|к|ко|около|от|с|со)\s+)?"
    r"(?i:the\s+)?"
)
_NEARBY = 200
_JOINING = re.compile(r"\s*(?:,|и|или|and|or|&)?\s*")
_SPACES = re.compile(r"[ \t]{2,}")
_BEFORE_MARK = re.compile(r"[ \t]+(?=[,.;:?!)])")
_EMPTY = re.compile(r"\(\s{0,3}\)|,(?=\s{0,3}[,.;:?!])")


def bound(value: str, zone: tzinfo, *, end: bool) -> datetime:
    """Return the moment, in UTC, that a day or a time in ISO 8601 means in `zone`.

    A day stands for its start, or with `end` for the start of the next one. Raises ValueError.
    """
    try:
        return (_day(value, zone, end=end) or _moment(value, zone)).astimezone(UTC)
    except OverflowError:
        raise ValueError("a day or time beyond the years that can be told") from None


def _day(value: str, zone: tzinfo, *, end: bool) -> datetime | None:
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    return datetime.combine(day + timedelta(days=end), time.min, zone)


def _moment(value: str, zone: tzinfo) -> datetime:
    moment = datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def windows(text: str, said_at: datetime, zone: tzinfo) -> list[Window]:
    """Return the times that a Russian or English text names, in the order in which it names them.

    `said_at` is what "yesterday" counts from: now for a question, the time of the message for a memory. Names
    of times that come again ("March", "on Tuesday") mean the last one that has begun, and a rough time is as
    wide as its unit: "two weeks ago" is a day give or take four. "Before March" begins in 1970, "since March"
    ends with today. The `words` of a window leave out a preposition that adds nothing ("in", "on"). It costs
    time in the length of the text and raises nothing, whatever it says.
    """
    tokens = read(text)
    try:
        found = parse(tokens, Now(said_at.astimezone(zone))) if tokens else ()
    except OverflowError:  # said at the end of the calendar
        return []
    return [window for token in found if token.kind == "Z" and (window := _window(text, token, zone))]


def without(text: str, named: Sequence[Window]) -> str:
    """Return the text without the words of the windows, in their order, and the prepositions before them."""
    rest: list[str] = []
    place = 0
    for window in named:
        match = _find(text, window.words, place)
        if match:
            between = text[place : match.start()]
            rest.append("" if place and _JOINING.fullmatch(between) else between)
            place = match.end()
    return _tidied("".join([*rest, text[place:]])) if place else text


def _window(text: str, token: Token, zone: tzinfo) -> Window | None:
    try:
        since, until = token.value.in_utc(zone)
    except OverflowError:
        return None
    return Window(since, until, text[token.start : token.end]) if since < until else None


def _find(text: str, words: str, place: int) -> re.Match[str] | None:
    """The words after a preposition if they stand so nearby, because "march" may be another word before."""
    leading = "" if words.endswith(("'s", "’s")) else _LEADING  # "at yesterday's meeting"
    pattern = re.compile(rf"(?<!\w){leading}{re.escape(words)}(?!\w)")
    first = pattern.search(text, place)
    if first is None or first.group() != words:
        return first
    nearby = pattern.finditer(text, place, first.end() + _NEARBY)
    return next((match for match in nearby if match.group() != words), first)


def _tidied(text: str) -> str:
    bare = _EMPTY.sub("", _BEFORE_MARK.sub("", _SPACES.sub(" ", text)))
    bare = _BEFORE_MARK.sub("", _SPACES.sub(" ", bare)).strip().lstrip(",;:.!-–— ")
    return bare if any(map(str.isalnum, bare)) else ""
