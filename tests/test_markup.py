"""Markdown becomes messages without losing a word, in the form that Telegram takes."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from telegramify_markdown.converter import STANDARD_OPTIONS

from handlers.guard import OPTIONS
from handlers.markup import plain, preview, render
from handlers.split import LIMIT, MAX_ENTITIES, Entity, Part, cut, units

EMPTY = "(nothing)"
CODE = ("pre", "code")

WORDS = st.text(alphabet="абвгёжqwxz0123456789", min_size=1, max_size=8)
MARKS = """
<b>¦</i>¦<!--¦-->¦||¦|¦$¦$$¦~¦~~¦*¦**¦`¦```¦[¦](¦)¦>¦#¦1.¦_¦!¦- ¦    ¦\t¦\n\n¦\n¦\\
¦&amp;¦https://e.org/a_b¦👨‍👩‍👧¦🇺🇦¦\u0301
"""
NOISE = st.sampled_from(MARKS.split("¦"))
TEMPLATES = """
%s¦**%s**¦*%s*¦~~%s~~¦`%s`¦**%s:**¦**%s:**then¦[%s](https://e.org)¦[%s](src/a.py)¦![%s](https://e.org/i.png)
¦Vec<%s>¦<div>%s</div>¦<!-- %s -->¦a || %s || b¦||%s||¦~%s~¦$%s$¦\\(%s\\)¦$$\n%s\n$$¦[%s]: note¦[^1]: %s
¦# %s¦> %s¦- %s\n  - deeper¦7. %s\n9. nine¦- [x] %s¦    %s¦```python\n%s\n```
¦| a | b |\n|---|---|\n| %s | c || d |
""".strip().split("¦")

INLINE = st.tuples(st.sampled_from(TEMPLATES), st.lists(WORDS, min_size=1, max_size=5)).map(
    lambda pair: pair[0].strip("\n") % " ".join(pair[1])
)
PIECES = st.lists(st.one_of(INLINE, NOISE, WORDS), max_size=14)
MARKDOWN = st.builds(str.join, st.sampled_from(["\n\n", "\n", " ", ""]), PIECES)


def visible(markdown: str) -> set[str]:
    source = re.sub(r"\[[xX]\]", " ", markdown.replace("&amp;", "&"))
    return set(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", source).casefold()))


def letters(parts: list[Part]) -> str:
    shown = " ".join(part.text for part in parts)
    hidden = " ".join(f"{e.url or ''} {e.language or ''}" for part in parts for e in part.entities)
    text = unicodedata.normalize("NFKC", f"{shown} {hidden}").casefold()
    return "".join(re.findall(r"[^\W_]+", text))


def stretch(part: Part, entity: Entity) -> str:
    raw = part.text.encode("utf-16-le")[entity.offset * 2 : entity.end * 2]
    return raw.decode("utf-16-le")


def formats(parts: list[Part]) -> list[tuple[str, str]]:
    return [(entity.type, stretch(part, entity)) for part in parts for entity in part.entities]


def assert_sendable(parts: list[Part]) -> None:
    assert parts
    for part in parts:
        assert part.text.strip()
        assert units(part.text) <= LIMIT
        assert units(part.text) == len(part.text.encode("utf-16-le")) // 2
        assert len(part.entities) <= MAX_ENTITIES
        for entity in part.entities:
            assert entity.length > 0
            assert entity.offset >= 0
            assert entity.end <= units(part.text)
            assert stretch(part, entity)  # does not begin or end within a character
        assert_nesting(part.entities)


def assert_nesting(entities: tuple[Entity, ...]) -> None:
    code = [e for e in entities if e.type in CODE]
    for atom in code:
        inside = [e for e in entities if e is not atom and e.offset < atom.end and atom.offset < e.end]
        assert {e.type for e in inside} <= {"blockquote"}
    quotes = [e for e in entities if e.type == "blockquote"]
    for quote in quotes:
        assert not [e for e in quotes if e is not quote and e.offset < quote.end and quote.offset < e.end]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MARKDOWN)
def test_every_word_of_an_answer_reaches_the_chat(markdown: str) -> None:
    parts = render(markdown, EMPTY)

    assert_sendable(parts)
    lost = {word for word in visible(markdown) if word not in letters(parts)}
    assert not lost


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MARKDOWN)
def test_every_prefix_of_an_answer_can_be_shown_without_losing_a_word(markdown: str) -> None:
    for length in range(1, len(markdown)):
        prefix = markdown[:length]

        assert_sendable(render(prefix, EMPTY))

        shown = preview(prefix)
        assert all(not part.entities and units(part.text) <= LIMIT for part in shown)
        lost = {word for word in visible(prefix) if word not in letters(render(prefix, EMPTY))}
        assert not lost


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_text_at_all_can_be_sent(text: str) -> None:
    parts = render(text + "\ud800\x00", EMPTY)

    assert_sendable(parts)
    for part in parts:
        part.text.encode()
        assert "\x00" not in part.text


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("Vec<T> and a<br>b", "Vec<T> and a<br>b"),
        ("<div>one <b>two</b>\n</div>\n\n<!-- three -->", "<div>one <b>two</b>\n</div>\n\n<!-- three -->"),
        ("a || b && c || d", "a || b && c || d"),
        ("цена 100$, а было 200$; $HOME/$PATH", "цена 100$, а было 200$; $HOME/$PATH"),
        ("1986. родилась\n1990. школа", "1986. родилась\n1990. школа"),
        ("[main.py](src/main.py)", "[main.py](src/main.py)"),
        ("[^1]: источник", "[^1]: источник"),
        ("\\(\\alpha_1 + x^{10}\\)", "α₁ + x¹⁰"),
        ("# Заголовок", "Заголовок"),
        ("snake_case и ~5 штук", "snake_case и ~5 штук"),
        ("- [x] готово\n- [ ] нет", "☑ готово\n☐ нет"),
    ],
)
def test_what_a_parser_would_misread_is_shown_as_it_was_meant(markdown: str, shown: str) -> None:
    assert [part.text for part in render(markdown, EMPTY)] == [shown]


def test_bold_with_punctuation_at_a_word_is_bold() -> None:
    parts = render("**Важно:**текст и слово**«Да»** потом", EMPTY)

    assert parts[0].text == "Важно:текст и слово«Да» потом"
    assert formats(parts) == [("bold", "Важно"), ("bold", "Да»")]


def test_a_row_with_more_cells_than_the_table_keeps_them() -> None:
    parts = render("| op | meaning |\n|---|---|\n| a | x || y | z |", EMPTY)

    assert "x || y | z" in parts[0].text
    assert [kind for kind, _ in formats(parts)] == ["pre"]


def test_two_pipes_in_code_stay_code() -> None:
    parts = render("`a || b` и ```\nc || d\n```", EMPTY)

    assert ("code", "a || b") in formats(parts)
    assert "c || d" in parts[0].text


def test_code_within_bold_is_code_and_the_rest_stays_bold() -> None:
    parts = render("**run `make test` now**", EMPTY)

    assert sorted(formats(parts)) == [("bold", " now"), ("bold", "run "), ("code", "make test")]


def test_an_empty_answer_becomes_the_fallback_sentence() -> None:
    assert render(" \n\n ", EMPTY) == [Part(EMPTY)]
    assert render("```\n```", "пусто") == [Part("пусто")]
    assert preview(" \n") == []


def test_code_that_is_too_long_goes_on_in_the_next_message_in_its_language() -> None:
    code = "\n".join(f"line_{n} = {n}" for n in range(800))

    parts = render(f"Look:\n\n```python\n{code}\n```\n\nEnd.", EMPTY)

    assert_sendable(parts)
    assert len(parts) >= 3
    blocks = [e for part in parts for e in part.entities if e.type == "pre"]
    assert len(blocks) == len(parts)
    assert {block.language for block in blocks} == {"python"}
    assert all(f"line_{n} = {n}" in "\n".join(part.text for part in parts) for n in range(800))


def test_code_that_fits_into_one_message_is_kept_whole() -> None:
    code = "\n".join(f"x{n} = {n}" for n in range(150))

    parts = render("слово " * 500 + f"\n\n```\n{code}\n```", EMPTY)

    [block] = [stretch(part, e) for part in parts for e in part.entities if e.type == "pre"]
    assert block == code


def test_a_cut_falls_between_paragraphs_lines_or_words_and_never_within_a_character() -> None:
    words = ("слово " * 30 + "\n") * 60
    assert all(part.text.endswith("слово") for part in plain(words))

    family = "👨‍👩‍👧‍👦"
    parts = plain(family * 700)

    assert_sendable(parts)
    assert all(part.text.replace(family, "") == "" for part in parts)


def test_more_formats_than_one_message_may_have_go_into_several_messages() -> None:
    parts = render(" ".join(f"**b{n}**" for n in range(250)), EMPTY)

    assert_sendable(parts)
    assert sum(len(part.entities) for part in parts) == 250


def test_cutting_counts_utf16_units() -> None:
    parts = cut("😀" * 30, [Entity("bold", 0, 60)], limit=21)

    assert [len(part.text) for part in parts] == [10, 10, 10]
    assert all(part.entities == (Entity("bold", 0, 20),) for part in parts)


def test_the_guard_reads_markdown_as_the_renderer_does() -> None:
    assert OPTIONS == STANDARD_OPTIONS
