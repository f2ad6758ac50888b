"""The project's own set: three years of one family's chat in Russian and English, and questions to it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import TypeAlias, TypeVar

from benchmarks.own_checks import by_line, check
from benchmarks.own_values import (
    ASKER,
    LANGUAGES,
    NO_THEME,
    THEMES,
    TODAY,
    ByLanguage,
    Fact,
    Kind,
    OwnSet,
    Question,
    Split,
    Unanswerable,
)
from memory.text import language_of
from memory.types import MemoryType

__all__ = [
    "ASKER",
    "FOLDER",
    "LANGUAGES",
    "NO_THEME",
    "THEMES",
    "TODAY",
    "ByLanguage",
    "Fact",
    "Kind",
    "OwnSet",
    "Question",
    "Split",
    "Unanswerable",
    "load",
]

FOLDER = Path(__file__).parent / "own"
FACTS = "id theme split type said_at speaker_ru speaker_en fact_ru fact_en replaced_by"
QUESTIONS = "id split kind gold since until asker_ru asker_en question_ru question_en"
UNANSWERABLE = "id split near question_ru question_en"
"""The columns of the three tables."""

_Row: TypeAlias = Mapping[str, str]
_Made = TypeVar("_Made")


def load(folder: Path = FOLDER) -> OwnSet:
    """Read and check the three tables. Raises ValueError with the file, the line and what is wrong."""
    facts = _table(folder / "facts.tsv", FACTS, _fact)
    questions = _table(folder / "questions.tsv", QUESTIONS, _question)
    unanswerable = _table(folder / "unanswerable.tsv", UNANSWERABLE, _unanswerable)
    check(facts, questions, unanswerable)
    return OwnSet({fact.id: fact for fact in facts}, tuple(questions), tuple(unanswerable))


def _table(path: Path, columns: str, make: Callable[[_Row], _Made]) -> list[_Made]:
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = [*csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)] or [[]]
    if header != columns.split():
        raise ValueError(f"{path.name}:1: the columns must be {columns}")
    return by_line(path.name, lines, lambda cells: make(_row(header, cells)))


def _row(header: list[str], cells: list[str]) -> _Row:
    if len(cells) != len(header):
        raise ValueError(f"{len(cells)} cells, the header has {len(header)}")
    untidy = next((cell for cell in cells if cell != cell.strip()), None)
    if untidy is not None:
        raise ValueError(f"spaces around {untidy.strip()!r}")
    return dict(zip(header, cells, strict=True))


def _fact(row: _Row) -> Fact:
    return Fact(
        id=row["id"],
        theme=row["theme"],
        split=Split(row["split"]),
        speaker=_by_language(row, "speaker"),
        type=MemoryType(row["type"]),
        said_at=datetime.combine(date.fromisoformat(row["said_at"]), time(12), UTC),
        text=_by_language(row, "fact"),
        replaced_by=row["replaced_by"] or None,
    )


def _question(row: _Row) -> Question:
    days = [date.fromisoformat(row[column]) for column in ("since", "until") if row[column]]
    if len(days) == 1:
        raise ValueError("a window needs both of its days")
    return Question(
        id=row["id"],
        split=Split(row["split"]),
        kind=Kind(row["kind"]),
        text=_by_language(row, "question"),
        gold=tuple(row["gold"].split(",")),
        asker=_by_language(row, "asker"),
        window=(days[0], days[1]) if days else None,
    )


def _unanswerable(row: _Row) -> Unanswerable:
    return Unanswerable(row["id"], Split(row["split"]), row["near"], _by_language(row, "question"))


def _by_language(row: _Row, column: str) -> ByLanguage:
    said = {language: row[f"{column}_{language}"] for language in LANGUAGES}
    for language, text in said.items():
        if language_of(text, default="") != language:
            raise ValueError(f"{column}_{language} is not in its language: {text!r}")
    return said
