"""Days and times that people write: as moments, taken out of texts, and in texts that mean harm."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.dates import bound, windows, without

NOW = datetime(2026, 6, 17, 12, 30, tzinfo=UTC)
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


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("О чём мы говорили на прошлой неделе?", "О чём мы говорили?"),
        ("Что я говорил о поездке в Сочи прошлым летом?", "Что я говорил о поездке в Сочи?"),
        ("Вчера, когда мы гуляли, что мы ели?", "когда мы гуляли, что мы ели?"),
        ("Куда (в марте) ездила Аня?", "Куда ездила Аня?"),
        ("Что мы решили в апреле и мае про ремонт?", "Что мы решили про ремонт?"),
        ("Кто поздравил меня с Новым годом?", "Кто поздравил меня?"),
        ("Что было с марта по май, и кто приезжал?", "Что было, и кто приезжал?"),
        ("What did Anna say about the trip on March 5?", "What did Anna say about the trip?"),
        ("Did we march in the parade in march?", "Did we march in the parade?"),
        ("How was yesterday's meeting?", "How was meeting?"),
        ("What was decided at Tuesday's meeting?", "What was decided at meeting?"),
        ("Что было на завтрак позавчера?", "Что было на завтрак?"),
        ("In the last two weeks, what did I read?", "what did I read?"),
        ("May I ask what we did in May?", "May I ask what we did?"),
        ("How are you?", "How are you?"),
        ("  spaces  stay where no time is named ", "  spaces  stay where no time is named "),
        ("вчера?", ""),
    ],
)
def test_a_text_without_its_times_reads_well(text: str, rest: str) -> None:
    assert without(text, windows(text, NOW, UTC)) == rest


def test_words_that_are_not_in_the_text_change_nothing() -> None:
    assert without("Как дела?", windows("вчера", NOW, UTC)) == "Как дела?"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("слово " * 10_000, 0),
        ("вчера " * 10_000, 10_000),
        ("до до до марта " * 2_500, 2_500),
        ("2 дня " * 5_000, 0),
        ("5-" * 10_000, 0),
        ("1." * 50_000, 0),
        ("1" * 100_000, 0),
        ("новый" + " " * 100_000 + "год", 0),
        ("\ud800 вчера \udfff" * 1_000, 1_000),
        ("в 9999999 году через 9999999 лет", 0),
        ("9999 years ago, in 9999 years, 31.12.9999", 0),
        ("", 0),
        ("🙂", 0),
    ],
)
def test_a_hostile_text_takes_little_time_and_raises_nothing(text: str, found: int) -> None:
    named = windows(text, NOW, ZONE)

    assert len(named) == found
    assert isinstance(without(text, named), str)


@pytest.mark.parametrize("year", [1, 9999])
def test_the_ends_of_the_calendar_raise_nothing(year: int) -> None:
    said_at = datetime(year, 1 if year == 1 else 12, 1 if year == 1 else 31, 23, 30, tzinfo=UTC)

    for zone in (ZONE, ZoneInfo("America/New_York")):
        for text in (
            "вчера",
            "tomorrow",
            "last year",
            "через год",
            "на Новый год",
            "29 February",
            "before May",
        ):
            windows(text, said_at, zone)


_SOME_WORDS = """
в во на за к с со до по от через перед после между и 2 5 31 0 2024 9999 12.03.2025 2022/23 5-12 , - . %
прошлый последние следующую эта позапрошлом каждый начало конце середина ранее назад тому накануне г числа
день дней неделя недель месяц год лет час минут полгода два пару несколько полтора двадцать первого третий
март мая июле пятницу выходные зимой лето рождество пасху утром ночью вчера завтра вчерашнего недавно
in on the of since from to until before after between and by for last past next this every early mid late
earlier a an one half few couple first twenty day days week year years hour minutes ago back may March
April Jan Tuesday weekend Sat summer fall Christmas Easter night yesterday tonight recently
"""
_TEXTS = st.lists(st.sampled_from(_SOME_WORDS.split()), max_size=9).map(" ".join)


@settings(deadline=None, max_examples=300)
@given(_TEXTS)
def test_any_words_about_time_give_windows_that_are_in_the_text_and_end_after_they_begin(text: str) -> None:
    place = 0
    for window in windows(text, NOW, ZONE):
        assert window.since < window.until
        place = text.index(window.words, place) + len(window.words)
    assert isinstance(without(text, windows(text, NOW, ZONE)), str)
