"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
"""A Wednesday."""


class FrozenClock:
    """The `Clock` of tests."""

    def __init__(self, now: datetime = NOON) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def advance(self, delta: timedelta = timedelta(), **units: float) -> datetime:
        """Move on by `delta`, or by what `timedelta` understands (`minutes=5`); return the new time."""
        self._now += delta + timedelta(**units)
        return self._now
