"""Times with a name that come once a week, a month or a year."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from memory.dates.recurring import Recurring
from memory.dates.spans import MONTH, WEEK, YEAR, Period, Span, midnight


def unit(period: Period) -> Recurring:
    """The period itself."""
    return Recurring(period, period.nth)


def day_of_week(first: int, count: int = 1) -> Recurring:
    """That day of each week, Monday being 0, or so many days from it on."""

    def at(index: int) -> Span:
        start = WEEK.nth(index).since + timedelta(days=first)
        return Span(start, start + timedelta(days=count))

    return Recurring(WEEK, at)


def months(first: int, count: int = 1) -> Recurring:
    """So many whole months of each year, from the first one on.

    A winter counts as that of the year in which it ends, so its first month is 0, December before.
    """

    def at(year: int) -> Span:
        return Span(MONTH.nth(year * 12 + first - 1).since, MONTH.nth(year * 12 + first + count - 2).until)

    return Recurring(YEAR, at)


def days(month: int, first: int, last: int | None = None, margin: int = 0) -> Recurring:
    """Days of one month of each year, both ends included; there is none where the month is shorter."""

    def at(year: int) -> Span | None:
        return _days(year, month, first, last or first)

    return Recurring(YEAR, at, margin)


def day_of_month(day: int) -> Recurring:
    """That day of every month that is long enough."""
    return Recurring(MONTH, lambda index: _days(*divmod(index, 12), day, day, from_zero=True))


def nth_weekday(month: int, weekday: int, nth: int) -> Recurring:
    """The `nth` such weekday of a month of each year; Monday is 0."""

    def at(year: int) -> Span:
        first = date(year, month, 1)
        day = midnight(first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1)))
        return Span(day, day + timedelta(days=1))

    return Recurring(YEAR, at)


def easter(*, orthodox: bool) -> Recurring:
    """Easter Sunday, in the Gregorian calendar, with the days beside it."""

    def at(year: int) -> Span:
        sunday = midnight(_julian_easter(year) if orthodox else _gregorian_easter(year))
        return Span(sunday, sunday + timedelta(days=1))

    return Recurring(YEAR, at, margin=1)


def _days(year: int, month: int, first: int, last: int, *, from_zero: bool = False) -> Span | None:
    try:
        start, end = (datetime(year, month + from_zero, day) for day in (first, last))  # noqa: DTZ001
    except ValueError:
        return None
    return Span(start, end + timedelta(days=1)) if start <= end else None


def _julian_easter(year: int) -> date:
    """Meeus, Astronomical Algorithms, chapter 8; the calendars are 13 days apart from 1900 to 2099."""
    moon = (19 * (year % 19) + 15) % 30
    sunday = (2 * (year % 4) + 4 * (year % 7) - moon + 34) % 7
    month, day = divmod(moon + sunday + 114, 31)
    return date(year, month, day + 1) + timedelta(days=year // 100 - year // 400 - 2)


def _gregorian_easter(year: int) -> date:
    """The same chapter: the first Sunday after the full moon of the church's tables."""
    century, rest = divmod(year, 100)
    golden = year % 19
    moon = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    sunday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    late = (golden + 11 * moon + 22 * sunday) // 451
    month, day = divmod(moon + sunday - 7 * late + 114, 31)
    return date(year, month, day + 1)
