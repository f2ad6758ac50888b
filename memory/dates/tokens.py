"""Reading a text as words about time: each gets the kind and the value that the grammar works with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memory.dates import english, russian
from memory.dates.numbers import OTHER, Meaning, number


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a mark or what a rule made of several: its kind, its value and its place in the text."""

    kind: str
    value: Any
    start: int
    end: int


_TELLING = frozenset("dD5ZYMEmbWwvKCSsFugPyco9p")  # no time without one of these kinds
_ABBREVIATED = "bv4"

_WORDS: dict[str, Meaning] = {
    word: (kind, value) for words in (russian.words(), english.words()) for word, kind, value in words
}
_PHRASES = (*russian.PHRASES, *english.PHRASES)
_TOKEN = re.compile(
    r"(?<!\w)(?:"
    + "|".join(f"({phrase})" for phrase, _, _ in _PHRASES).replace(" ", r"\s{1,3}").replace("е", "[её]")
    + r")(?!\w)|\d(?:\w|[.:/-](?=\w))*|[^\W\d]\w*",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"['’]s\b", re.IGNORECASE)
_NUMBER_NEXT = re.compile(r"\s{1,3}\d")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_MARKS = {",": ",", "-": "-", "–": "-", "—": "-", "−": "-", "&": "&"}
_MONEY = "%$€₽"


def read(text: str) -> list[Token]:
    """Return the words and the marks between them; nothing where no word can name a time."""
    tokens = list(_tokens(text))
    return [] if _TELLING.isdisjoint(token.kind for token in tokens) else tokens


def _tokens(text: str) -> Iterator[Token]:
    month_first = not _CYRILLIC.search(text)
    place, kind = 0, "|"
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        mark = _mark(text[place:start], kind)
        if mark:
            yield Token(mark, None, place, start)
        if match.lastindex:
            kind, value = _PHRASES[match.lastindex - 1][1:]
        elif text[start].isdecimal():
            *parts, (kind, value) = number(match.group(), month_first=month_first)
            for part in parts:
                yield Token(*part, start, end)
        else:
            kind, value = _word(text, match, begins=not place or mark == "|")
            end = possessive.end() if (possessive := _POSSESSIVE.match(text, end)) else end
        yield Token(kind, value, start, end)
        place = end
    if mark := _mark(text[place:], kind):
        yield Token(mark, None, place, len(text))


def _mark(gap: str, kind_before: str) -> str:
    """What stands between two words, as the kind of a token; nothing for spaces."""
    bare = gap.strip()
    if not bare or (bare == "." and kind_before in _ABBREVIATED):
        return ""
    return "%" if bare[0] in _MONEY else _MARKS.get(bare, "|")


def _word(text: str, match: re.Match[str], *, begins: bool) -> Meaning:
    """May is a month for sure if its capital is not that of the sentence, Sun is a day only with one."""
    word = match.group()
    kind, value = _WORDS.get(word.lower().replace("ё", "е"), OTHER)
    capital = word[0].isupper()
    if kind == "m" and capital and (not begins or _NUMBER_NEXT.match(text, match.end())):
        return "E", value
    return OTHER if kind == "v" and word.isascii() and not capital else (kind, value)
