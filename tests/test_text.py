"""Words of Russian and English texts."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.stopwords import STOP_WORDS
from memory.text import MAX_WORD, clean, fold, language_of, stems, text_hash

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=200)  # lone surrogates too


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("собака", "собаку"),
        ("Ёлка", "елки"),
        ("работаю", "РАБОТАЕТ"),
        ("dogs", "dog's"),
        ("running", "runs"),
        ("café", "Cafe"),
        ("Müller", "muller"),
        ("темно-синего", "тёмно‑синий"),
        ("зе\u200bбра", "зебра"),
        ("и\u0306од", "йод"),
    ],
)
def test_forms_of_a_word_have_the_same_stems(one: str, other: str) -> None:
    assert stems(one) == stems(other) != []


@pytest.mark.parametrize(
    "text",
    [
        "как",
        "Что это и где оно?",
        "кто-нибудь",
        "who is it?",
        "What's that?",
        "I don't",
        "she'd've won't",
        "т.е.",
    ],
)
def test_words_that_every_text_has_are_left_out(text: str) -> None:
    assert stems(text) == []


def test_what_a_question_is_about_stays() -> None:
    assert stems("Как зовут моего пса?") == ["зовут", "пса"]
    assert stems("What is my dog called?") == ["dog", "call"]


@pytest.mark.parametrize(
    ("text", "whole", "parts"),
    [
        ("ZX-4471", "zx-4471", {"zx", "4471"}),
        ("zx4471", "zx4471", {"zx", "4471"}),
        ("8-800-555-35-35", "8-800-555-35-35", {"8", "800", "555", "35"}),
        ("Wi-Fi", "wi-fi", {"wi", "fi"}),
        ("ivan.petrov+x@mail.ru", "ivan.petrov+x@mail.ru", {"ivan", "petrov", "mail"}),
        ("12.05.2024", "12.05.2024", {"12", "05", "2024"}),
        ("10:30", "10:30", {"10", "30"}),
        ("example.com", "example.com", {"com"}),
        ("snake_case", "snake_case", {"snake", "case"}),
        ("HTTPServer", "httpserver", {"http", "server"}),
        ("МояФирма", "мояфирм", {"фирм"}),
        ("C++", "c++", set()),
        ("C#", "c#", set()),
    ],
)
def test_identifiers_are_kept_whole_and_in_parts(text: str, whole: str, parts: set[str]) -> None:
    found = stems(text)

    assert found[0] == whole
    assert parts <= set(found)


@pytest.mark.parametrize("text", ["", "   ", "🙂🎉", "?!…—", "\x00", "\ud800", "___", "'"])
def test_symbols_make_no_words(text: str) -> None:
    assert stems(text) == []


def test_stop_words_are_folded_as_tokens_are() -> None:
    assert {word for word in STOP_WORDS if word != fold(word)} == set()


def test_an_endless_word_is_cut() -> None:
    assert stems("x" * 100_000) == ["x" * MAX_WORD]


@pytest.mark.parametrize("piece", ["a++", "a.+", "1.a", "-'", "a@", "a-", "слово дом ", "\ud83d"])
def test_hostile_text_costs_linear_time(piece: str) -> None:
    started = time.process_time()

    stems(piece * 50_000)
    text_hash(piece * 50_000)

    assert time.process_time() - started < 3


def test_threads_do_not_share_a_stemmer() -> None:
    wrong: list[str] = []

    def work(number: int) -> None:
        for turn in range(2_000):
            word = f"бегающ{'ая' if turn % 2 else 'ий'}"
            if stems(f"{word}{'о' * (turn % 50)} {number}")[-1] != str(number):
                wrong.append(word)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_the_same_words_have_the_same_hash() -> None:
    known = text_hash("Мою собаку зовут Бублик.")

    assert text_hash("  мою   СОБАКУ зовут бублик!! ") == known
    assert text_hash("«Мою собаку зовут Бублик»") == known
    assert text_hash("- Мою собаку\nзовут Бублик") == known
    assert text_hash("Мою кошку зовут Бублик") != known


@pytest.mark.parametrize(
    ("one", "other"),
    [("Я пишу на C++", "Я пишу на C"), ("🙂", "😀"), ("-5", "5"), ("5%", "5"), ("не люблю", "люблю")],
)
def test_texts_that_mean_different_things_differ_in_their_hash(one: str, other: str) -> None:
    assert text_hash(one) != text_hash(other)


def test_cleaning_keeps_what_can_be_stored() -> None:
    assert clean(" a\r\nb\x00\ud800\x07\tc\u2028d\ud83d\ude00 ") == "a\nb\tc\nd😀"


@given(ANY_TEXT)
def test_cleaned_text_can_be_encoded_and_stays_as_it_is(text: str) -> None:
    cleaned = clean(text)

    assert cleaned.encode().decode() == cleaned
    assert clean(cleaned) == cleaned
    assert "\x00" not in cleaned


@given(ANY_TEXT)
def test_any_text_can_be_folded_hashed_and_cut_into_words(text: str) -> None:
    assert len(text_hash(text)) == 64
    assert "ё" not in fold(text)
    assert all(word and len(word) <= MAX_WORD for word in stems(text))


@pytest.mark.parametrize(
    ("text", "language"),
    [("Привет, Rex", "ru"), ("Hello, Ян", "en"), ("123 🙂", "en"), ("", "en"), ("Grüße", "en")],
)
def test_the_script_of_most_letters_tells_the_language(text: str, language: str) -> None:
    assert language_of(text) == language


def test_without_letters_the_language_is_the_one_given() -> None:
    assert language_of("42?", default="ru") == "ru"
