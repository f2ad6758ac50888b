"""What a day or a time that somebody wrote means as a moment."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo


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
