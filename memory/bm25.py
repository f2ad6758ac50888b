"""BM25 within one chat: how well each memory has the words of a question, and the turns around it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from memory.chat_copy import ChatCopy

K1 = 0.9
B = 0.4
"""Saturation and length normalisation for texts as short as turns."""

AROUND_K1 = 1.2
BEFORE = (1.0, 0.5)
AFTER = (0.5,)
"""How much a word counts that was said so many turns before, and after."""

MAX_ASKED = 60
"""Words of one question that are looked up, the rarest first."""

PREFIX_WORDS = 8
PREFIX_WORTH = 0.6
"""A word that the chat does not know stands for the ones that begin with it, at this share of their worth."""

_MIN_PREFIX = 3
_ENDING = 2  # letters that a stem may have more in the other script: "наст" is how "nastya" begins
_UNSEEN = 10
"""Memories that a chat is taken to have besides its own: a word in the only one is not a common word."""

Scores = NDArray[np.float32]
Rows = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class WordScores:
    """What the words say of each row, each of shape (n,).

    `own` is its BM25 and `around` that of the turns around it, both divided by the best of `own`; `covered`
    is the share of the question's words that it has, rare ones counting for more.
    """

    own: Scores
    around: Scores
    covered: Scores


@dataclass(frozen=True, slots=True)
class Around:
    """The rows said before and after each row by people, nearest first; -1 where there is none."""

    before: tuple[Rows, ...]
    after: tuple[Rows, ...]


@dataclass(frozen=True, slots=True)
class _Term:
    """One word of the question: the rows that have it, how often, and what it is worth."""

    rows: Rows
    counts: Scores
    worth: float


def word_scores(
    copy: ChatCopy,
    around: Around,
    asked: Sequence[str],
    spelled: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> WordScores:
    """Score all rows of a chat, dead ones included. `spelled` are stems in the other script, by stem.

    BM25 as in Robertson and Zaragoza (2009), with the idf of Lucene, ln(1 + (N - n + .5) / (n + .5)), which
    is never negative.
    """
    size = len(copy.ids)
    own, near, covered = (np.zeros(size, np.float32) for _ in range(3))
    terms, whole = _terms(copy, asked, spelled)
    if not terms:
        return WordScores(own, near, covered)
    lengths = copy.lengths.astype(np.float32)
    norm = _norm(lengths, copy.alive, K1)
    near_norm = _norm(_lengths_around(lengths, around), copy.alive, AROUND_K1)
    for term in terms:
        rows, counts = term.rows, term.counts
        covered[rows] += term.worth
        own[rows] += term.worth * counts * (K1 + 1) / (counts + norm[rows])
        rows, counts = _seen_from(term, around)
        near[rows] += term.worth * counts * (AROUND_K1 + 1) / (counts + near_norm[rows])
    best = float(own[copy.alive].max(initial=0.0)) or 1.0
    return WordScores(own / best, near / best, np.minimum(covered / whole, 1))  # rounding goes beyond 1


def around_of(copy: ChatCopy, of_people: NDArray[np.bool_]) -> Around:
    """Find the turns around each turn. The bot's own neither give nor get context."""
    one_before = np.where(copy.alive, copy.previous, -1)  # a dead row is nobody's neighbour
    for _ in range(2):  # question, answer, question: an answer or two may lie between
        skipped = (one_before >= 0) & ~of_people[one_before]
        one_before = np.where(skipped, copy.previous[one_before], one_before)
    one_before = np.where((one_before >= 0) & of_people[one_before] & of_people, one_before, -1)
    two_before = np.where(one_before >= 0, one_before[one_before], -1)
    after = np.full_like(one_before, -1)
    has_one = np.flatnonzero(one_before >= 0)
    after[one_before[has_one]] = has_one
    return Around((one_before, two_before), (after,))


def shifted(scores: Scores, rows: Rows) -> Scores:
    """The score of another row in the place of each, 0 where there is none."""
    return np.where(rows >= 0, scores[rows], 0.0).astype(np.float32)


def _terms(
    copy: ChatCopy, asked: Sequence[str], spelled: Mapping[str, Sequence[str]]
) -> tuple[list[_Term], float]:
    """The words that the chat has, rarest first, and what all words of the question are worth together."""
    alive = copy.living + _UNSEEN
    terms, whole = [], 0.0
    for word in dict.fromkeys(asked):
        term = _term(copy, word, alive, spelled)
        whole += term.worth if len(term.rows) else _idf(alive, 0)
        if len(term.rows):
            terms.append(term)
    return sorted(terms, key=lambda term: -term.worth)[:MAX_ASKED], whole


def _term(copy: ChatCopy, word: str, alive: int, spelled: Mapping[str, Sequence[str]]) -> _Term:
    rows, counts = copy.postings(word)
    if len(rows):
        return _Term(rows, counts.astype(np.float32), _idf(alive, len(rows)))
    return _similar(copy, word, alive, spelled)


def _similar(copy: ChatCopy, word: str, alive: int, spelled: Mapping[str, Sequence[str]]) -> _Term:
    """A word that the chat does not know, by what begins with it, or spelled in the other script."""
    begun = copy.with_prefix(word, PREFIX_WORDS) if len(word) >= _MIN_PREFIX else []
    if not begun:
        begun = [
            known
            for spelling in spelled.get(word, ())
            for known in copy.with_prefix(spelling, PREFIX_WORDS)
            if len(known) <= len(spelling) + _ENDING
        ]
    found = [copy.postings(known)[0] for known in begun]
    rows = np.unique(np.concatenate([np.zeros(0, np.int32), *found])).astype(np.int32)
    return _Term(rows, np.ones(len(rows), np.float32), PREFIX_WORTH * _idf(alive, len(rows)))


def _idf(size: int, count: int) -> float:
    return math.log(1 + (size - count + 0.5) / (count + 0.5))


def _norm(lengths: Scores, alive: NDArray[np.bool_], k1: float) -> Scores:
    mean = float(lengths[alive].mean()) if alive.any() else 1.0
    norm: Scores = (k1 * (1 - B + B * lengths / (mean or 1.0))).astype(np.float32)
    return norm


def _lengths_around(lengths: Scores, around: Around) -> Scores:
    near = np.zeros_like(lengths)
    for rows in (*around.before, *around.after):
        near += shifted(lengths, rows)
    return near


def _seen_from(term: _Term, around: Around) -> tuple[Rows, Scores]:
    """The rows near which the word was said, with its weighted count there.

    What was said before a row is what comes after: the rows that see a word before them lie after it.
    """
    after = _chained(around.after[0], len(BEFORE))
    seen = [(rows, weight) for rows, weight in zip(after, BEFORE, strict=True)]
    seen += list(zip(around.before, AFTER, strict=False))
    rows = np.concatenate([way[term.rows] for way, _ in seen])
    counts = np.concatenate([weight * term.counts for _, weight in seen])
    there = rows >= 0
    distinct, place = np.unique(rows[there], return_inverse=True)
    return distinct.astype(np.int32), np.bincount(place, counts[there], len(distinct)).astype(np.float32)


def _chained(step: Rows, times: int) -> list[Rows]:
    """One step, two steps, and so on."""
    ways = [step]
    for _ in range(times - 1):
        ways.append(np.where(ways[-1] >= 0, step[ways[-1]], -1))
    return ways
