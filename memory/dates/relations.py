"""What the phrases mean that name a time by another one: before, after, since, between."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from memory.dates import meanings as meaning
from memory.dates.combining import plain
from memory.dates.meanings import Count, When
from memory.dates.recurring import Recurring
from memory.dates.spans import DAY, Now, Period, Span, midnight

_BEGINNING = datetime(1970, 1, 1)  # noqa: DTZ001 - nobody's memories are older
_SOON = timedelta(days=60)


def offset(sign: int) -> Callable[[Now, Count, Period, When], Span | None]:
    """So many units before or after a time, the last such time that has begun."""

    def make(now: Now, count: Count, period: Period, when: When) -> Span | None:
        anchors = (when,) if isinstance(when, Span) else (when.following(now.local), when.latest(now.local))
        spans = [meaning.offset(count, period, anchor, sign) for anchor in anchors if anchor]
        return next((span for span in spans if span and span.since <= now.local), spans[0] if spans else None)

    return make


def offset_of_one(sign: int) -> Callable[[Now, Period, When], Span | None]:
    return lambda now, period, when: offset(sign)(now, 1, period, when)


def period_before(now: Now, period: Period, when: When) -> Span | None:
    """The week before a day: all of it up to the day itself, on which much of it is told."""
    span = plain(now, when)
    if span is None or period.minutes or period is DAY:
        return span and offset(-1)(now, 1, period, when)
    return Span(midnight(period.from_day(span.since.date(), -1)), span.since + timedelta(days=1))


def period_after(now: Now, period: Period, when: When) -> Span | None:
    span = plain(now, when)
    if span is None or period.minutes or period is DAY:
        return span and offset(1)(now, 1, period, when)
    return Span(span.until, midnight(period.from_day(span.until.date(), 1)))


def eve(now: Now, when: When) -> Span | None:
    return offset(-1)(now, 1, DAY, when)


def last_before(now: Now, name: Recurring, when: When) -> Span | None:
    """The Friday before Christmas."""
    span = plain(now, when)
    return span and name.over(span.since)


def first_after(now: Now, name: Recurring, when: When) -> Span | None:
    span = plain(now, when)
    return span and name.following(span.until - timedelta(microseconds=1))


def between(now: Now, start: When, end: When) -> Span | None:
    """From one time to another; a name is the one nearest to the other, or the last one that has begun."""
    if isinstance(start, Span) and isinstance(end, Recurring):
        second = end.following(start.since)
    else:
        second = plain(now, end)
    first = start if isinstance(start, Span) else second and start.latest(second.since)
    return Span(first.since, second.until) if first and second and first.since < second.until else None


def before(now: Now, when: When) -> Span | None:
    span = _near(now, when)
    return Span(_BEGINNING, span.since) if span and span.since > _BEGINNING else None


def up_to(now: Now, when: When) -> Span | None:
    """By a time, or as of it."""
    span = _near(now, when)
    return Span(_BEGINNING, span.until) if span and span.until > _BEGINNING else None


def after(now: Now, when: When) -> Span | None:
    span = plain(now, when)
    return Span(span.until, now.tomorrow) if span and span.until < now.tomorrow else None


def since(now: Now, when: When) -> Span | None:
    span = plain(now, when)
    return span and Span(span.since, max(span.until, now.tomorrow))


def _near(now: Now, when: When) -> Span | None:
    """As `plain`, but the next one where that is near, because it is what plans are made for."""
    following = when.following(now.local) if isinstance(when, Recurring) else None
    return following if following and following.since - now.local < _SOON else plain(now, when)
