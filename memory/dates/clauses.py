"""The larger phrases that name a time by parts of one, by another one or by a preposition before it."""

from __future__ import annotations

from collections.abc import Iterator

from memory.dates import combining, counting
from memory.dates import idioms as idiom
from memory.dates import meanings as meaning
from memory.dates import relations as relation
from memory.dates.kinds import COUNT, LEADING, NOT_AMOUNT, TIME, UNIT, YEARLY, Line

_PARTS: tuple[Line, ...] = (
    ("Z", "(d)", idiom.day),
    ("Z", "(D)(u)", idiom.day_named),
    ("Z", "(D)", idiom.day),
    ("Z", "(5)", idiom.spoken),
    ("Z", "(Y)", counting.same),
    ("B", "(?<=[6fUVA])(0)", counting.same),
    ("Z", f"([3B])-?h?([Zy]){NOT_AMOUNT}", combining.third),
    ("R", "(3)-?h?([RMEmsSF])", combining.third_of_name),
    ("R", "(B)h?([RMEmsF])", combining.third_of_name),
    ("R", "(B)h?([ug])", combining.third_of_unit),
    ("R", "(3)[Iix]h?([ug])", combining.third_of_unit),
    ("Z", "(3)[Iix]h?(Z)", combining.third),
    ("R", "(3)[Iix]h?([RMEs])", combining.third_of_name),
    ("Z", "2[Iixj]?h?(Z)", combining.until_now),
    ("Z", "(u)O[f6]?h?([RKZ])", combining.week_of),
    ("Z", "(u)6?(R)", combining.week_of),
    ("Z", f"([WwvR]),?{LEADING}([RZ])", combining.named_in),
    ("Z", f"([RZ]),?{LEADING}([Wwv])", counting.swapped(combining.named_in)),
    ("Z", f"{YEARLY},?{LEADING}(Z)", combining.inside),
    ("Z", f"(Z),?{LEADING}{YEARLY}", counting.swapped(combining.inside)),
    ("Z", "(p)x([ZRw])", combining.night_before),
    ("Z", "(p)VL", idiom.part_of_day(-2)),
    ("Z", f"([ZRWwvK]),?{LEADING}(p)", combining.part_of),
    ("Z", f"(p),?{LEADING}([ZRWwvK])", counting.swapped(combining.part_of)),
    ("Z", "[H8](p)", idiom.part_of_day(0)),
    ("Z", "L(p)", idiom.part_of_day(-1)),
)
_COMBINED: tuple[Line, ...] = (
    ("Z", f"{COUNT}{UNIT}[UV]h?{TIME}", relation.offset(-1)),
    ("Z", f"z?{COUNT}{UNIT}Ah?{TIME}", relation.offset(1)),
    ("Z", f"(?<=h)([ug])Vh?{TIME}", relation.period_before),
    ("Z", f"(?<=h)([ug])Ah?{TIME}", relation.period_after),
    ("Z", f"1?([ug])[UV]h?{TIME}", relation.offset_of_one(-1)),
    ("Z", f"z?1?([ug])Ah?{TIME}", relation.offset_of_one(1)),
    ("Z", f"Jh?{TIME}", relation.eve),
    ("Z", "[f6]h?([ZRMEmsFKCWwvy]),?[TU]h?([ZRMEmsFKCWwvy])(?!%)", relation.between),
    ("Z", "kh?([ZRMEmsFKCWwvy])&h?([ZRMEmsFKCWwvy])(?!%)", relation.between),
    ("Z", "([ZRMEmsWwvy])-([ZRMEmsWwvy])(?!%)", relation.between),
    ("Z", f"6h?([ZRMEmsFKWwvy]){NOT_AMOUNT}", relation.since),
    ("Z", f"(?<![uP])[UV]h?{TIME}{NOT_AMOUNT}", relation.before),
    ("Z", f"Ah?{TIME}{NOT_AMOUNT}", relation.after),
    ("Z", f"#h?{TIME}{NOT_AMOUNT}", relation.up_to),
    ("Z", "#(m)", relation.up_to),
    ("Z", "[UV]([mF])", relation.before),
    ("Z", "A([mF])", relation.after),
)
_ALONE: tuple[Line, ...] = (
    ("Z", "(?:(?<=[Iixf])|(?<=[Iixf]h))([MEsF])", meaning.settled),
    ("Z", "(?<=[Iixf])(m)", meaning.settled),
    ("Z", "(?:(?<=[Iixjf])|(?<=[Iixjf]h))(w)", meaning.settled),
    ("Z", "(?<=[ixjf])(v)", meaning.settled),
    *(("Z", "(?<=Z[&,])([MEw])", meaning.settled),) * 3,
    ("Z", "([RSKCW])(?!,?y(?!%))", meaning.settled),
)


def lines() -> Iterator[Line]:
    """Yield the rules in the order in which they are applied, after those of the smaller phrases."""
    yield from _PARTS
    yield from _COMBINED
    yield from _ALONE
