"""Escapes what a Markdown parser would drop or misread, so that every word of an answer stays visible."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import pyromark

OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_MATH
)
"""What the renderer parses with; the guard must read the same."""

# Escaping one thing can uncover the next, as tags in tags do. Rarely more than three rounds are needed.
_ROUNDS = 12
_LINKED_SCHEMES = ("http", "https", "tg")
_BOLD = re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*")
_EDGES = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)
_TEX = re.compile(r"\\\[(.+?)\\\]|\\\((.+?)\\\)", re.DOTALL)
_MATH_SIGNS = re.compile(r"\\[A-Za-z]|[\^{}=<>+]|\w_\w\b|^\s*[A-Za-z]\s*$")
_DEFINITION = re.compile(rb"^[ \t>]*(\[)[^\]\n]+\]:", re.MULTILINE)
_PIPES = re.compile(rb"(?<!\\)\|{2,}")
_NUMBER = re.compile(rb"(\d{1,9})[.)]")
_MATH = {"InlineMath", "DisplayMath"}

Insertions: TypeAlias = dict[int, bytes]
"""What to put in before which UTF-8 offset of the source."""
_Span: TypeAlias = tuple[int, int]


def guard(markdown: str) -> str:
    """Return Markdown that means what the reader of the source would see: no HTML, spoilers or lost cells.

    The source must be encodable: no lone surrogates.
    """
    markdown = _outside_code(markdown, _as_people_write)
    for _ in range(_ROUNDS):
        insertions = _Reading(markdown).insertions()
        if not insertions:
            break
        markdown = _insert(markdown, insertions)
    return markdown


def has_math(markdown: str) -> bool:
    """Tell whether the renderer will turn something into Unicode formulas, which changes its letters."""
    return any(isinstance(event, dict) and _MATH & event.keys() for event, _ in _events(markdown))


class _Reading:
    """One parse of the source, with what in it has to be escaped."""

    def __init__(self, markdown: str) -> None:
        self._source = markdown.encode()
        self._found: Insertions = {}
        self._columns = 0
        self._lists: list[tuple[int, int] | None] = []  # the first and the next number of each open list
        self._code: list[_Span] = []
        self._rows: list[_Span] = []
        for event, span in _events(markdown):
            if isinstance(event, dict):
                self._take(event, span)

    def insertions(self) -> Insertions:
        for start, end in _gaps(self._code, len(self._source)):
            self._escape_definitions(start, end)
            self._part_pipes(start, end)
        return self._found

    def _take(self, event: dict[str, Any], span: _Span) -> None:
        [(kind, value)] = event.items()
        if kind in ("InlineHtml", "Html"):
            self._escape(*(i for i in range(*span) if self._source[i : i + 1] == b"<"))
        elif kind in _MATH:
            self._check_math(value, span)
        elif kind == "Code" or (kind == "Start" and isinstance(value, dict) and "CodeBlock" in value):
            self._code.append(span)
        elif kind == "Start":
            self._start(value, span)
        elif kind == "End" and isinstance(value, dict) and "List" in value:
            self._lists.pop()

    def _start(self, tag: Any, span: _Span) -> None:
        if tag in ("TableHead", "TableRow"):
            self._check_row(span)
        elif tag == "Item":
            self._check_number(span)
        elif isinstance(tag, dict):
            [(kind, value)] = tag.items()
            if kind == "Table":
                self._columns = len(value)
            elif kind == "List":
                self._lists.append(None if value is None else (value, value))
            elif kind in ("Link", "Image") and not _linkable(value["dest_url"]):
                self._escape(span[0], *([span[0] + 1] if kind == "Image" else []))

    def _check_math(self, content: str, span: _Span) -> None:
        """Read prices and shell variables as they stand: "100$, now 90$"."""
        if not _MATH_SIGNS.search(content):
            self._escape(*(i for i in range(*span) if self._source[i : i + 1] == b"$"))

    def _check_row(self, span: _Span) -> None:
        """Keep what stands in a row beyond the table's last column, which the parser would drop."""
        self._rows.append(span)
        row = self._source[slice(*span)].rstrip()
        pipes = [m.start() for m in re.finditer(rb"(?<!\\)\|", row)]
        inner = [at for at in pipes if at not in (len(row) - len(row.lstrip()), len(row) - 1)]
        surplus = len(inner) + 1 - self._columns
        self._escape(*(span[0] + at for at in inner[len(inner) - surplus :] if surplus > 0))

    def _check_number(self, span: _Span) -> None:
        """Keep the numbers that a person gave, which the parser would count anew: "1986.", "1990."."""
        numbering = self._lists[-1]
        match = _NUMBER.match(self._source, *span)
        if numbering is None or match is None:
            return
        first, expected = numbering
        written = match.group(1).decode()
        if written != str(expected) and not (int(written) == first <= 1):
            self._escape(match.end() - 1)
        self._lists[-1] = (first, expected + 1)

    def _escape_definitions(self, start: int, end: int) -> None:
        self._escape(*(m.start(1) for m in _DEFINITION.finditer(self._source, start, end)))

    def _part_pipes(self, start: int, end: int) -> None:
        """Keep two pipes in a row from being read as the mark of a spoiler."""
        for match in _PIPES.finditer(self._source, start, end):
            if any(i in self._found for i in range(*match.span())):
                continue
            if any(row[0] <= match.start() < row[1] for row in self._rows):
                self._found |= dict.fromkeys(range(match.start() + 1, match.end()), b" ")
            else:
                self._escape(*range(*match.span()))

    def _escape(self, *offsets: int) -> None:
        self._found |= dict.fromkeys(offsets, b"\\")


