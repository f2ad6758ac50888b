"""What a message wants, told by its words alone: to be kept, to be answered, or neither."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from bot import lexicon
from memory.types import MemoryType, Origin

MAX_FACT_CHARS = 1_000
"""A longer message is a pasted text rather than something that a person tells about themselves."""
SMALL_TALK_WORDS = 8


@dataclass(frozen=True, slots=True)
class Note:
    """Words to be kept."""

    content: str
    type: MemoryType


@dataclass(frozen=True, slots=True)
class Ask:
    """A question about what is remembered; `everything` when it asks for all of it."""

    topic: str
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Talk:
    """Neither: answered with the text of this key, saved nowhere."""

    key: str


Intent: TypeAlias = Note | Ask | Talk


def intent_of(text: str, origin: Origin = Origin.PERSON) -> Intent:
    """Tell what to do with a message. In doubt nothing is kept: saving what was no fact harms for years."""
    if origin is not Origin.PERSON:
        return Talk("offline-not-a-fact")
    said = _without_greeting(text)
    if lexicon.FORGET.match(said):
        return Talk("offline-forget")
    return _told_to_keep(said) or _reminder(said) or _small_talk(said) or _question(said) or _statement(said)


def _told_to_keep(said: str) -> Note | Talk | None:
    if lead := lexicon.ASKED_TO_KEEP.match(said):
        return _note(said[lead.end() :].rstrip("?! "))
    lead = lexicon.KEEP.match(said)
    return _note(said[lead.end() :].strip()) if lead and not _asks_to_recall(said, lead) else None


def _note(content: str) -> Note | Talk:
    if not lexicon.WORD.search(content):
        return Talk("offline-what")
    return Note(content, _type(content))


def _asks_to_recall(said: str, lead: re.Match[str]) -> bool:
    """Whether "remember …" asks instead of telling: "remember when we met?"."""
    told = ":" in lead[0] or lead[0].rstrip().lower().endswith((" that", " что"))
    return not told and bool(
        lexicon.ENDS_ASKING.search(said) or lexicon.QUESTION_WORD.match(said, lead.end())
    )


def _reminder(said: str) -> Talk | None:
    return Talk("offline-no-reminders") if lexicon.REMINDER.match(said) else None


def _small_talk(said: str) -> Talk | None:
    found = lexicon.WORD.findall(said.casefold().replace("ё", "е"))
    if not found:
        return Talk("offline-short")
    if len(found) > SMALL_TALK_WORDS:
        return None
    words = " ".join(found)
    if lexicon.THANKS.match(words):
        return Talk("offline-thanks")
    if lexicon.ABOUT_BOT.fullmatch(words) or lexicon.GREETINGS.fullmatch(words):
        return Talk("offline-hello")
    return Talk("offline-short") if lexicon.FILLERS.fullmatch(words) else None


def _question(said: str) -> Ask | None:
    opener = lexicon.OPENER.match(said)
    start = opener.end() if opener else 0
    if lexicon.EVERYTHING.search(said):
        return Ask(said, everything=True)
    if recall := lexicon.RECALL.match(said, start):
        return Ask(said[recall.end() :].strip() or said)
    if lexicon.ENDS_ASKING.search(said):
        return Ask(said)
    asks = lexicon.INVERSION.match(said, start) or (
        lexicon.QUESTION_WORD.match(said, start) and not lexicon.TELLS.match(said, start)
    )
    return Ask(said) if asks else None


def _statement(said: str) -> Note | Talk:
    if lexicon.ORDER.match(said):
        return Talk("offline-cannot")
    bare = lexicon.URL.sub(" ", said)
    if len(said) > MAX_FACT_CHARS or _is_code(said):
        return Talk("offline-not-a-fact")
    words, kind = lexicon.WORD.findall(bare), _type(bare)
    if len(words) < (2 if kind is MemoryType.PREFERENCE else 3):
        return Talk("offline-short" if bare == said else "offline-not-a-fact")
    return Note(said, kind)


def _is_code(said: str) -> bool:
    letters = sum(letter.isalpha() or letter.isspace() for letter in said)
    return letters < 0.5 * len(said) or lexicon.CODE.search(said) is not None


def _type(content: str) -> MemoryType:
    return MemoryType.PREFERENCE if lexicon.LIKING.search(content) else MemoryType.FACT


def _without_greeting(text: str) -> str:
    """Drop "Hello," before what is really said; a greeting that stands alone stays."""
    said = text.strip()
    greeting = lexicon.GREETING_FIRST.match(said)
    return said[greeting.end() :] if greeting and greeting.end() < len(said) else said
