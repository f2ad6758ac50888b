"""The smaller phrases that name a time: dates, years, "two weeks ago", "last Tuesday", "the past month"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from memory.dates import combining, counting
from memory.dates import meanings as meaning
from memory.dates import relations as relation
from memory.dates.kinds import COUNT, LEADING, NOT_AMOUNT, UNIT, YEARLY, Line


def _of_one(make: Callable[..., Any]) -> Callable[..., Any]:
    """The same without a number."""
    return lambda now, period: make(now, 1, period)


_NUMBERS: tuple[Line, ...] = (
    ("o", "(t)-?(o)", counting.total),
    ("n", "(t)-?(n)", counting.total),
    ("n", "(t)", counting.same),
    ("n", "(n)(?:6|&1?)(n)(?=[ugP])", counting.and_half),
    ("N", "(n)[-&](n)(?=[ugP])", counting.pair),
    ("_", "7n?([WwsSKCFEMmugPp])", counting.same),
    ("y", "(?<=[T&-])(y)(P)", counting.year_of),
)
_DATES: tuple[Line, ...] = (
    ("E", "(?<=[no])(b)", counting.same),
    ("E", "(b)(?=[noyY])", counting.same),
    ("R", "[f6k](n|o)[TU&](n|o)O?(M|E)", counting.dates),
    ("R", "(n|o)-(n|o)O?(M|E)", counting.dates),
    ("R", "[f6k]?(E)h?(n|o)[-TU&](n|o)(?!O?[EMmugP])", counting.dates_of),
    ("R", "(n|o)O?h?(M|E)", counting.date_of),
    ("R", "(n|o)O(m)", counting.date_of),
    ("R", "(n|o)(m)(?=[,|yY]|$)", counting.date_of),
    ("R", "([Em])h?(o)(?![ugPW])", counting.swapped(counting.date_of)),
    ("R", "(?<!I)(E)(n)(?![ugP%])", counting.swapped(counting.date_of)),
    ("R", "(m)(n)(?=[,|yY]|$)", counting.swapped(counting.date_of)),
    ("R", "(n|o)c", counting.day_of),
    ("R", "(?<=jh)(o)(?=[,|]|$)", counting.day_of),
    ("R", "(?<=[fj])(9)", counting.same),
)
_AGO: tuple[Line, ...] = (
    ("Z", "1?(n)?([ug])&1?(n)e?a", meaning.ago_and_half),
    ("Z", f"1?(n)?{UNIT}&?(n){UNIT}e?a", meaning.ago_and),
    ("Z", f"{COUNT}{UNIT}(?:e?a|q)", meaning.ago),
    ("Z", f"{UNIT}(n|N)e?a", counting.swapped(meaning.ago)),
    ("Z", "1([ug])(?:a|q)", _of_one(meaning.ago)),
    ("Z", "(?<!n)([ug])e?a", _of_one(meaning.ago)),
    ("Z", f"z{COUNT}{UNIT}(?![VUA])", meaning.ahead),
    ("Z", "z([ug])(?![VUA])", _of_one(meaning.ahead)),
    ("Z", f"(?<=I){COUNT}{UNIT}(?![VUAO])", meaning.ahead),
    ("Z", f"{COUNT}{UNIT}G", meaning.ahead),
    ("Z", "1([ug])G", _of_one(meaning.ahead)),
)
_YEARS: tuple[Line, ...] = (
    ("Z", "(?<=[Ii]h)L(P)(?!O)", meaning.rolling_few),
    ("Z", "(?<=[Ii]h)L([ug])(?!O)", _of_one(meaning.rolling)),
    ("Y", "(y)(?:g|4)", counting.same),
    ("Y", "g(y)", counting.same),
    ("Y", "(?<=i)(o)g", counting.short_year),
    ("Y", "(?<=[sS])(o)(?![ugPp])", counting.short_year),
    ("Y", f"(?<=[Ii])(y){NOT_AMOUNT}", counting.same),
    ("Y", f"(?<=x)(y){NOT_AMOUNT}", counting.recent_year),
    ("Y", f"(?<=Y&)(y){NOT_AMOUNT}", counting.same),
    ("Z", "([ug])VL", meaning.of_unit(meaning.last_but_one)),
    ("Z", "([EsKWw])VL", meaning.last_but_one),
)
_SHIFTS = (("L", meaning.last), ("Q", meaning.last_but_one), ("X", meaning.coming), ("H", meaning.this))


def _shifted_years() -> Iterator[Line]:
    for letter, make in _SHIFTS:
        yield "Y", f"{letter}(g)", meaning.of_unit(make)


_WITH_YEAR: tuple[Line, ...] = (
    ("Z", "([sS])(y)-(y)", counting.over_new_year),
    ("Z", f"{YEARLY}[,-]?O?h?(y){NOT_AMOUNT}", counting.in_year),
    ("Z", f"{YEARLY},?{LEADING}(Y)", counting.in_year),
    ("Z", f"(Y),?{LEADING}{YEARLY}", counting.swapped(counting.in_year)),
)


def _shifted() -> Iterator[Line]:
    yield "Z", "[lL]([ug])[UV]h?([ZRKC])", relation.period_before
    yield "Z", "[lL]?([Wws])Vh?([ZRKC])", relation.last_before
    yield "Z", "o?([Wws])Ah?([ZRKC])", relation.first_after
    for letter, make in _SHIFTS:
        yield "Z", f"{letter}(u)(?!Oh?[MERsZ])", meaning.of_unit(make)
    yield "Z", "(o)([Wwu])O?h?([ZYMERs])", combining.nth_of
    yield "Z", "(?:LO?|l)([Wwu])Oh?([ZYMERs])", combining.last_of
    yield "Z", "l([Wwu])([ZYMR])", combining.last_of
    for letters, names, make in (
        ("H?[Ll]", "([RMEmsSFKCWwv])", meaning.last),
        ("Q", "([RMEsSFKCWw])", meaning.last_but_one),
        ("X", "([RMEmsSFKCWwv])", meaning.coming),
        ("H", "([RMEsSFKCWwv])", meaning.this),
        ("8", "([sKw])", meaning.this),
    ):
        yield "Z", letters + names, make


_UNITS: tuple[Line, ...] = (
    ("Z", "[lL](n)([ugP])O?h?([ZRMEs])", combining.last_units_of),
    ("Z", "(o)(n)([ugP])O?h?([ZRMEs])", combining.first_units_of),
    ("Z", f"H?[LlH](n|N)O?{UNIT}", meaning.rolling),
    ("Z", "H?l(P)", meaning.rolling_few),
    ("Z", "H?(l)([ug])", meaning.rolling_one),
    ("Z", f"X(n|N){UNIT}", meaning.next_units),
)


def lines() -> Iterator[Line]:
    """Yield the rules in the order in which they are applied."""
    yield from _NUMBERS
    yield from _DATES
    yield from _AGO
    yield from _YEARS
    yield from _shifted_years()
    yield from _WITH_YEAR
    yield from _shifted()
    yield from _UNITS
