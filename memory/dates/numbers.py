"""Dates, years and amounts that are written in digits, told apart by their form."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any, TypeAlias

from memory.dates.names import days
from memory.dates.spans import DAY, MONTH, YEAR

Meaning: TypeAlias = tuple[str, Any]
"""The kind of a token and its value."""

OTHER: Meaning = ("_", None)

_YEARS = range(1900, 2100)
_RANGE = re.compile(r"(\d{1,4})-(\d{1,4})")
_YEARS_TOGETHER = re.compile(r"(\d\d)(\d\d)[-/](\d\d)")  # 2022/23
_MONTH_OF_YEAR = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")
_MAX_DIGITS = 4


def number(word: str, *, month_first: bool) -> list[Meaning]:
    """What a word that begins with a digit is; a range is its two ends and the mark between them.

    In "3/12/2025" the day is first, unless `month_first` or the second number can only be a day.
    """
    if word.isdecimal():
        return [_plain(word)]
    for form, meaning in _FORMS:
        match = form.fullmatch(word)
        if match:
            return [meaning(match)]
    if match := _SLASHED.fullmatch(word):
        return [_slashed(match, month_first=month_first)]
    if match := _YEARS_TOGETHER.fullmatch(word):
        return [_plain(match[1] + match[2]), ("-", None), _plain(match[1] + match[3])]
    if match := _RANGE.fullmatch(word):
        return [_plain(match[1]), ("-", None), _plain(match[2])]
    return [OTHER]


def _plain(digits: str) -> Meaning:
    if len(digits) > _MAX_DIGITS:
        return OTHER
    return ("y", YEAR.nth(int(digits))) if int(digits) in _YEARS else ("n", int(digits))


def _month_of_year(match: re.Match[str]) -> Meaning:
    year, month = map(int, match.groups())
    return ("Z", MONTH.nth(year * 12 + month - 1)) if year in _YEARS else OTHER


def _year_first(match: re.Match[str]) -> Meaning:
    return _date(int(match[1]), int(match[2]), int(match[3]))


def _day_first(match: re.Match[str]) -> Meaning:
    day, month, year = map(int, match.groups())
    return _date(year if len(match[3]) == _MAX_DIGITS else 2000 + year, month, day)


def _slashed(match: re.Match[str], *, month_first: bool) -> Meaning:
    first, second, year = map(int, match.groups())
    if second > 12 or (month_first and first <= 12):
        return _date(year, first, second)
    return _date(year, second, first)


def _day_and_month(match: re.Match[str]) -> Meaning:
    day, month = map(int, match.groups())
    return ("9", days(month, day)) if 1 <= month <= 12 and 1 <= day <= 31 else OTHER


def _year(match: re.Match[str]) -> Meaning:
    year = int(match[1])
    return ("Y", YEAR.nth(year)) if year in _YEARS else OTHER


def _ordinal(match: re.Match[str]) -> Meaning:
    return ("o", int(match[1])) if 1 <= int(match[1]) <= 31 else OTHER


def _amount(match: re.Match[str]) -> Meaning:
    return "n", int(match[1])


def _date(year: int, month: int, day: int) -> Meaning:
    try:
        return "Z", DAY.nth(DAY.index(date(year, month, day)))
    except (ValueError, OverflowError):
        return OTHER


_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Meaning]], ...] = (
    (re.compile(r"(\d{4})[-./](\d{1,2})[-./](\d{1,2})(?:T[\d:.]{2,15}Z?)?"), _year_first),
    (re.compile(r"(\d{1,2})[.-](\d{1,2})[.-](\d{4})г?"), _day_first),
    (re.compile(r"(\d\d)\.(\d\d)\.(\d\d)"), _day_first),
    (_MONTH_OF_YEAR, _month_of_year),
    (re.compile(r"(\d\d)[./](\d\d)"), _day_and_month),
    (re.compile(r"(\d{4})(?:г|го|-(?:й|ый|м|ом|го|ого|му))"), _year),
    (re.compile(r"(\d{1,2})(?:st|nd|rd|th)", re.IGNORECASE), _ordinal),
    (re.compile(r"(\d{1,2})-?(?:го|е|ое|ого|й|ый|м|ым|му|ому|я|ая|ю|ую)"), _ordinal),
    (re.compile(r"(\d{1,2})-?(?:х|ти|мя|ух)"), _amount),
)
