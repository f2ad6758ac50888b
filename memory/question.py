"""What a person asks about: the words to search by, whose words are meant, and which time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from memory import cues
from memory.dates import windows, without
from memory.text import clean, fold, language_of, stems
from memory.transliteration import spellings
from memory.types import Query, Window

MAX_CHARS = 2_000
"""A question says what it wants at its beginning; the rest of a long text would only blur it."""

LONG_WORD = 5
"""Shorter words are like some word of the other script by chance, unless they are names."""

# Each of them makes the vector of a question less like the fact that answers it.
_ASKING = re.compile(
    r"""^(?:
      (?:а|и|ну|слушай|эй|пожалуйста|скажи(?:те)?|подскажи(?:те)?|напомни(?:те)?|ответь(?:те)?
        |расскажи(?:те)?|(?:ты\ |вы\ )?(?:не\ )?(?:помнишь|помните|знаешь|знаете|подскажешь|напомнишь)
        |что\ (?:ты|вы)\ (?:помнишь|помните|знаешь|знаете)
        |so|and|well|hey|please|(?:(?:can|could|would|will)\ you\ (?:please\ )?)?(?:tell|remind)
        |do\ you\ (?:still\ |also\ )?(?:know|remember)|what\ do\ you\ (?:know|remember)|remember)
      (?:\ (?:ли|ты|вы|мне|нам|me|us|пожалуйста|please))*
      (?:\ (?:о|об|обо|про|about|that|of)(?=\s))?
      [\s,:;—–-]+
    )+""",
    re.VERBOSE | re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_AGREEING = {"does": "do", "has": "have", "is": "am", "doesn't": "don't", "hasn't": "haven't"}
_MISMATCHED = re.compile(r"\b(does|has|is|doesn't|hasn't) I\b", re.IGNORECASE)
_THEIRS = re.compile(r"\b(?:her|his|their)\b", re.IGNORECASE)
_THEY = re.compile(r"\b(?:he|she|they)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """A question as search understands it.

    `bare` is what is embedded and `words` are the stems looked up, both without names of speakers; `spelled`
    says how some of them may look in the other script. `about` are the speakers whose own words would answer
    it, and `names` are the stems of what it calls them.
    """

    bare: str
    words: tuple[str, ...]
    spelled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    about: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    wants_time: bool = False
    wants_number: bool = False
    wants_several: bool = False
    windows: tuple[Window, ...] = ()

    @property
    def language(self) -> str:
        return language_of(self.bare)

    @property
    def is_empty(self) -> bool:
        return not any(map(str.isalnum, self.bare))


def understand(query: Query, speakers: Sequence[str], now: datetime) -> Question:
    """Read the text of a query; `speakers` are those who have said something in the chat."""
    text = bare_question(query.text)
    spans = tuple(windows(text, now, query.zone))
    capitalised = _capitalised(text)
    named = {name: forms for name in speakers if (forms := _forms_in(capitalised, name))}
    about = frozenset(named)
    if not named and query.asker and cues.is_about_oneself(text):
        about = frozenset({query.asker})
    spoken = without(text, list(spans))
    forms = frozenset[str]().union(*named.values())
    looked_up = _rest(text, _nameless(text, forms))
    return Question(
        bare=_rest(text, _told_by_oneself(spoken, forms)),
        words=tuple(dict.fromkeys(stems(looked_up))),
        spelled=_spelled(looked_up),
        about=about,
        names=_stems_of(forms),
        wants_time=cues.wants_time(text),
        wants_number=cues.wants_number(text),
        wants_several=cues.wants_several(text),
        windows=spans,
    )


def bare_question(text: str) -> str:
    """Return the question without "remind me", "do you know" and the like.

    Where no word to search by is left, the question is returned as it came.
    """
    question = clean(text)[:MAX_CHARS]
    return _rest(question, _ASKING.sub("", question, count=1).strip())


def _rest(whole: str, rest: str) -> str:
    """What is left of a question, or all of it where nothing is left to search by."""
    return rest if stems(rest) else whole


def _capitalised(text: str) -> dict[str, frozenset[str]]:
    """The words of a text that may be names, each with its folded form and its stems."""
    words = {word for word in _WORD.findall(text) if word[0].isupper()}
    return {word: frozenset((fold(word), *stems(word))) for word in words}


def _forms_in(capitalised: Mapping[str, frozenset[str]], name: str) -> frozenset[str]:
    """The words that are a form of the name or of one of its words."""
    own = _own_forms(name)
    return frozenset(word for word, forms in capitalised.items() if not own.isdisjoint(forms))


def _stems_of(names: frozenset[str]) -> tuple[str, ...]:
    """The stems of names as they stand in a question, and how they may look in the other script."""
    stemmed = {stem for name in names for stem in stems(name)}
    other = {spelling for name in names for spelling in spellings(fold(name))}
    return tuple(sorted(stemmed | other))


@lru_cache(maxsize=4_096)
def _own_forms(name: str) -> frozenset[str]:
    """The stems of a name, and how it may be spelled in the other script."""
    words = [word for word in _WORD.findall(name) if len(word) > 1]
    stemmed = {stem for word in words for stem in stems(word)}
    return frozenset(stemmed | {spelling for word in words for spelling in spellings(fold(word))})


def _spelled(text: str) -> dict[str, tuple[str, ...]]:
    """How the names and the longer words of a text may look in the other script, by their stems."""
    found: dict[str, tuple[str, ...]] = {}
    for word in _WORD.findall(text):
        if word[0].isupper() or len(word) >= LONG_WORD:
            whole = spellings(fold(word))
            found |= {stem: whole if word.isascii() else spellings(stem) or whole for stem in stems(word)}
    return {stem: others for stem, others in found.items() if others}


def _nameless(text: str, forms: frozenset[str]) -> str:
    """Memories rarely name the person who speaks in them, so a speaker's name only misleads."""
    if not forms:
        return text
    return " ".join(re.sub(rf"\b(?:{_either(forms)})(?:['’]s)?(?!\w)", "", text).split())


def _told_by_oneself(text: str, forms: frozenset[str]) -> str:
    """The question as it would be about oneself, because people tell of themselves as "I".

    In Russian, where verbs would have to change as well, the name is only left out.
    """
    if not forms or language_of(text) == "ru":
        return _nameless(text, forms)
    mine = re.sub(rf"\b(?:{_either(forms)})['’]s\b", "my", text)
    mine = re.sub(rf"\b(?:{_either(forms)})\b", "I", mine)
    mine = _MISMATCHED.sub(lambda match: f"{_AGREEING[match[1].lower()]} I", mine)
    return _THEY.sub("I", _THEIRS.sub("my", mine))


def _either(forms: frozenset[str]) -> str:
    return "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
