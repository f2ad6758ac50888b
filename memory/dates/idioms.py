"""Days, parts of days and turns of phrase that mean a time by themselves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias

from memory.dates.spans import DAY, WEEK, YEAR, Now, Period, Span, midnight

Hours: TypeAlias = tuple[int, int]
"""Hours from the midnight of a day."""

MORNING, AFTERNOON, EVENING, NIGHT = (5, 12), (12, 18), (17, 24), (20, 30)


def day(now: Now, offset: int) -> Span:
    return DAY.nth(DAY.index(now.today) + offset)


def part(now: Now, span: Span, hours: Hours) -> Span | None:
    """The morning of a day; the night of today is the last one until that of today has begun."""
    if span.days != 1:
        return None
    since, until = (span.since + timedelta(hours=hour) for hour in hours)
    early = hours == NIGHT and now.today == span.since.date() and since > now.local
    return Span(since - timedelta(days=early), until - timedelta(days=early))


def tonight(now: Now) -> Span | None:
    return part(now, day(now, 0), (EVENING[0], NIGHT[1]))


def this_week(now: Now) -> Span:
    return WEEK.nth(WEEK.index(now.today))


def last_week(now: Now) -> Span:
    return WEEK.nth(WEEK.index(now.today) - 1)


def last_year(now: Now) -> Span:
    return YEAR.nth(now.today.year - 1)


def last_days(count: int) -> Callable[[Now], Span]:
    return lambda now: Span(midnight(now.today - timedelta(days=count)), now.tomorrow)


def day_named(now: Now, offset: int, period: Period) -> Span | None:
    """Вчерашний день."""
    return day(now, offset) if period is DAY else None


def spoken(now: Now, find: Callable[[Now], Span]) -> Span:
    return find(now)


def part_of_day(offset: int) -> Callable[[Now, Hours], Span | None]:
    """This morning, last night."""
    return lambda now, hours: part(now, day(now, offset), hours)
