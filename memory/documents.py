"""Cutting a document into pieces to remember: by structure, by sentences, and by size where need be."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.text import clean

SIZE = 1_000
OVERLAP = 150

_FENCE = re.compile(r"[ \t]*(```|~~~)")
_HEADING = re.compile(r"#{1,6}[ \t]+\S")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•–—]|\d{1,3}[.)]|[a-zа-яё]\))[ \t]+\S", re.IGNORECASE)
# The end of a sentence with its closing quotes and brackets, and the space after it.
_SENTENCE_END = re.compile(r"[.!?…]+[\"'»”’)\]]*\s+")
_LAST_WORD = re.compile(r"[\w.-]+\Z")
_WORD = re.compile(r"\s*\S+\s*")
# Written before a name, a number or an explanation, with a full stop that ends no sentence.
_ABBREVIATIONS = frozenset(
    """
    mr mrs ms dr prof st vs e.g i.e fig no nos vol pp cf approx jan feb mar apr jun jul aug sep sept oct nov
    dec гг вв др пр см ср стр рис табл ул пл пер просп наб кв корп обл руб коп тыс млн млрд им проф акад доц
    гл ст напр т.е т.к т.н до.н
    """.split()  # noqa: SIM905
)


def chunk(text: str, size: int = SIZE, overlap: int = OVERLAP) -> list[str]:
    """Cut `text` into pieces of at most `size` characters, in order, none of them blank.

    A piece ends with a sentence, a list item or a line of code where it can. The next one begins by
    repeating the last sentences of the one before, up to `overlap` characters, unless a heading opens it.
    What is longer than `size` in itself is cut between words, a word only when it alone is longer.
    """
    if not 0 <= overlap < size:
        raise ValueError("overlap must not be negative and must be smaller than size")
    pieces: list[str] = []
    held: list[str] = []
    repeated = 0  # how many of the units that are held stand in the piece before already
    for unit in _units(clean(text), size, overlap):
        opens = bool(_HEADING.match(unit)) and _length(held) >= size // 4
        if len(held) > repeated and (opens or _length([*held, unit]) > size):
            pieces.append(_joined(held))
            held = [] if opens else _tail(held, overlap)
            repeated = len(held)
        while repeated and _length([*held, unit]) > size:
            del held[0]
            repeated -= 1
        held.append(unit)
    return [*pieces, _joined(held)] if len(held) > repeated else pieces


def _units(text: str, size: int, overlap: int) -> Iterator[str]:
    """What is not cut unless it must be: sentences, list items, headings, lines of code.

    Each keeps the space that follows it, so that joining them gives the text again.
    """
    for block in _blocks(text):
        for unit in _sentences(block):
            yield from _cuts(unit, size, overlap) if len(unit.rstrip()) > size else [unit]


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, list items and headings with the blank lines after them, and single lines of code."""
    held = ""
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        begins = fence or mark or _HEADING.match(line) or _LIST_ITEM.match(line) or held.endswith("\n\n")
        if held and line.strip() and (begins or _HEADING.match(held)):
            yield held
            held = ""
        held += line if line.strip() else "\n"
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
    if held:
        yield held


def _sentences(block: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(block):
        if _ends_sentence(block[start : end.start()], end[0], block[end.end() : end.end() + 1]):
            yield block[start : end.end()]
            start = end.end()
    if start < len(block):
        yield block[start:]


def _ends_sentence(before: str, mark: str, following: str) -> bool:
    if following.islower():
        return False
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    word = _LAST_WORD.search(before)
    if word is None:
        return False
    last = word[0].casefold()
    return not (
        last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha()) or _is_list_number(before, last)
    )


def _is_list_number(before: str, last: str) -> bool:
    return last.isdecimal() and before.strip() == last


def _cuts(unit: str, size: int, overlap: int) -> Iterator[str]:
    """The words of `unit`; one that is too long in itself in slices small enough to be repeated."""
    slice_size = max(1, overlap // 2) if overlap else size
    for word in _WORD.findall(unit):
        if len(word.rstrip()) <= size:
            yield word
        else:
            yield from (word[start : start + slice_size] for start in range(0, len(word), slice_size))


def _tail(units: list[str], overlap: int) -> list[str]:
    first = len(units)
    while first > 0 and _length(units[first - 1 :]) <= overlap:
        first -= 1
    return units[first:]


def _joined(units: list[str]) -> str:
    return "".join(units).strip("\n").rstrip()


def _length(units: list[str]) -> int:
    return len(_joined(units))
