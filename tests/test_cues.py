"""What wording gives away: whether a text asks, for what, and of whom it tells."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from memory import cues

ASKING = [
    "как зовут моего пса",
    "Где ключи?",
    "А куда мы едем",
    "о чём она писала",
    "У кого есть зонт",
    "is it far",
    "So what did she say",
    "Is that you? [photo]",
    "ты уверен?!",
    '"Really?"',
    "Правда?)",
]
TELLING = [
    "мою собаку зовут Бублик",
    "Какао люблю больше чая",  # begins like "как"
    "Кактус расцвёл",
    "Whatever you like",
    "Island life is quiet",
    "He asked who it was. I did not know.",
    "",
    "🙂",
]


@pytest.mark.parametrize(("text", "asks"), [(t, True) for t in ASKING] + [(t, False) for t in TELLING])
def test_a_question_is_known_by_its_first_word_or_its_last_sign(text: str, asks: bool) -> None:
    assert cues.is_question(text) is asks


@pytest.mark.parametrize(
    ("text", "ends", "only"),
    [
        ("Where is it?", True, True),
        ("Where is it ?!", True, True),
        ("«Где ключи?»", True, True),
        ("I have a dog. And you?", True, False),
        ("У меня пёс. А у тебя?", True, False),
        ("Where is it? I found it.", False, False),
        ("where is it", False, False),
        ("", False, False),
        ("?", True, True),
        ("Look at this? [photo of a dog]", True, False),
    ],
)
def test_who_ends_asking_may_have_told_something_before(text: str, ends: bool, only: bool) -> None:
    assert (cues.ends_asking(text), cues.only_asks(text)) == (ends, only)


@pytest.mark.parametrize(
    ("text", "oneself", "other"),
    [
        ("I have a dog", True, False),
        ("it's my dog", True, False),
        ("I’ve seen it", True, False),
        ("У меня есть собака", True, False),
        ("Моё пальто", True, False),
        ("Your dog is nice", False, True),
        ("Тебе привет", False, True),
        ("Can you help me?", True, True),
        ("Ямайка далеко", False, False),
        ("the mind is young", False, False),
        ("ячмень", False, False),
        ("", False, False),
    ],
)
def test_pronouns_tell_of_whom_it_is(text: str, oneself: bool, other: bool) -> None:
    assert (cues.is_about_oneself(text), cues.is_about_the_other(text)) == (oneself, other)


def check(cue: Callable[[str], object], yes: tuple[str, ...], no: tuple[str, ...]) -> None:
    assert [text for text in yes if not cue(text)] == []
    assert [text for text in no if cue(text)] == []


def test_a_text_may_tell_a_time() -> None:
    check(
        cues.tells_time,
        ("we met last Friday", "in 2023", "два года назад", "В июне уезжаем", "по средам, в среду", "TODAY"),
        ("we met", "marching on", "12", "room 20234"),
    )


def test_a_text_may_tell_a_number() -> None:
    check(
        cues.tells_number,
        ("room 12", "at 7:30", "two cats", "Три кота", "пару раз", "it costs 1,200.50"),
        ("a cat", "someone", "тритон", "often"),
    )


def test_a_question_may_want_a_time() -> None:
    check(
        cues.wants_time,
        (
            "When did it start?",
            "what year was it",
            "Когда отпуск?",
            "во сколько поезд",
            "как давно вы знакомы",
        ),
        ("Where was it?", "Whenever", "что было", "некогда"),
    )


def test_a_question_may_want_a_number() -> None:
    check(
        cues.wants_number,
        ("How many cats?", "what size do I wear", "Сколько стоит?", "какой номер заказа", "how old is she"),
        ("How is she?", "which cat", "какой цвет", "несколько"),
    )


def test_a_question_may_want_several_things() -> None:
    check(
        cues.wants_several,
        ("What books have I read?", "which cities do I like", "Какие книги я читал?", "list my pets"),
        (
            "What is this?",
            "What does he want?",
            "What books did I read?",
            "что это",
            "Where was the dog's bed?",
        ),
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("we went to Paris with Anna", 2),
        ("Мы были в Казани с Ильёй", 2),
        ("Paris is far", 0),  # the first word has a capital anyway
        ("the «Бублик» barks", 1),
        ("no names here", 0),
        ("", 0),
    ],
)
def test_names_are_words_with_a_capital_inside_a_sentence(text: str, count: int) -> None:
    assert cues.names(text) == count


@pytest.mark.parametrize(
    "piece", ["? ", "how many ", "what kinds of a ", "а что ", "Aa, ", "1,", "[", " ", ".", "!"]
)
def test_long_texts_take_linear_time(piece: str) -> None:
    text = piece * 60_000
    started = time.process_time()

    for cue in (
        cues.is_question,
        cues.ends_asking,
        cues.only_asks,
        cues.is_about_oneself,
        cues.is_about_the_other,
        cues.tells_time,
        cues.tells_number,
        cues.names,
        cues.wants_time,
        cues.wants_number,
        cues.wants_several,
    ):
        cue(text)

    assert time.process_time() - started < 3
