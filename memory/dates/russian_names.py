"""Russian names of times, and numbers in all their cases; `kinds` tells what the kinds mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memory.dates.names import day_of_week, days, easter, months

HARD = "ый ая ое ые ого ой ому ым ом ую ых ыми"
SOFT = "ий яя ее ие его ей ему им ем юю их ими"
HUSHED = "ий ая ее ие его ей ему им ем ую их ими"
NOUN = "- а у ом е"
_SOFT_NOUN = "ь я ю ем е"
_NUMBER = "ь и ью"

_FROM_ONE = (
    "один одна одно одну одного одной одному одним одном",
    "два две двух двум двумя двое двоих",
    "три трех трем тремя трое троих",
    "четыре четырех четырем четырьмя четверо",
)
_FROM_FIVE = "пят шест сем восем девят десят одиннадцат двенадцат тринадцат четырнадцат пятнадцат шестнадцат"
_ORDINALS = (
    "перв втор трет четверт пят шест седьм восьм девят десят одиннадцат двенадцат тринадцат четырнадцат"
)
_TEENS = "пятнадцат шестнадцат семнадцат восемнадцат девятнадцат двадцат"
_MONTHS = "январ феврал март апрел ма июн июл август сентябр октябр ноябр декабр"


def names() -> Iterator[tuple[str, Any, str]]:
    """Yield months, weekdays, seasons and holidays: a kind, a value and the words for it."""
    for number, stem in enumerate(_MONTHS.split(), 1):
        endings = NOUN if stem in ("март", "август") else "й я ем е" if stem == "ма" else _SOFT_NOUN
        yield "M", months(number), forms(stem, endings)
    for number, short in enumerate(
        ["янв", "фев февр", "мар", "апр", "", "июн", "июл", "авг", "сен сент", "окт", "ноя нояб", "дек"], 1
    ):
        yield "b", months(number), short
    for number, words in enumerate(
        (
            forms("понедельник", NOUN),
            forms("вторник", NOUN),
            "среда среду среды",
            forms("четверг", NOUN),
        )
    ):
        yield "w", day_of_week(number), words
    yield "w", day_of_week(4), forms("пятниц", "а у ы е ей")
    yield "w", day_of_week(5), forms("суббот", "а у ы е ой")
    yield "w", day_of_week(6), forms("воскресень", "е я ю ем")
    yield "w", day_of_week(5, 2), "выходные выходных выходным выходными"
    for number, short in enumerate(["пн", "вт", "ср", "чт", "пт", "сб", "вс"]):
        yield "v", day_of_week(number), short
    for first, adverb, noun in (
        (0, "зимой зимою", "зима зимы зиму зиме"),
        (3, "весной весною", "весна весны весну весне"),
        (6, "летом", "лето лета лету лете"),
        (9, "осенью", "осень осени"),
    ):
        yield "S", months(first, 3), adverb
        yield "s", months(first, 3), noun
    yield "K", days(1, 7, margin=1), forms("рождеств", "о а у е")
    yield "C", days(1, 7, margin=1), "рождеством"
    yield "K", easter(orthodox=True), forms("пасх", "а у и е")
    yield "C", easter(orthodox=True), "пасхой"
    yield "K", days(10, 31), f"{forms('хеллоуин', NOUN)} {forms('хэллоуин', NOUN)}"


def numbers() -> Iterator[tuple[str, Any, str]]:
    """Yield numbers and ordinals in all cases: a kind, a value and the words for it."""
    for number, words in enumerate(_FROM_ONE, 1):
        yield "n", number, words
    for number, stem in enumerate(f"{_FROM_FIVE} семнадцат восемнадцат девятнадцат".split(), 5):
        yield "n", number, forms(stem, _NUMBER)
    yield "n", 5, "пятеро"
    yield "n", 8, "восьми"
    yield "n", 0.5, "половиной"
    yield "n", 1.5, "полтора полторы полутора"
    yield "N", (2, 2), "пара пару пары паре парой"
    yield "N", (2, 4), "несколько нескольких нескольким"
    yield "t", 20, forms("двадцат", _NUMBER)
    yield "t", 30, forms("тридцат", _NUMBER)
    for number, stem in enumerate(f"{_ORDINALS} {_TEENS}".split(), 1):
        yield (
            "o",
            number,
            forms(stem, "ий ье ья ью ьего ьей ьему ьим ьем" if stem == "трет" else f"{HARD} ой"),
        )
    yield "o", 30, forms("тридцат", HARD)


def forms(stems: str, endings: str) -> str:
    """All the words that the stems make with the endings; "-" is the empty one."""
    return " ".join(stem + ending.strip("-") for stem in stems.split() for ending in endings.split())
