"""How well ranked turns answer questions: recall, all found, nDCG and reciprocal rank, with their spread."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from benchmarks.chats import BenchmarkData

RESAMPLES = 2_000
"""Draws of the bootstrap; its ends move by less than a thousandth between seeds."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system brought for one question: `ranked` ids, the best first, none twice."""

    qid: str
    chat_id: str
    category: str
    gold: tuple[str, ...]
    ranked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean over `questions` questions, and the 95 % interval around it, all between 0 and 1."""

    mean: float
    low: float
    high: float
    questions: int


Measure: TypeAlias = Callable[[Answer], float]


def recall(answer: Answer, k: int) -> float:
    """The fraction of the gold ids among the first `k`. Raises ValueError if none are, like all here."""
    return _found(answer, k) / _wanted(answer)


def all_found(answer: Answer, k: int) -> float:
    """1 if every gold id is among the first `k`, else 0."""
    return float(_found(answer, k) == _wanted(answer))


def ndcg(answer: Answer, k: int) -> float:
    """Normalised discounted cumulative gain with gains of 0 and 1 (Järvelin and Kekäläinen, 2002)."""
    wanted = _wanted(answer)
    gained = sum(_discount(rank) for rank, one in enumerate(answer.ranked[:k], 1) if one in answer.gold)
    return gained / sum(_discount(rank) for rank in range(1, min(wanted, k) + 1))


def reciprocal_rank(answer: Answer) -> float:
    """One divided by the rank of the first gold id, 0 if none was brought."""
    _wanted(answer)
    return next((1 / rank for rank, one in enumerate(answer.ranked, 1) if one in answer.gold), 0.0)


def _at(measure: Callable[[Answer, int], float], k: int) -> Measure:
    return lambda answer: measure(answer, k)


MEASURES: Mapping[str, Measure] = {
    **{f"recall@{k}": _at(recall, k) for k in (1, 5, 10)},
    **{f"all@{k}": _at(all_found, k) for k in (5, 10)},
    "nDCG@10": _at(ndcg, 10),
    "MRR": reciprocal_rank,
}


def answers(data: BenchmarkData, ranked: Mapping[str, Sequence[str]]) -> list[Answer]:
    """Put what was brought, by `qid`, beside the gold. Questions that nothing answers are left out.

    Raises ValueError when a question has no ranking at all: a system that finds nothing brings an empty one.
    """
    asked = [(chat, question) for chat in data.chats for question in chat.questions if question.gold]
    if missing := [question.qid for _, question in asked if question.qid not in ranked]:
        raise ValueError(f"Question {missing[0]} has no ranking, and {len(missing) - 1} others have none.")
    return [
        Answer(one.qid, chat.chat_id, one.category, one.gold, tuple(dict.fromkeys(ranked[one.qid])))
        for chat, one in asked
    ]


def by_session(data: BenchmarkData, answered: Iterable[Answer]) -> list[Answer]:
    """Return the same answers with the sessions of the turns in the place of the turns."""
    sessions = {chat.chat_id: {one.id: one.session for one in chat.records} for chat in data.chats}

    def lifted(answer: Answer, ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sessions[answer.chat_id][one] for one in ids))

    return [replace(one, gold=lifted(one, one.gold), ranked=lifted(one, one.ranked)) for one in answered]


def halves(data: BenchmarkData, answered: Iterable[Answer]) -> tuple[list[Answer], list[Answer]]:
    """Return the answers of the first half of the chats, for tuning, and those of the rest, for reporting."""
    first = {chat.chat_id for chat in data.chats[: math.ceil(len(data.chats) / 2)]}
    parts: tuple[list[Answer], list[Answer]] = ([], [])
    for one in answered:
        parts[one.chat_id not in first].append(one)
    return parts


def by_category(answered: Iterable[Answer]) -> dict[str, list[Answer]]:
    """Return the answers by the kind of their question, in alphabetical order."""
    parts: defaultdict[str, list[Answer]] = defaultdict(list)
    for one in answered:
        parts[one.category].append(one)
    return dict(sorted(parts.items()))


def measured(answered: Sequence[Answer], names: Iterable[str] = MEASURES) -> dict[str, Measured]:
    """Return each of the named `MEASURES` over the answers. Raises ValueError when there are no answers."""
    return {name: interval([MEASURES[name](one) for one in answered]) for name in names}


def interval(values: Sequence[float], *, resamples: int = RESAMPLES, seed: int = 1) -> Measured:
    """Return the mean and its 95 % interval by the percentile bootstrap over the values (Efron, 1979).

    Raises ValueError when there are no values.
    """
    if not values:
        raise ValueError("There are no answers to measure; take a file with questions that have gold ids.")
    array = np.asarray(values, np.float64)
    draws = np.random.default_rng(seed).integers(len(array), size=(resamples, len(array)), dtype=np.int32)
    low, high = np.percentile(array[draws].mean(axis=1), [2.5, 97.5])
    return Measured(float(array.mean()), float(low), float(high), len(array))


def _wanted(answer: Answer) -> int:
    if not answer.gold:
        raise ValueError(f"Question {answer.qid} has no gold ids; nothing can be measured on it.")
    return len(answer.gold)


def _found(answer: Answer, k: int) -> int:
    return len(set(answer.ranked[:k]) & set(answer.gold))


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)
