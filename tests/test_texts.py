"""The texts: both languages say the same things, and the code asks only for what exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from fluent.syntax import FluentParser
from fluent.syntax.ast import Junk, Message, VariableReference
from fluent.syntax.visitor import Visitor

from bot.texts import LANGUAGES, date_text, known_language, shortened, text, whole_minutes

ROOT = Path(__file__).parent.parent
SOURCES = [path for folder in ("bot", "handlers") for path in sorted((ROOT / folder).rglob("*.py"))]
NOT_KEYS = ("claude-sonnet", "claude-haiku", "claude-opus")
KEY = re.compile(r"[a-z]+(?:-[a-z0-9]+)+")


class Variables(Visitor):
    """Collects the names of the variables in a message."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_VariableReference(self, node: VariableReference) -> None:  # noqa: N802
        self.names.add(node.id.name)


class Use(NamedTuple):
    """A call of text() with a key written out."""

    where: str
    key: str
    variables: frozenset[str]
    complete: bool


def entries(language: str) -> list[Message | Junk]:
    source = (ROOT / "bot" / "locales" / f"{language}.ftl").read_text(encoding="utf-8")
    return [entry for entry in FluentParser().parse(source).body if isinstance(entry, Message | Junk)]


def messages(language: str) -> dict[str, set[str]]:
    """The keys of a language with the variables of each."""
    found = {}
    for entry in entries(language):
        if isinstance(entry, Message):
            variables = Variables()
            variables.visit(entry)
            found[entry.id.name] = variables.names
    return found


def uses() -> Iterator[Use]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "text":
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    names = frozenset(word.arg for word in node.keywords if word.arg)
                    complete = all(word.arg for word in node.keywords)
                    yield Use(f"{path.relative_to(ROOT)}:{node.lineno}", first.value, names, complete)


def strings() -> tuple[set[str], tuple[str, ...]]:
    """All strings in the code, and what stands first in its f-strings, which may choose a key."""
    whole, beginnings = set(), set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                beginnings.add(str(node.values[0].value))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
    return whole, tuple(start for start in beginnings if re.fullmatch("[a-z]+-[a-z-]*", start))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_entry_of_a_language_is_well_formed_and_stands_once(language: str) -> None:
    names = [entry.id.name for entry in entries(language) if isinstance(entry, Message)]
    assert [entry.content for entry in entries(language) if isinstance(entry, Junk)] == []
    assert sorted(names) == sorted(set(names))


def test_both_languages_have_the_same_keys_with_the_same_variables() -> None:
    assert messages("ru") == messages("en")


def test_every_text_that_the_code_asks_for_exists_with_just_these_variables() -> None:
    known = messages("en")
    wrong = [
        use
        for use in uses()
        if use.key not in known or (use.complete and use.variables != frozenset(known[use.key]))
    ]
    assert wrong == []


def test_every_key_in_the_files_is_used_by_the_code() -> None:
    whole, beginnings = strings()
    unused = [key for key in messages("en") if key not in whole and not key.startswith(beginnings)]
    assert unused == []


def test_every_string_in_the_code_that_looks_like_a_key_is_one() -> None:
    known = messages("en")
    prefixes = {key.partition("-")[0] for key in known}
    looks = [word for word in strings()[0] if KEY.fullmatch(word) and word.partition("-")[0] in prefixes]
    assert [word for word in looks if word not in known and not word.startswith(NOT_KEYS)] == []


def test_keys_are_small_words_joined_by_hyphens() -> None:
    assert [key for key in messages("en") if not KEY.fullmatch(key)] == []


def test_a_missing_key_or_variable_is_an_error_rather_than_a_strange_text() -> None:
    with pytest.raises(LookupError):
        text("offline-no-such-text", "en")
    with pytest.raises(LookupError):
        text("offline-saved", "en", text="no id given")


@pytest.mark.parametrize(
    ("code", "language"),
    [("ru", "ru"), ("ru-RU", "ru"), ("RU_ru", "ru"), ("en-GB", "en"), ("de", "en"), ("", "en")],
)
def test_a_language_that_the_program_does_not_speak_is_served_in_english(code: str, language: str) -> None:
    assert known_language(code) == language
    assert text("offline-nothing", code) == text("offline-nothing", language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_id_is_shown_without_separators_and_without_invisible_marks(language: str) -> None:
    shown = text("offline-saved", language, id=1234567, text="мою собаку зовут Бублик")
    assert "1234567" in shown
    assert not re.search("[\u2066-\u2069\u200e\u200f\u00a0]", shown)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "1 воспоминание"),
        (2, "2 воспоминания"),
        (5, "5 воспоминаний"),
        (11, "11 воспоминаний"),
        (21, "21 воспоминание"),
    ],
)
def test_russian_counts_have_their_three_forms(count: int, words: str) -> None:
    assert words in text("console-memories", "ru", count=count)


def test_days_are_written_as_people_write_them() -> None:
    assert date_text(date(2026, 3, 12), "ru") == "12 марта 2026"
    assert date_text(date(2026, 3, 12), "en") == "12 March 2026"


@pytest.mark.parametrize(("seconds", "minutes"), [(1, 1), (30, 1), (90, 2), (600, 10)])
def test_a_time_is_told_in_whole_minutes_and_never_as_none(seconds: int, minutes: int) -> None:
    assert whole_minutes(timedelta(seconds=seconds)) == minutes


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("my dog", "my dog"),
        ("my dog\n is  called", "my dog is called"),
        ("my dog is called Biscuit", "my dog is …"),
        ("supercalifragilistic", "supercalifragi …"),
    ],
)
def test_long_words_are_shown_in_one_line_that_is_cut_between_words(words: str, shown: str) -> None:
    assert shortened(words, 16) == shown
