"""Days and times that people write, as moments."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from memory.dates import bound

ZONE = ZoneInfo("Asia/Vladivostok")  # ten hours ahead of UTC


@pytest.mark.parametrize(
    ("value", "end", "moment"),
    [
        ("2026-03-12", False, datetime(2026, 3, 11, 14, tzinfo=UTC)),
        ("2026-03-12", True, datetime(2026, 3, 12, 14, tzinfo=UTC)),
        ("2026-03-12T18:30", True, datetime(2026, 3, 12, 8, 30, tzinfo=UTC)),
        ("2026-03-12T18:30+00:00", False, datetime(2026, 3, 12, 18, 30, tzinfo=UTC)),
    ],
)
def test_a_day_lasts_from_midnight_to_midnight_in_its_zone(value: str, end: bool, moment: datetime) -> None:
    assert bound(value, ZONE, end=end) == moment


@pytest.mark.parametrize(
    ("value", "end"),
    [("yesterday", False), ("2026-02-30", False), ("9999-12-31", True), ("0001-01-01", False)],
)
def test_what_is_no_day_is_refused_with_one_kind_of_error(value: str, end: bool) -> None:
    with pytest.raises(ValueError, match=r"."):
        bound(value, ZONE, end=end)
