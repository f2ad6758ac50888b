"""How well the relevance floor tells questions that memory can answer from those that it cannot.

Run `python -m benchmarks.floor [MODEL]`. One half of the questions chooses the floor, the other is reported.
"""

from __future__ import annotations

import asyncio
import csv
import random
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.keeping import KeepingEmbedder
from benchmarks.talking import MovedClock
from memory.chat_copy import ChatCopy
from memory.embeddings import BUNDLED, load_embedder
from memory.ports import Purpose
from memory.postings import Postings
from memory.question import bare_question
from memory.search import RELEVANT, Search
from memory.text import stems
from memory.types import Link, Memory, MemoryType, Origin, Query, Status, Vector

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SIZES = (1, 5, 40)
LANGUAGES = ("ru", "en")


@dataclass(frozen=True, slots=True)
class Asked:
    """A fact about a person, by language, and a question that it answers."""

    fact: Mapping[str, str]
    question: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Trial:
    """A question in a chat of some facts; the first one answers it, or none does."""

    question: str
    facts: tuple[str, ...]
    kind: str
    answered: bool = False

    @property
    def size(self) -> int:
        return len(self.facts)


Scored: TypeAlias = Sequence[tuple[Trial, float]]
"""Trials with the score of the right memory, or of the best wrong one where there is none."""


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a table beside this file."""
    with (Path(__file__).parent / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def by_language(row: Mapping[str, str], column: str) -> dict[str, str]:
    return {language: row[f"{column} {language}"] for language in LANGUAGES}


ANSWERED = [
    Asked(by_language(row, "fact"), by_language(row, "question")) for row in read("floor_answered.tsv")
]
UNANSWERED = [by_language(row, "question") for row in read("floor_unanswered.tsv")]


class Chat:
    """The memories of one chat, in a list: their ids are their places in it."""

    def __init__(self, facts: Sequence[str], embedder: KeepingEmbedder) -> None:
        self._facts = facts
        self._embedder = embedder

    async def get(self, chat_id: int) -> ChatCopy:
        vectors = await self._embedder.embed(self._facts, Purpose.PASSAGE)
        return copy_of(chat_id, self._facts, vectors)

    async def get_active(self, chat_id: int, ids: Collection[int]) -> list[Memory]:
        return [_memory(chat_id, one, self._facts[one]) for one in ids]

    async def linked(self, chat_id: int, ids: Collection[int]) -> list[Link]:  # noqa: ARG002
        return []

    async def neighbours(
        self,
        chat_id: int,  # noqa: ARG002
        turns: Sequence[Memory],  # noqa: ARG002
        each_side: int,  # noqa: ARG002
    ) -> dict[int, tuple[list[Memory], list[Memory]]]:
        return {}

    async def nearest(self, *_question: object) -> list[tuple[int, float]]:
        raise AssertionError("the vectors are in memory")


def copy_of(chat_id: int, facts: Sequence[str], vectors: Vector) -> ChatCopy:
    """Return the copy of a chat that holds these facts, all said by nobody and now."""
    size = len(facts)
    counted = [Counter(stems(fact)) for fact in facts]
    words = sorted(set().union(*counted))
    found = [
        (place, row, counts[word])
        for row, counts in enumerate(counted)
        for place, word in enumerate(words)
        if word in counts
    ]
    places, rows, counts = np.array(sorted(found), np.int64).reshape(-1, 3).T
    postings = Postings().with_added(words, places, rows.astype(np.int32), counts.astype(np.int32))
    zeros = np.zeros(size, np.int32)
    return ChatCopy(
        chat_id=chat_id,
        revision=0,
        ids=np.arange(size, dtype=np.int64),
        alive=np.ones(size, np.bool_),
        types=zeros.astype(np.int8),
        origins=zeros.astype(np.int8),
        speakers=zeros,
        speaker_names=("",),
        valid_from=np.full(size, NOW.timestamp()),
        sessions=zeros.astype(np.int64),
        importance=np.full(size, 0.5, np.float32),
        lengths=np.array([counts.total() for counts in counted], np.int32),
        previous=zeros - 1,
        vectors=vectors,
        has_vector=np.ones(size, np.bool_),
        words=postings,
        rising=size,
        dead=0,
    )


def _memory(chat_id: int, memory_id: int, text: str) -> Memory:
    return Memory(
        memory_id, chat_id, MemoryType.FACT, text, Origin.PERSON, Status.ACTIVE, NOW, NOW, revision=memory_id
    )


def trials(asked: Sequence[Asked], unanswered: Sequence[Mapping[str, str]], seed: int = 1) -> Iterator[Trial]:
    """Every question in chats of every size, with its fact and without it, and those that nothing answers."""
    luck = random.Random(seed)
    for size in SIZES:
        for one, language in product(asked, LANGUAGES):
            question = one.question[language]
            for other in LANGUAGES:
                facts = (one.fact[other], *_facts(luck, size - 1, one))
                yield Trial(question, facts, f"{language} to {other}", answered=True)
            yield Trial(question, _facts(luck, size, one), "fact absent")
        for two, language, _ in product(unanswered, LANGUAGES, range(3)):
            yield Trial(two[language], _facts(luck, size), "unrelated")


def _facts(luck: random.Random, size: int, but: Asked | None = None) -> tuple[str, ...]:
    others = [one for one in ANSWERED if one is not but]
    return tuple(one.fact[luck.choice(LANGUAGES)] for one in luck.sample(others, size))


async def top_score(trial: Trial, embedder: KeepingEmbedder) -> float:
    """Return the score of the right memory, or of the best wrong one where there is none."""
    chat = Chat(trial.facts, embedder)
    search = Search(chat, chat, chat.nearest, embedder, MovedClock(NOW))
    hits = await search.search(Query(1, trial.question, k=len(trial.facts)))
    wanted = [hit.score.relevance for hit in hits if not trial.answered or hit.memory.id == 0]
    return max(wanted, default=0.0)


async def report_cosines(embedder: KeepingEmbedder) -> None:
    """Print what memory.scales is made of: the median cosines of wrong and of right pairs."""
    for language, other in product(LANGUAGES, LANGUAGES):
        asked = [bare_question(one.question[language]) for one in ANSWERED]
        facts = [one.fact[other] for one in ANSWERED]
        cosines = (
            await embedder.embed(asked, Purpose.QUERY) @ (await embedder.embed(facts, Purpose.PASSAGE)).T
        )
        right = np.eye(len(ANSWERED), dtype=np.bool_)
        wrong, answers = np.median(cosines[~right]), np.percentile(cosines[right], [50, 95])
        print(
            f"{language} to {other}: wrong {wrong:.3f}, right {answers[0]:.3f}, the surest {answers[1]:.3f}"
        )


def balanced(scored: Scored, floor: float) -> float:
    """Return the mean of two shares: right memories that reach the floor, and silences that stay silent."""
    kept = [score >= floor for trial, score in scored if trial.answered]
    silent = [score < floor for trial, score in scored if "unrelated" in trial.kind]
    return float(np.mean(kept) + np.mean(silent)) / 2


def best_floor(scored: Scored) -> float:
    return max((step / 100 for step in range(2, 90)), key=lambda floor: balanced(scored, floor))


def report(model_id: str, chosen_on: Scored, held_out: Scored) -> None:
    """Print how the best floor and the shipped one do, then each kind of question."""
    for floor in (best_floor(chosen_on), RELEVANT):
        print(f"{model_id}, floor {floor:.2f}: balanced accuracy {balanced(chosen_on, floor):.3f}", end="")
        print(f" where the floor is chosen, {balanced(held_out, floor):.3f} held out")
    for size in SIZES:
        part = [one for one in [*chosen_on, *held_out] if one[0].size == size]
        best = best_floor(part)
        print(f"{size:2} memories: {balanced(part, RELEVANT):.3f}", end=", ")
        print(f"best {balanced(part, best):.3f} at {best:.2f}")
        for kind in dict.fromkeys(trial.kind for trial, _ in part):
            right = [(score >= RELEVANT) == trial.answered for trial, score in part if trial.kind == kind]
            print(f"   {kind:10} right in {np.mean(right):.2f} of {len(right)}")


async def main() -> None:
    embedder = KeepingEmbedder(load_embedder(sys.argv[1] if len(sys.argv) > 1 else BUNDLED, query_cache=1))
    halves: list[Scored] = [
        [
            (trial, await top_score(trial, embedder))
            for trial in trials(ANSWERED[half::2], UNANSWERED[half::2])
        ]
        for half in (0, 1)
    ]
    await report_cosines(embedder)
    report(embedder.model_id, *halves)


if __name__ == "__main__":
    asyncio.run(main())
