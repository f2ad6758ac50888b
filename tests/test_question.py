"""What a person asks about, without the words that only say that they ask."""

from __future__ import annotations

import time

import pytest

from memory.question import MAX_CHARS, bare_question


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


def test_the_name_of_a_speaker_is_left_out() -> None:
    assert bare_question("What is Anna's dog called?", "Anna") == "What is  dog called?"
    assert bare_question("Где живёт аня", "Аня") == "Где живёт"
    assert bare_question("Annabel's dog", "Anna") == "Annabel's dog"
    assert bare_question("C++ (", "C++ (") == "C++ ("


def test_a_long_text_is_cut_in_linear_time() -> None:
    started = time.process_time()

    for piece in ("а ", "скажи мне ", "can you ", "do you "):
        assert len(bare_question(piece * 50_000)) <= MAX_CHARS

    assert time.process_time() - started < 3
