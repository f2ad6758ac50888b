"""What numbers mean beside others and beside months and years; None is for nonsense."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from memory.dates.names import day_of_month, days
from memory.dates.recurring import Recurring
from memory.dates.spans import YEAR, Now, Period, Span

Value = TypeVar("Value")
First = TypeVar("First")
Second = TypeVar("Second")

_RECENT_YEARS = 10


def same(_: Now, value: Value) -> Value:
    return value


def swapped(make: Callable[[Now, First, Second], Value]) -> Callable[[Now, Second, First], Value]:
    """The same for words in the other order."""
    return lambda now, second, first: make(now, first, second)


def total(_: Now, tens: int, ones: float) -> float | None:
    return tens + ones if 1 <= ones < 10 else None


def and_half(_: Now, number: float, half: float) -> float | None:
    return number + half if half < 1 <= number else None


def pair(_: Now, least: float, most: float) -> tuple[float, float] | None:
    return (least, most) if least < most else None


def dates(_: Now, first: float, last: float, month: Recurring) -> Recurring | None:
    """The days of a month of every year."""
    span = month.at(2000)
    whole = isinstance(first, int) and isinstance(last, int) and 1 <= first <= last <= 31
    return days(span.since.month, int(first), int(last)) if span and whole else None


def date_of(now: Now, number: float, month: Recurring) -> Recurring | None:
    return dates(now, number, number, month)


def dates_of(now: Now, month: Recurring, first: float, last: float) -> Recurring | None:
    return dates(now, first, last, month)


def day_of(_: Now, number: float) -> Recurring | None:
    return day_of_month(number) if isinstance(number, int) else None


def recent_year(now: Now, year: Span) -> Span | None:
    """A number that would be a price or an amount if it were not about now."""
    return year if 0 <= now.today.year + 1 - year.since.year <= _RECENT_YEARS else None


def short_year(now: Now, number: int) -> Span | None:
    """Осенью 21-го."""
    return YEAR.nth(2000 + number) if 10 <= number <= now.today.year % 100 + 1 else None


def year_of(_: Now, year: Span, period: Period) -> Span | None:
    return year if period is YEAR else None


def over_new_year(_: Now, season: Recurring, first: Span, second: Span) -> Span | None:
    """The winter of 2022-2023."""
    return season.at(second.since.year) if first.until == second.since else None


def in_year(_: Now, when: Recurring, year: Span) -> Span | None:
    return when.widened().at(year.since.year) if when.period is YEAR else None
