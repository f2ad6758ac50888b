"""How much speaks for each memory of a chat: words, meaning, what was said around it, by whom and when."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memory import cues
from memory.bm25 import Around, Scores, WordScores, shifted
from memory.chat_columns import ORIGINS, TURN
from memory.chat_copy import ChatCopy
from memory.question import Question
from memory.scales import Scale
from memory.text import language_of
from memory.types import Memory, MemoryType, Origin, Score

RELEVANT = 0.2
"""The floor for what is recalled in every turn without being asked for; see benchmarks/floor.py."""

PLAUSIBLE = 0.08
"""The floor for a search that somebody asked for: nearly every right memory is above it, and much else."""

MEANING = 0.6
WORDS = 0.4
"""Shares of the two sides in relevance, which says how surely something answers, whatever else there is."""

HALF_LIFE = {
    MemoryType.FACT: timedelta(days=365),
    MemoryType.PREFERENCE: timedelta(days=365),
    MemoryType.CONTEXT: timedelta(days=14),
    MemoryType.KNOWLEDGE: timedelta(days=3650),
    MemoryType.SUMMARY: timedelta(days=90),
    MemoryType.INSIGHT: timedelta(days=365),
    MemoryType.TURN: timedelta(days=365),
}


@dataclass(frozen=True, slots=True)
class Weights:
    """What each sign is worth beside the others, chosen on the first half of LoCoMo (benchmarks/locomo.py).

    Those of a turn rest on a fit of log-odds: each step of 0.2 makes a turn about e times likelier.
    """

    words: float = 0.5
    meaning: float = 0.6
    recency: float = 0.04  # the newest is worth so much more than the oldest: enough to settle near ties
    importance: float = 0.04
    window: float = 0.25
    speaker: float = 0.16  # said by, or about, the one who is asked about
    around: float = 0.2  # the words of the turns around a turn
    meaning_before: float = 0.34  # the meaning of the turn before, of the one before that, and of the next
    meaning_earlier: float = 0.24
    meaning_after: float = 0.14
    session: float = 0.9  # how far the best of its session is behind the best of all
    length: float = 0.27
    asks: float = -0.18
    only_asks: float = -0.12
    oneself: float = 0.06
    name: float = 0.22  # three names and more
    number: float = 0.05
    time: float = 0.1
    wanted_number: float = 0.12
    wanted_time: float = 0.27
    oneself_asked_about: float = 0.03
    other_asked_about: float = -0.15
    kept: float = 0.6  # what was found worth keeping stands above a turn with the same words


WEIGHTS = Weights()

WHOLE = 2.2
"""What all signs together may come to; totals are shown as shares of it."""

SEVERAL = 0.6
"""For a question that asks for several things, one conversation counts less."""

TOLD_LATER = timedelta(days=4)
TOLD_LATER_SHARE = 0.5
"""What is told so soon after the time that a question names may well be about it."""

QUESTION_SHARE = 0.4
"""A question that was asked before is like the question, but answers nothing."""

_HALF_LIVES = np.array([HALF_LIFE[kind].total_seconds() for kind in MemoryType])
_NAMES = 3
_LEAST = -0.2  # an unrelated memory speaks against itself, up to here
_LONG = 50.0  # stems; longer turns say no more by their length


@dataclass(frozen=True, slots=True)
class Ranking:
    """What is known of all rows before any text is read, each of shape (n,), and what it adds up to.

    `worth` is that of the cosine if the memory is in the `language` of the question, `nan` where a row has no
    vector.
    """

    language: str
    raw: Scores
    relevance: Scores
    cosines: Scores
    worth: Scores
    words: WordScores
    recency: Scores
    window: Scores
    speaker: Scores


def of_people(copy: ChatCopy) -> NDArray[np.bool_]:
    people: NDArray[np.bool_] = copy.origins != ORIGINS[Origin.ASSISTANT]
    return people


def rank(
    copy: ChatCopy,
    around: Around,
    question: Question,
    words: WordScores,
    cosines: Scores,
    scale: Scale | None,
    now: datetime,
) -> Ranking:
    """Weigh all rows of a chat. `cosines` are `nan` for rows without a vector; without `scale` none count."""
    language = question.language
    worth = _worth(cosines, language, scale, copy.living)
    meaning = np.nan_to_num(worth, nan=0.0)
    recency = _recency(copy, now)
    window = _window(copy, question)
    speaker = _speaker(copy, question)
    turns = copy.types == TURN
    best = float(words.covered[copy.alive].max(initial=0.0))
    own = np.where(turns, (words.own + words.covered / np.sqrt(best or 1.0)) / 2, words.covered)
    raw = (
        WEIGHTS.words * own
        + WEIGHTS.meaning * meaning
        + WEIGHTS.recency * recency
        + WEIGHTS.importance * copy.importance
        + WEIGHTS.window * window
        + WEIGHTS.speaker * speaker
    )
    raw = raw + np.where(turns, _of_turns(copy, around, question, words, own, meaning), WEIGHTS.kept)
    relevance = np.where(
        np.isnan(worth), words.covered, MEANING * np.maximum(meaning, 0) + WORDS * words.covered
    )
    return Ranking(
        language,
        raw.astype(np.float32),
        relevance.astype(np.float32),
        cosines,
        worth,
        words,
        recency,
        window,
        speaker,
    )


def score(
    ranking: Ranking, copy: ChatCopy, row: int, memory: Memory, question: Question, scale: Scale | None
) -> Score:
    """Return the score of one memory, now that its text has been read."""
    worth, cosine = float(ranking.worth[row]), float(ranking.cosines[row])
    raw, relevance = float(ranking.raw[row]), float(ranking.relevance[row])
    written = language_of(memory.text)
    if scale is not None and not math.isnan(worth) and written != ranking.language:
        true = _clipped(scale.worth(cosine, ranking.language, written, copy.living))
        raw += WEIGHTS.meaning * (true - worth)
        relevance += MEANING * (max(0.0, true) - max(0.0, worth))
    if memory.type is MemoryType.TURN:
        only_asks = cues.only_asks(memory.text)
        raw += _of_wording(memory, question, only_asks=only_asks)
        relevance *= QUESTION_SHARE if only_asks else 1.0
    return Score(
        total=min(1.0, max(0.0, raw / WHOLE)),
        relevance=min(1.0, max(0.0, relevance)),
        cosine=0.0 if math.isnan(worth) else min(1.0, max(0.0, cosine)),
        words=float(ranking.words.covered[row]),
        context=min(1.0, float(ranking.words.around[row])),
        recency=float(ranking.recency[row]),
        importance=memory.importance,
        window=float(ranking.window[row]),
        speaker=float(ranking.speaker[row]),
    )


def _of_turns(
    copy: ChatCopy, around: Around, question: Question, words: WordScores, own: Scores, meaning: Scores
) -> Scores:
    """What the place of a turn in its conversation says for it."""
    one_before, two_before = around.before
    lengths = np.log1p(np.minimum(copy.lengths, _LONG)) / np.log1p(_LONG)
    scores: Scores = (
        WEIGHTS.around * words.around
        + WEIGHTS.meaning_before * shifted(meaning, one_before)
        + WEIGHTS.meaning_earlier * shifted(meaning, two_before)
        + WEIGHTS.meaning_after * shifted(meaning, around.after[0])
        + WEIGHTS.length * lengths
        + (SEVERAL if question.wants_several else 1.0)
        * WEIGHTS.session
        * _behind(copy, WEIGHTS.words * own + WEIGHTS.meaning * meaning)
    ).astype(np.float32)
    return scores


def _behind(copy: ChatCopy, evidence: Scores) -> Scores:
    """How far the best turn of each turn's session is behind the best of all: 0 for that one, else less."""
    counted = copy.alive & (copy.types == TURN) & of_people(copy)
    if not counted.any():
        return np.zeros(len(copy.ids), np.float32)
    _, place = np.unique(copy.sessions, return_inverse=True)
    best = np.full(int(place.max()) + 1, -1.0, np.float32)
    np.maximum.at(best, place[counted], evidence[counted])
    behind: Scores = best[place] - evidence[counted].max()
    return behind


