"""Russian words about time, with ё as е; `kinds` tells what their kinds mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memory.dates import idioms as idiom
from memory.dates.idioms import AFTERNOON, EVENING, MORNING, NIGHT
from memory.dates.names import days
from memory.dates.russian_names import HARD, HUSHED, NOUN, SOFT, forms, names, numbers
from memory.dates.spans import DAY, HALF_YEAR, HOUR, MINUTE, MONTH, QUARTER, WEEK, YEAR

# The holidays and idioms that are more than one word.
PHRASES: tuple[tuple[str, str, Any], ...] = (
    (r"китайск\w{2,3} нов\w{2,3} год\w{0,2}", "_", None),
    (r"стар\w{2,3} нов\w{2,3} год\w{0,2}", "K", days(1, 13, 14)),
    (r"новым годом", "C", days(1, 1, margin=1)),
    (r"нов(?:ый|ого|ому) год(?:а|у)?", "K", days(1, 1, margin=1)),
    (r"новогодн(?:ие|их|им|ими) (?:каникул\w{0,3}|праздник\w{0,3})", "K", days(1, 1, 8)),
    (r"майск(?:ие|их|им|ими) (?:выходн\w{2,3}|праздник\w{0,3})", "K", days(5, 1, 11)),
    (r"(?:день|дня|дню|днем|дне) победы", "K", days(5, 9)),
    (r"(?:день|дня|дню|днем|дне) (?:святого валентина|влюбленных)", "K", days(2, 14)),
    (r"женск(?:ий|ого|ому|им|ом) д(?:ень|ня|ню|нем|не)", "K", days(3, 8)),
    (r"на днях", "5", idiom.last_days(7)),
    (r"(?:в|за) последнее время", "5", idiom.last_days(30)),
    (r"(?<=на\s)той неделе", "5", idiom.last_week),
    (r"(?<=на\s)неделе(?!\s\d)", "5", idiom.this_week),
    (r"начиная со?", "6", None),
)


def words() -> Iterator[tuple[str, str, Any]]:
    """Yield each word with its kind and value."""
    for kind, value, listed in _table():
        for word in listed.split():
            yield word, kind, value


def _table() -> Iterator[tuple[str, Any, str]]:
    yield from _days_and_units()
    yield from names()
    yield from numbers()
    yield from _shifts()
    for kind, listed in _PARTICLES.items():
        yield kind, None, listed


def _days_and_units() -> Iterator[tuple[str, Any, str]]:
    for offset, day in ((0, "сегодня"), (-1, "вчера"), (-2, "позавчера"), (1, "завтра"), (2, "послезавтра")):
        yield "d", offset, day
    for offset, stem in ((0, "сегодняшн"), (-1, "вчерашн"), (-2, "позавчерашн"), (1, "завтрашн")):
        yield "D", offset, forms(stem, SOFT)
    yield "5", idiom.last_days(30), "недавно"
    yield "5", idiom.last_year, forms("прошлогодн", SOFT)
    yield "p", MORNING, "утро утром"
    yield "p", AFTERNOON, "днем"
    yield "p", EVENING, "вечер вечером"
    yield "p", NIGHT, "ночь ночью"
    yield "u", DAY, "день дня дню дне сутки суток"
    yield "P", DAY, "дни дней дням днями днях"
    yield "u", WEEK, "неделя неделю неделе недели неделей недельку"
    yield "P", WEEK, "недель неделям неделями неделях"
    yield "u", MONTH, forms("месяц", NOUN)
    yield "P", MONTH, forms("месяц", "ы ев ам ами ах")
    yield "u", QUARTER, forms("квартал", NOUN)
    yield "u", HALF_YEAR, "полгода"
    yield "g", YEAR, forms("год", NOUN)
    yield "P", YEAR, "лет годы годов годам годами годах"
    yield "u", HOUR, forms("час", NOUN)
    yield "P", HOUR, "часы часов"
    yield "u", MINUTE, "минута минуту минуты минутку"
    yield "P", MINUTE, "минут"


def _shifts() -> Iterator[tuple[str, Any, str]]:
    yield "L", None, f"{forms('прошл', HARD)} {forms('предыдущ минувш', HUSHED)}"
    yield "Q", None, forms("позапрошл", HARD)
    yield "X", None, forms("следующ будущ ближайш", HUSHED)
    yield "H", None, "этот эта эту этой этого этому этим этом эти этих этими"
    yield "H", None, f"{forms('текущ', HUSHED)} {forms('нынешн', SOFT)}"
    yield "l", 1, forms("последн", "ий яя ее его ей ему им ем юю")
    yield "l", 3, "последние последних последними"
    yield "B", 0, "начало начале началу началом"
    yield "0", 0, "начала"
    yield "B", 1, forms("середин", "а у е ы ой")
    yield "B", 2, "конец конце концу конца концом"
    yield "2", None, "ранее"
    yield "7", None, forms("кажд", HARD)


_PARTICLES = {
    "8": "это",
    "i": "в во",
    "x": "на за около",
    "#": "к ко",
    "6": "с со",
    "f": "от",
    "T": "по",
    "U": "до",
    "V": "перед",
    "A": "после",
    "k": "между",
    "&": "и или",
    "z": "через",
    "a": "назад",
    "e": "тому",
    "J": "накануне",
    "c": "числа",
    "4": "г",
    "%": "раз раза рублей рубля руб долларов евро тысяч тыс человек штук шт км метров кг"
    " шагов калорий страниц слов лайков подписчиков",
}
