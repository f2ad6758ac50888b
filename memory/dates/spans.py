"""Spans of local time and the units that it is counted in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo


@dataclass(frozen=True, slots=True)
class Now:
    """The moment from which words like "yesterday" count, in the zone of the person."""

    moment: datetime

    @property
    def local(self) -> datetime:
        """The moment on the clock of the zone, naive like the ends of a span."""
        return self.moment.replace(tzinfo=None)

    @property
    def today(self) -> date:
        return self.moment.date()

    @property
    def tomorrow(self) -> datetime:
        """The midnight that ends today."""
        return midnight(self.today + timedelta(days=1))

    def before(self, minutes: float) -> datetime:
        """The local time so many minutes ago, however the clock was turned meanwhile."""
        zone = self.moment.tzinfo
        return (
            (self.moment.astimezone(UTC) - timedelta(minutes=minutes)).astimezone(zone).replace(tzinfo=None)
        )


@dataclass(frozen=True, slots=True)
class Span:
    """From `since` on and before `until`, both naive on the clock of the person's zone."""

    since: datetime
    until: datetime

    @property
    def days(self) -> int:
        return (self.until - self.since).days

    @property
    def middle(self) -> datetime:
        return self.since + (self.until - self.since) / 2

    def in_utc(self, zone: tzinfo) -> tuple[datetime, datetime]:
        """Return both ends in UTC. Raises OverflowError at the ends of the calendar."""
        return self.since.replace(tzinfo=zone).astimezone(UTC), self.until.replace(tzinfo=zone).astimezone(
            UTC
        )


@dataclass(frozen=True, slots=True)
class Period:
    """A unit of time; so many of them ago mean a day give or take `slack` days."""

    days: int = 0
    months: int = 0
    minutes: int = 0
    slack: int = 0

    def index(self, day: date) -> int:
        """The number of the period that has the day, for months counted from the year 0."""
        return (_month_number(day) if self.months else day.toordinal() - 1) // (self.months or self.days)

    def nth(self, index: int) -> Span:
        return Span(midnight(self._first(index)), midnight(self._first(index + 1)))

    def _first(self, index: int) -> date:
        if not self.months:
            return date.fromordinal(index * self.days + 1)
        year, month = divmod(index * self.months, 12)
        return date(year, month + 1, 1)

    def from_day(self, day: date, count: float) -> date:
        """The day so many periods later or, below zero, earlier; a month after 31 January is 28 February."""
        if not self.months:
            return day + timedelta(days=round(count * self.days))
        whole, rest = divmod(count * self.months, 1)
        year, month = divmod(_month_number(day) + int(whole), 12)
        last = Period(months=1).nth(year * 12 + month).until - timedelta(days=1)
        return last.date().replace(day=min(day.day, last.day)) + timedelta(days=round(rest * 30))


MINUTE = Period(minutes=1)
HOUR = Period(minutes=60)
DAY = Period(days=1)
WEEK = Period(days=7, slack=4)  # the first day of the calendar is a Monday
FORTNIGHT = Period(days=14, slack=4)
MONTH = Period(months=1, slack=15)
QUARTER = Period(months=3, slack=30)
HALF_YEAR = Period(months=6, slack=30)
YEAR = Period(months=12, slack=122)
DECADE = Period(months=120, slack=600)


def midnight(day: date) -> datetime:
    return datetime.combine(day, time.min)


def _month_number(day: date) -> int:
    return day.year * 12 + day.month - 1
