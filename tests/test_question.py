"""What a person asks about: the words, whose words would answer, and which time is meant."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from memory.question import MAX_CHARS, Question, bare_question, understand
from memory.text import stems
from memory.types import Query
from tests.fakes.clock import NOON

SPEAKERS = ("", "Аня", "Илья Петров", "Caroline", "Даша")


def asked(text: str, *, asker: str = "", speakers: tuple[str, ...] = SPEAKERS, zone: str = "UTC") -> Question:
    return understand(Query(1, text, asker=asker, zone=ZoneInfo(zone)), speakers, NOON)


# Asking


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Напомни, пожалуйста, как зовут моего пса?", "как зовут моего пса?"),
        ("ты не помнишь, где ключи?", "где ключи?"),
        ("А что ты знаешь про мою собаку?", "мою собаку?"),
        ("знаешь ли ты мой рост?", "мой рост?"),
        ("Скажите мне номер заказа", "номер заказа"),
        ("can you please remind me what my dog is called?", "what my dog is called?"),
        ("Do you remember my birthday?", "my birthday?"),
        ("So, tell me about my wife", "my wife"),
    ],
)
def test_asking_is_not_part_of_the_question(text: str, bare: str) -> None:
    assert bare_question(text) == bare


@pytest.mark.parametrize(
    "text",
    [
        "Андрей должен мне денег?",
        "Soap?",
        "напомни",
        "что ты знаешь обо мне?",
        "what do you know about me?",
        "кто я?",
    ],
)
def test_a_question_keeps_its_own_words(text: str) -> None:
    assert bare_question(text) == text


def test_a_long_text_is_cut_in_linear_time() -> None:
    started = time.process_time()

    for piece in ("а ", "скажи мне ", "can you ", "do you "):
        assert len(bare_question(piece * 50_000)) <= MAX_CHARS

    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("text", "empty"),
    [
        *((text, True) for text in ("", "  ", "?!…", "🙂🎉", "\ud800", "\x00")),
        *((text, False) for text in ("кто я?", "1", "и", "Бублик \ud83d", "猫")),
    ],
)
def test_a_question_without_letters_and_digits_is_empty(text: str, empty: bool) -> None:
    assert asked(text).is_empty is empty


# Whose words are meant


@pytest.mark.parametrize(
    ("text", "bare", "about"),
    [
        ("What is Caroline's dog called?", "What is my dog called?", {"Caroline"}),
        ("What did Caroline’s sister say?", "What did my sister say?", {"Caroline"}),
        ("Does Caroline like her new job?", "do I like my new job?", {"Caroline"}),
        ("Has Caroline told why she left?", "have I told why I left?", {"Caroline"}),
        ("What does Dasha want?", "What do I want?", {"Даша"}),
        ("Where does Petrov live?", "Where do I live?", {"Илья Петров"}),
        ("Caroline", "Caroline", {"Caroline"}),
        ("What did Carolina say?", "What did Carolina say?", set()),
        ("Who is caroline?", "Who is caroline?", set()),  # a name has a capital, or it is a word
    ],
)
def test_an_english_question_about_a_speaker_is_asked_as_they_would_tell_it(
    text: str, bare: str, about: frozenset[str]
) -> None:
    question = asked(text)

    assert (question.bare, question.about) == (bare, about)


@pytest.mark.parametrize(
    ("text", "bare", "about"),
    [
        ("Где живёт Аня?", "Где живёт ?", {"Аня"}),
        ("Что подарили Ане?", "Что подарили ?", {"Аня"}),
        ("Кто приехал с Аней?", "Кто приехал с ?", {"Аня"}),
        ("Что Даша сказала Илье?", "Что сказала ?", {"Даша", "Илья Петров"}),
        ("Что Caroline сказала Даше?", "Что сказала ?", {"Caroline", "Даша"}),
        ("Где Anya?", "Где Anya?", {"Аня"}),  # nothing would be left to search by
        ("О Каролине?", "О Каролине?", {"Caroline"}),
        ("Кто такой Дашин брат?", "Кто такой Дашин брат?", set()),
    ],
)
def test_a_speaker_is_known_in_every_case_and_in_the_other_script(
    text: str, bare: str, about: frozenset[str]
) -> None:
    question = asked(text)

    assert (question.bare, question.about) == (bare, about)


def test_the_name_of_a_speaker_is_not_searched_for() -> None:
    assert asked("Что Аня купила в Казани?").words == tuple(stems("купила Казани"))
    assert asked("What did Caroline buy in Kazan?").words == tuple(stems("buy Kazan"))


def test_a_name_that_no_speaker_has_is_searched_for() -> None:
    question = asked("Что купила Марина?")

    assert question.about == frozenset()
    assert "марин" in question.words


@pytest.mark.parametrize("speakers", [("C++ (",), ("[a-z]+",), ("\\d", "a|b"), ("🙂",), ("I",), ("The",)])
def test_a_speaker_may_have_any_name(speakers: tuple[str, ...]) -> None:
    for text in ("Who is it?", f"Who is {speakers[0]}?", "C++ ( is [a-z]+"):
        assert asked(text, speakers=speakers).bare


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("как зовут мою собаку?", {"Илья"}),
        ("where do I live?", {"Илья"}),
        ("как зовут собаку?", set()),
        ("как зовут мою собаку, Аня?", {"Аня"}),  # whom the question names
        ("what is your name?", set()),
    ],
)
def test_my_means_the_one_who_asks(text: str, about: set[str]) -> None:
    assert asked(text, asker="Илья", speakers=("Аня", "Илья")).about == about


def test_without_an_asker_my_means_nobody_in_particular() -> None:
    assert asked("как зовут мою собаку?").about == frozenset()


# When


def test_a_time_is_a_window_and_no_part_of_the_meaning() -> None:
    question = asked("Где мы обедали вчера?")

    [window] = question.windows
    assert (window.since, window.until) == (
        datetime(2026, 3, 3, tzinfo=UTC),
        datetime(2026, 3, 4, tzinfo=UTC),
    )
    assert "вчера" not in question.bare
    assert set(stems("обедали")) <= set(question.words)


def test_yesterday_is_that_of_the_one_who_asks() -> None:
    [window] = asked("what happened yesterday?", zone="Asia/Vladivostok").windows

    assert window.since == datetime(2026, 3, 2, 14, tzinfo=UTC)
    assert window.until - window.since == timedelta(days=1)


@pytest.mark.parametrize("text", ["вчера", "last week", "в марте?"])
def test_a_question_of_nothing_but_a_time_keeps_it(text: str) -> None:
    question = asked(text)

    assert question.bare == text
    assert len(question.windows) == 1


@pytest.mark.parametrize(
    ("text", "wants"),
    [
        ("когда у меня отпуск?", (True, False, False)),
        ("what size do I wear?", (False, True, False)),
        ("what books have I read?", (False, False, True)),
        ("где ключи?", (False, False, False)),
    ],
)
def test_a_question_tells_what_it_wants(text: str, wants: tuple[bool, bool, bool]) -> None:
    question = asked(text)

    assert (question.wants_time, question.wants_number, question.wants_several) == wants


# The other script


def test_names_and_long_words_have_spellings_in_the_other_script() -> None:
    assert asked("Who is Masha?").spelled == {"masha": ("маш",)}
    assert "bublik" in asked("где бублик?").spelled["бублик"]
    assert asked("где мой кот и чай").spelled == {}


# Anything


@pytest.mark.parametrize(
    "text",
    [
        "слово " * 200_000,
        "Даша " * 200_000,
        "вчера " * 200_000,
        "Caroline's " * 100_000,
        " ".join(map(str, range(100_000))),
        "x" * 1_000_000,
        "щ" * 1_000_000,
        "?" * 1_000_000,
        "3 days before " * 70_000,
        "\ud800\x00" * 500_000,
        "Aeiouyclhj" * 100_000,
        " ".join(f"Chshyalikoe{number}" for number in range(50_000)),
        " ".join("Q" + "aeiou"[number % 5] * 3 + "bcdfg"[number % 5] for number in range(100_000)),
    ],
    ids=range(13),
)
def test_a_megabyte_is_understood_in_no_time(text: str) -> None:
    started = time.process_time()

    question = asked(text, asker="Илья")

    assert time.process_time() - started < 1
    assert len(question.bare) <= MAX_CHARS
