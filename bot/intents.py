"""What a message wants, told by its words alone: to be kept, to be answered, or neither."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from bot import lexicon, questions
from bot.confidential import holds_secret
from bot.small_talk import LEAD, is_idle, polite_key
from bot.wording import WORD
from memory.service import MAX_MEMORY_CHARS
from memory.types import MemoryType, Origin


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
    said = _without_lead(text)
    if lexicon.FORGET.match(said):
        return Talk("offline-forget")
    return _told_to_keep(said) or _declined(said) or _small_talk(said) or _question(said) or _statement(said)


def _told_to_keep(said: str) -> Note | Talk | None:
    if lead := lexicon.ASKED_TO_KEEP.match(said):
        return _note(said[lead.end() :])
    lead = lexicon.KEEP.match(said)
    return _note(said[lead.end() :]) if lead and not _asks_to_recall(said, lead) else None


def _note(told: str) -> Note | Talk:
    content = lexicon.TAG.sub("", told.strip(), count=1).rstrip("? ")
    if not WORD.search(content) or lexicon.NO_CONTENT.fullmatch(content.rstrip(".! ")):
        return Talk("offline-what")
    return _short_enough(Note(content, _type(content)))


def _short_enough(note: Note) -> Note | Talk:
    return note if len(note.content) <= MAX_MEMORY_CHARS else Talk("offline-too-long")


def _asks_to_recall(said: str, lead: re.Match[str]) -> bool:
    """Whether "remember …" asks instead of telling: "remember when we met?". Other orders never ask."""
    told = not lead["recalls"] or ":" in lead[0] or lead[0].rstrip().lower().endswith(" that")
    if told or lexicon.NO_CONTENT.fullmatch(said[lead.end() :].rstrip(".! ")):
        return False
    return questions.RECOLLECTS.match(said, lead.end()) is not None


def _declined(said: str) -> Talk | None:
    if lexicon.DO_NOT_KEEP.search(said):
        return Talk("offline-not-kept")
    return Talk("offline-no-reminders") if lexicon.REMINDER.match(said) else None


def _small_talk(said: str) -> Talk | None:
    key = polite_key(said)
    return Talk(key) if key else None


def _question(said: str) -> Ask | None:
    opener = questions.OPENER.match(said)
    start = opener.end() if opener else 0
    if questions.EVERYTHING.search(said):
        return Ask(said, everything=True)
    if recall := questions.RECALL.match(said, start):
        return Ask(said[recall.end() :].strip() or said)
    if questions.ASKS.search(said):
        return Ask(said)
    asks = questions.INVERSION.match(said, start) or (
        questions.BEGINS_ASKING.match(said, start) and not questions.TELLS.match(said, start)
    )
    return Ask(said) if asks else None


def _statement(said: str) -> Note | Talk:
    if _is_order(said):
        return Talk("offline-cannot")
    bare = lexicon.URL.sub(" ", said)
    if _is_code(said):
        return Talk("offline-not-a-fact")
    if holds_secret(bare):
        return Talk("offline-secret")
    if len(WORD.findall(bare)) < _least_words(bare):
        return Talk("offline-short" if bare == said else "offline-not-a-fact")
    return Talk("offline-idle") if is_idle(bare) else _short_enough(Note(said, _type(bare)))


def _is_order(said: str) -> bool:
    is_habit = lexicon.HABIT.search(said) and not lexicon.FOR_ME.search(said)
    return not is_habit and lexicon.ORDER.match(said) is not None


def _is_code(said: str) -> bool:
    symbols = sum(not (letter.isalnum() or letter.isspace()) for letter in said)
    return symbols > 0.4 * len(said) or lexicon.CODE.search(said) is not None


def _least_words(said: str) -> int:
    """Of how many words a statement is at least; fewer are a mere mention."""
    tells = lexicon.FIRST_PERSON.match(said) or _type(said) is MemoryType.PREFERENCE
    return 2 if tells else 3


def _type(content: str) -> MemoryType:
    return MemoryType.PREFERENCE if lexicon.LIKING.search(content) else MemoryType.FACT


def _without_lead(text: str) -> str:
    """Drop "Hello," and "Thanks!" before what is really said; what stands alone stays."""
    said = text.strip()
    while (lead := LEAD.match(said)) and lead.end() < len(said):
        said = said[lead.end() :]
    return said
