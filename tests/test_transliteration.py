"""How words are looked for in the other script."""

from __future__ import annotations

import pytest

from memory.text import fold, stems
from memory.transliteration import MAX_SPELLINGS, spellings


@pytest.mark.parametrize(
    ("latin", "cyrillic"),
    [
        ("Dasha", "Даша"),
        ("Masha", "Маша"),
        ("Zhenya", "Женя"),
        ("Sergey", "Сергей"),
        ("Sergei", "Сергей"),
        ("Ilya", "Илья"),
        ("Yulia", "Юлия"),
        ("Khristina", "Христина"),
        ("Shchukin", "Щукин"),
        ("Bublik", "Бублик"),
        ("Kazan", "Казань"),
        ("Chicago", "Чикаго"),
        ("Mikhail", "Михаил"),
        ("Anna", "Анна"),
        ("telegram", "телеграм"),
    ],
)
def test_a_latin_name_is_spelled_as_its_cyrillic_stem_begins(latin: str, cyrillic: str) -> None:
    [stem] = stems(cyrillic)

    assert any(stem.startswith(spelling) for spelling in spellings(fold(latin)))


@pytest.mark.parametrize(
    ("cyrillic", "latin"),
    [
        ("Даше", "dasha"),
        ("Женя", "zhenya"),
        ("Сергеем", "sergey"),
        ("Щукина", "shchukin"),
        ("Хельсинки", "helsinki"),
        ("Бублика", "bublik"),
        ("Чикаго", "chicago"),
        ("Компанией", "company"),
    ],
)
def test_a_cyrillic_name_in_any_case_is_how_its_latin_form_begins(cyrillic: str, latin: str) -> None:
    [stem] = stems(cyrillic)

    assert any(latin.startswith(spelling) or spelling == latin for spelling in spellings(stem))


def test_the_likeliest_spelling_comes_first() -> None:
    assert spellings("хан") == ("khan", "han")
    assert spellings("хельсинк") == ("khelsink", "helsink", "khelsinc", "helsinc")
    assert spellings("zhenya")[0] == "жен"


@pytest.mark.parametrize(
    "word", ["", "я", "ab", "аня1", "zx-4471", "4471", "dашa", "日本語", "josé", "c++", "\ud800"]
)
def test_what_is_short_or_of_neither_script_has_no_other_spelling(word: str) -> None:
    assert spellings(word) == ()


@pytest.mark.parametrize("word", ["aeiouyclhj" * 6, "e" * 64, "щ" * 64, "ъ" * 3, "ыьъ" * 20])
def test_an_endless_word_has_few_spellings(word: str) -> None:
    assert len(spellings(word)) <= MAX_SPELLINGS