def _of_wording(memory: Memory, question: Question, *, only_asks: bool) -> float:
    """What the wording of a turn says for it; these signs need its text."""
    text = memory.text
    number, time = cues.tells_number(text), cues.tells_time(text)
    worth = (
        WEIGHTS.asks * cues.ends_asking(text)
        + WEIGHTS.only_asks * only_asks
        + WEIGHTS.oneself * cues.is_about_oneself(text)
        + WEIGHTS.number * number
        + WEIGHTS.time * time
        + WEIGHTS.wanted_number * (number and question.wants_number)
        + WEIGHTS.wanted_time * (time and question.wants_time)
    )
    worth += WEIGHTS.name * min(cues.names(text), _NAMES) / _NAMES
    if question.about and memory.speaker in question.about:
        return worth + WEIGHTS.oneself_asked_about * cues.is_about_oneself(text)
    return worth + WEIGHTS.other_asked_about * bool(question.about and cues.is_about_the_other(text))


def _worth(cosines: Scores, language: str, scale: Scale | None, among: int) -> Scores:
    if scale is None:
        return np.full_like(cosines, np.nan)
    start, step = scale.line(language, language, among)
    worth: Scores = np.clip(start + step * cosines, _LEAST, 1.0).astype(np.float32)
    return worth


def _clipped(worth: float) -> float:
    return min(1.0, max(_LEAST, worth))


def _recency(copy: ChatCopy, now: datetime) -> Scores:
    """1 for what holds since now, a half after the half-life of the memory's type."""
    age = np.maximum(now.timestamp() - copy.valid_from, 0.0)
    recency: Scores = (0.5 ** (age / _HALF_LIVES[copy.types])).astype(np.float32)
    return recency


def _window(copy: ChatCopy, question: Question) -> Scores:
    """1 for what was said in a time that the question names, and less for some days: people tell it later."""
    fits = np.zeros(len(copy.ids), np.float32)
    for window in question.windows:
        since, until = window.since.timestamp(), window.until.timestamp()
        inside = (copy.valid_from >= since) & (copy.valid_from < until)
        soon = (copy.valid_from >= until) & (copy.valid_from < until + TOLD_LATER.total_seconds())
        fits = np.maximum(fits, np.where(inside, 1.0, np.where(soon, TOLD_LATER_SHARE, 0.0)))
    return fits.astype(np.float32)


def _speaker(copy: ChatCopy, question: Question) -> Scores:
    """1 for what was said by somebody whom the question is about, and for memories that name them.

    Turns do not count for naming somebody: people call each other by name all the time.
    """
    wanted = [place for place, name in enumerate(copy.speaker_names) if name in question.about]
    about = np.isin(copy.speakers, wanted)
    for name in question.names:
        rows, _ = copy.postings(name)
        about[rows] |= copy.types[rows] != TURN
    return about.astype(np.float32)
