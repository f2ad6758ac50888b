"""What /forget takes for numbers of memories."""

from __future__ import annotations

import pytest

from bot.selection import numbers_in


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("12", [12]),
        ("1, 2", [1, 2]),
        ("#4 5", [4, 5]),
        ("№ 3.", [3]),
        ("3 dogs", []),
        ("dog", []),
        ("9" * 19, []),
        ("", []),
    ],
)
def test_numbers_are_numbers_only_when_nothing_else_is_said(words: str, numbers: list[int]) -> None:
    assert numbers_in(words) == numbers
