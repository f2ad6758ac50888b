"""What the project's own set is made of: facts, questions to them and questions that they cannot answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from memory.types import MemoryType

LANGUAGES = ("ru", "en")
TODAY = date(2026, 11, 30)
"""The day on which every question is asked; "last week" is counted from it."""

ByLanguage: TypeAlias = Mapping[str, str]
"""The same thing said in each of `LANGUAGES`; a fact never mixes them."""

ASKER: ByLanguage = MappingProxyType({"ru": "Вера", "en": "Vera"})
"""Who says and asks nearly everything, the unanswerable questions included."""


class Split(StrEnum):
    """Which half of the themes something belongs to."""

    TUNE = "tune"  # may be looked at while weights are chosen
    TEST = "test"  # only ever reported


THEMES: Mapping[str, Split] = MappingProxyType(
    dict.fromkeys(("family", "work", "health", "food", "home", "pets"), Split.TUNE)
    | dict.fromkeys(("travel", "money", "hobbies", "study", "plans", "things"), Split.TEST)
)
NO_THEME = "none"
"""What a question is near that has nothing to do with the chat."""


class Kind(StrEnum):
    """What makes a question hard, or easy."""

    DIRECT = "direct"  # in the words of the fact
    PARAPHRASE = "paraphrase"  # no word in common with its facts but stop words
    NUMBER = "number"  # a number or code, with others alike nearby
    NAME = "name"
    DATE = "date"
    WINDOWED = "windowed"  # names a time, and the facts were said within it
    CONTRADICTION = "contradiction"  # an older fact says otherwise
    MULTI = "multi"  # one fact is not enough
    OTHER_SPEAKER = "other-speaker"  # somebody else than `ASKER` said it
    NEGATION = "negation"


@dataclass(frozen=True, slots=True)
class Fact:
    """What somebody said once. ``said_at`` is noon UTC of that day."""

    id: str
    theme: str
    split: Split
    speaker: ByLanguage
    type: MemoryType
    said_at: datetime
    text: ByLanguage
    replaced_by: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """A question and all facts that answer it, none of them replaced.

    ``window`` is the first and the last day that a windowed question means, None for the other kinds.
    """

    id: str
    split: Split
    kind: Kind
    text: ByLanguage
    gold: tuple[str, ...]
    asker: ByLanguage
    window: tuple[date, date] | None


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """A question that no fact answers, and the theme it comes close to or `NO_THEME`."""

    id: str
    split: Split
    near: str
    text: ByLanguage


@dataclass(frozen=True, slots=True)
class OwnSet:
    """The whole set, in the order of the files; facts by their ids."""

    facts: Mapping[str, Fact]
    questions: tuple[Question, ...]
    unanswerable: tuple[Unanswerable, ...]
