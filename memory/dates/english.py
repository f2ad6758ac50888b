"""English words about time; `kinds` tells what their kinds mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memory.dates import idioms as idiom
from memory.dates.idioms import AFTERNOON, EVENING, MORNING, NIGHT
from memory.dates.names import day_of_week, days, easter, months, nth_weekday
from memory.dates.spans import DAY, DECADE, FORTNIGHT, HOUR, MINUTE, MONTH, QUARTER, WEEK, YEAR

_MONTHS = "january february march april may june july august september october november december"
_SHORT_MONTHS = "jan feb mar apr - jun jul aug sep oct nov dec"
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
_TEENS = "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"

# The holidays and idioms that are more than one word.
PHRASES: tuple[tuple[str, str, Any], ...] = (
    (r"(?:chinese|lunar) new year", "_", None),
    (r"new year(?:['’]?s)? eve", "K", days(12, 31)),
    (r"new year(?:['’]?s)?(?: day)?", "K", days(1, 1, margin=1)),
    (r"christmas eve", "K", days(12, 24)),
    (r"easter eggs?", "_", None),
    (r"valentine(?:['’]?s)?(?: day)", "K", days(2, 14)),
    (r"women['’]?s day", "K", days(3, 8)),
    (r"the other day", "5", idiom.last_days(10)),
    (r"(?:beginning|start) of", "B", 0),
    (r"middle of", "B", 1),
    (r"end of", "B", 2),
    (r"(?:more|most) recently", "_", None),
    (r"as of", "#", None),
    (r"prior to", "V", None),
    (r"eve of", "J", None),
    (r"from now", "G", None),
)


def words() -> Iterator[tuple[str, str, Any]]:
    """Yield each word with its kind and value."""
    for kind, value, listed in _table():
        for word in listed.split():
            yield word, kind, value


def _table() -> Iterator[tuple[str, Any, str]]:
    yield from _days_and_units()
    yield from _names()
    yield from _numbers()
    for kind, listed in _PARTICLES.items():
        yield kind, None, listed


def _days_and_units() -> Iterator[tuple[str, Any, str]]:
    for offset, day in ((0, "today"), (-1, "yesterday"), (1, "tomorrow")):
        yield "d", offset, day
    yield "5", idiom.tonight, "tonight"
    yield "5", idiom.last_days(30), "recently lately"
    for part, word in (
        (MORNING, "morning"),
        (AFTERNOON, "afternoon"),
        (EVENING, "evening"),
        (NIGHT, "night"),
    ):
        yield "p", part, word
    for period, one, many in (
        (MINUTE, "minute", "minutes"),
        (HOUR, "hour", "hours"),
        (DAY, "day", "days nights"),
        (WEEK, "week", "weeks"),
        (FORTNIGHT, "fortnight", "fortnights"),
        (MONTH, "month", "months"),
        (QUARTER, "quarter", "quarters"),
        (DECADE, "decade", "decades"),
    ):
        yield "u", period, one
        yield "P", period, many
    yield "g", YEAR, "year"
    yield "P", YEAR, "years"


def _names() -> Iterator[tuple[str, Any, str]]:
    for number, name in enumerate(_MONTHS.split(), 1):
        yield "m" if name in ("may", "march") else "E", months(number), name
    for number, name in enumerate(_SHORT_MONTHS.split(), 1):
        yield "b", months(number), name
    yield "b", months(9), "sept"
    for number, name in enumerate(_WEEKDAYS.split()):
        yield "W", day_of_week(number), name
        yield "v", day_of_week(number), name[:3]
    for number, short in ((1, "tues"), (3, "thur thurs")):
        yield "v", day_of_week(number), short
    yield "w", day_of_week(5, 2), "weekend"
    for first, name in ((0, "winter"), (3, "spring"), (6, "summer"), (9, "autumn")):
        yield "s", months(first, 3), name
    yield "F", months(9, 3), "fall"
    yield "K", days(12, 25, margin=1), "christmas xmas"
    yield "K", easter(orthodox=False), "easter"
    yield "K", days(10, 31), "halloween"
    yield "K", nth_weekday(11, 3, 4), "thanksgiving"


def _numbers() -> Iterator[tuple[str, Any, str]]:
    for number, word in enumerate(f"{_NUMBERS} seventeen eighteen nineteen".split(), 1):
        yield "n", number, word
    for number, word in enumerate(f"{_ORDINALS} {_TEENS}".split(), 1):
        yield "o", number, word
    yield "o", 30, "thirtieth"
    yield "t", 20, "twenty"
    yield "t", 30, "thirty"
    yield "n", 0.5, "half"
    yield "N", (2, 2), "couple"
    yield "N", (2, 4), "few several"
    yield "l", 1, "past"
    yield "l", 3, "recent"
    yield "3", 0, "early"
    yield "3", 1, "mid"
    yield "3", 2, "late"


_PARTICLES = {
    "1": "a an",
    "L": "last previous",
    "X": "next upcoming coming",
    "H": "this these current",
    "2": "earlier",
    "7": "every each",
    "I": "in",
    "i": "during over within throughout",
    "x": "around for",
    "#": "by",
    "j": "on at",
    "h": "the",
    "O": "of",
    "6": "since",
    "f": "from",
    "T": "to through thru",
    "U": "until till",
    "V": "before",
    "A": "after",
    "k": "between",
    "&": "and or",
    "a": "ago",
    "q": "back",
    "%": "times rubles dollars euros bucks people km miles kg steps calories pages words",
}
