"""What the phrases mean that make a time of numbers, names and other times; None is for nonsense."""

from __future__ import annotations

import math
from datetime import timedelta

from memory.dates.idioms import NIGHT, Hours, part
from memory.dates.meanings import When, settled
from memory.dates.names import unit
from memory.dates.recurring import Recurring
from memory.dates.spans import DAY, MONTH, WEEK, YEAR, Now, Period, Span, midnight

# How many days a time has that may be told by a name in it: "last week on Tuesday", "two years ago in March".
_HOLDING = {WEEK: (range(7, 10),), MONTH: (range(28, 48),), YEAR: (range(90, 93), range(200, 400))}


def inside(_: Now, when: Recurring, span: Span) -> Span | None:
    """The Tuesday of a week, the March of a year, also where the week or the year is a rough one."""
    if not any(span.days in lengths for lengths in _HOLDING.get(when.period, ())):
        return None
    found = when.widened().nearest(span.middle)
    return found if found and found.since < span.until and found.until > span.since else None


def named_in(now: Now, name: Recurring, when: When) -> Span | None:
    """A weekday beside a date adds nothing, the weekend of a date is the one nearest to it."""
    span = settled(now, when)
    if span is None or span.days > 1 or name.period is not WEEK:
        return span and inside(now, name, span)
    day = name.nearest(span.middle)
    return day if day and day.days > 1 else span


def part_of(now: Now, when: When, hours: Hours) -> Span | None:
    span = plain(now, when)
    return span and part(now, span, hours)


def night_before(now: Now, hours: Hours, when: When) -> Span | None:
    """В ночь на субботу."""
    span = plain(now, when)
    if span is None or span.days != 1 or hours != NIGHT:
        return None
    return part(now, DAY.nth(DAY.index(span.since.date()) - 1), hours)


def third(_: Now, place: int, span: Span) -> Span | None:
    """The beginning (0), the middle (1) or the end (2) of a time."""
    if span.days < WEEK.days:
        return None
    long, short = timedelta(days=math.ceil(span.days / 3)), timedelta(days=span.days // 3)
    return (
        Span(span.since, span.since + long),
        Span(span.since + short, span.until - short),
        Span(span.until - long, span.until),
    )[place]


def third_of_name(now: Now, place: int, name: Recurring) -> Recurring:
    return Recurring(name.period, lambda index: (span := name.at(index)) and third(now, place, span))


def third_of_unit(now: Now, place: int, period: Period) -> Recurring | None:
    return None if period.minutes or period is DAY else third_of_name(now, place, unit(period))


def until_now(now: Now, span: Span) -> Span | None:
    """Earlier this week."""
    return Span(span.since, min(span.until, now.tomorrow)) if span.since < now.tomorrow else None


def week_of(now: Now, period: Period, when: When) -> Span | None:
    span = plain(now, when)
    return WEEK.nth(WEEK.index(span.since.date())) if span and span.days == 1 and period is WEEK else None


def nth_of(now: Now, nth: int, which: Recurring | Period, when: When) -> Span | None:
    """The second Sunday of May, the first week of March; -1 is the last one."""
    span = plain(now, when)
    if span is None or (isinstance(which, Period) and which.minutes):
        return None
    name = unit(which) if isinstance(which, Period) else which
    indices = range(name.period.index(span.since.date()), name.period.index(span.until.date()) + 1)
    ones = [one for index in indices if (one := name.at(index))]
    found = [one for one in ones if span.since <= (one.since if one.days < 3 else one.middle) < span.until]
    return found[nth if nth < 0 else nth - 1] if 1 <= abs(nth) <= len(found) else None


def last_of(now: Now, which: Recurring | Period, when: When) -> Span | None:
    return nth_of(now, -1, which, when)


def last_units_of(now: Now, count: int, period: Period, when: When) -> Span | None:
    """The last two weeks of August."""
    span = plain(now, when)
    if span is None or period.minutes:
        return None
    return Span(midnight(period.from_day(span.until.date(), -count)), span.until)


def first_units_of(now: Now, nth: int, count: int, period: Period, when: When) -> Span | None:
    span = plain(now, when)
    if span is None or period.minutes or nth != 1:
        return None
    return Span(span.since, midnight(period.from_day(span.since.date(), count)))


def plain(now: Now, when: When) -> Span | None:
    """As `settled`, but of a holiday only the day itself."""
    return when if isinstance(when, Span) else when.latest(now.local)