def _as_people_write(text: str) -> str:
    """Mend the bold marks and formulas that models write and CommonMark does not read."""
    return _TEX.sub(_dollars, _BOLD.sub(_bold, text))


def _bold(match: re.Match[str]) -> str:
    """Move punctuation out of bold marks that touch a word, where CommonMark reads no mark: **so:**then."""
    edges = _EDGES.fullmatch(match.group(1))
    assert edges is not None, "every group may be empty"
    before, words, after = edges.groups()
    if words and before and match.string[match.start() - 1 : match.start()].isalnum():
        return f"{before}**{words}{after}**"
    if words and after and match.string[match.end() : match.end() + 1].isalnum():
        return f"**{before}{words}**{after}"
    return match.group(0)


def _dollars(match: re.Match[str]) -> str:
    content = match.group(1) or match.group(2)
    if not _MATH_SIGNS.search(content) or "$" in content:
        return match.group(0)
    return f"$${content.strip()}$$" if match.group(1) else f"${content.strip()}$"


def _linkable(url: str) -> bool:
    """Tell whether Telegram takes this as a link; any other stays visible as it was written."""
    try:
        parts = urlsplit(url)
        return parts.scheme in _LINKED_SCHEMES and bool(parts.hostname) and not url.startswith("tg://emoji")
    except ValueError:
        return False


def _events(markdown: str) -> Iterator[tuple[object, _Span]]:
    for event, span in pyromark.events_with_range(markdown, options=OPTIONS):
        yield event, (span["start"], span["end"])


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    source = text.encode()
    code = [
        span
        for event, span in _events(text)
        if isinstance(event, dict) and ("Code" in event or "CodeBlock" in (event.get("Start") or ()))
    ]
    parts, cursor = [], 0
    for start, end in [*code, (len(source), len(source))]:
        parts.append(change(source[cursor:start].decode()))
        parts.append(source[start:end].decode())
        cursor = end
    return "".join(parts)


def _gaps(spans: list[_Span], length: int) -> Iterator[_Span]:
    edges = [0, *(edge for span in spans for edge in span), length]
    return zip(edges[::2], edges[1::2], strict=True)


def _insert(text: str, insertions: Insertions) -> str:
    source = text.encode()
    bounds = [0, *sorted(insertions), len(source)]
    pieces = [source[a:b] + insertions.get(b, b"") for a, b in pairwise(bounds)]
    return b"".join(pieces).decode()
