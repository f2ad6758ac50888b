"""Times that come again: a weekday, a month, a holiday."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.dates.spans import Period, Span

_REACH = 9  # 29 February may be eight years away


@dataclass(frozen=True, slots=True)
class Recurring:
    """What comes once in each `period`: `at` gives the one of a period's index, None where there is none.

    Standing alone it also takes in `margin` days on either side, as holidays do.
    """

    period: Period
    at: Callable[[int], Span | None]
    margin: int = 0

    def latest(self, moment: datetime) -> Span | None:
        """The last one that begins not after the moment."""
        return next((span for span in self._backwards(moment) if span.since <= moment), None)

    def over(self, moment: datetime) -> Span | None:
        """The last one that has ended by the moment."""
        return next((span for span in self._backwards(moment) if span.until <= moment), None)

    def following(self, moment: datetime) -> Span | None:
        """The first one that begins after the moment."""
        first = self.period.index(moment.date()) - 1
        return next((span for span in self._among(range(first, first + _REACH)) if span.since > moment), None)

    def current(self, moment: datetime) -> Span | None:
        """The one that goes on at the moment, or else that of the period the moment is in."""
        latest = self.latest(moment)
        return latest if latest and latest.until > moment else self.at(self.period.index(moment.date()))

    def nearest(self, moment: datetime) -> Span | None:
        """The one whose middle is nearest to the moment."""
        index = self.period.index(moment.date())
        around = self._among(range(index - 1, index + 2))
        return min(around, key=lambda span: abs(span.middle - moment), default=None)

    def widened(self) -> Recurring:
        """The same with its margin."""
        return Recurring(self.period, self._wide) if self.margin else self

    def _wide(self, index: int) -> Span | None:
        span, margin = self.at(index), timedelta(days=self.margin)
        return span and Span(span.since - margin, span.until + margin)

    def _backwards(self, moment: datetime) -> Iterable[Span]:
        first = self.period.index(moment.date()) + 1
        return self._among(range(first, first - _REACH, -1))

    def _among(self, indices: range) -> Iterable[Span]:
        return (span for index in indices if (span := self.at(index)))
