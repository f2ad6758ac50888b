"""What the phrases mean that name a time by how far it is from now; None is for nonsense."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import TypeAlias

from memory.dates.names import unit
from memory.dates.recurring import Recurring
from memory.dates.spans import DAY, WEEK, Now, Period, Span, midnight

When: TypeAlias = Span | Recurring
Count: TypeAlias = float | tuple[float, float]
"""A number, or the least and the most that a vague one means."""

_VAGUE_SHARE = 3  # "an hour ago" is right within a third of it, and within a quarter of an hour


def settled(now: Now, when: When) -> Span | None:
    """The span that a time means when nothing else is said: the last one that has begun."""
    return when if isinstance(when, Span) else when.widened().latest(now.local)


def last(now: Now, when: Recurring) -> Span | None:
    return when.widened().over(now.local)


def last_but_one(now: Now, when: Recurring) -> Span | None:
    last_one = when.over(now.local)
    return last_one and when.over(last_one.since)


def coming(now: Now, when: Recurring) -> Span | None:
    return when.widened().following(now.local)


def this(now: Now, when: Recurring) -> Span | None:
    """The one that goes on or belongs to this week or year; of weekends the last one that has begun."""
    span = when.widened().current(now.local)
    return when.latest(now.local) if span and span.days == 2 and when.period is WEEK else span


def of_unit(make: Callable[[Now, Recurring], Span | None]) -> Callable[[Now, Period], Span | None]:
    """The same for a unit: "last week". "This day" is the one just spoken of, which nobody knows here."""
    return lambda now, period: None if period.minutes or period is DAY else make(now, unit(period))


def rolling(now: Now, count: Count, period: Period) -> Span | None:
    """The last so many units up to now."""
    if period.minutes:
        return None
    return Span(midnight(period.from_day(now.today, -bounds(count)[1])), now.tomorrow)


def rolling_few(now: Now, period: Period) -> Span | None:
    """The last weeks."""
    return rolling(now, 3, period)


def rolling_one(now: Now, count: int, period: Period) -> Span | None:
    """The past week; of days only "последние сутки", since a last day is one of something."""
    if period is DAY:
        return None if count == 1 else rolling(now, 1, period)
    return rolling(now, count, period)


def next_units(now: Now, count: Count, period: Period) -> Span | None:
    """The next so many units, from tomorrow on."""
    if period.minutes:
        return None
    return Span(now.tomorrow, midnight(period.from_day(now.today, bounds(count)[1]) + timedelta(days=1)))


def ago(now: Now, count: Count, period: Period) -> Span:
    """So long ago, give or take what fits the unit."""
    least, most = bounds(count)
    if period.minutes:
        slack = max(15.0, most * period.minutes / _VAGUE_SHARE)
        until = now.before(max(0.0, least * period.minutes - slack))
        return Span(now.before(most * period.minutes + slack), until)
    slack_days = timedelta(days=round(period.slack * min(1, most)) or isinstance(count, tuple))
    until = midnight(period.from_day(now.today, -least) + slack_days + timedelta(days=1))
    return Span(midnight(period.from_day(now.today, -most) - slack_days), min(until, now.tomorrow))


def ago_and(now: Now, count: float | None, period: Period, more: float, smaller: Period) -> Span | None:
    """A year and two months ago: the smaller unit tells how exact it is."""
    if period.minutes or smaller.minutes:
        return None
    there = smaller.from_day(period.from_day(now.today, -(count or 1)), -more)
    return _around(there, there, smaller)


def ago_and_half(now: Now, count: float | None, period: Period, half: float) -> Span | None:
    """A year and a half ago."""
    return ago(now, (count or 1) + half, period) if half < 1 else None


def ahead(now: Now, count: Count, period: Period) -> Span | None:
    """In so many units, give or take what fits them."""
    if period.minutes:
        return None
    least, most = (period.from_day(now.today, number) for number in bounds(count))
    span = _around(least, most, period)
    return Span(max(span.since, now.tomorrow), span.until)


def offset(count: Count, period: Period, span: Span, sign: int) -> Span | None:
    """So many units before (`sign` -1) or after (1) a span, give or take what fits them."""
    if period.minutes:
        return None
    edge = span.since if sign < 0 else span.until - timedelta(days=1)
    ends = sorted(period.from_day(edge.date(), sign * number) for number in bounds(count))
    return _around(ends[0], ends[1], period)


def bounds(count: Count) -> tuple[float, float]:
    """The least and the most that a number may mean."""
    return count if isinstance(count, tuple) else (count, count)


def _around(first: date, last_one: date, period: Period) -> Span:
    slack = timedelta(days=period.slack)
    return Span(midnight(first - slack), midnight(last_one + slack + timedelta(days=1)))
