"""The tables of what was found in the chats of a file: by half, by kind of question, by session."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.chats import BenchmarkData
from benchmarks.measures import Answer, by_category, by_session, halves, measured
from benchmarks.results import System
from benchmarks.tables import NOTHING, milliseconds, share, table, with_interval

COLUMNS = ("recall@1", "recall@5", "recall@10", "nDCG@10")
AT_TEN = "recall@10"
SESSIONS = ("recall@1", "all@5")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A system with its answers."""

    system: System
    answers: Sequence[Answer]


def ranked(data: BenchmarkData, systems: Sequence[System]) -> list[Ranked]:
    """Return the systems that answered, best recall@10 first. Raises ValueError for a question left out."""
    found = [Ranked(system, system.answers(data)) for system in systems if not system.fault]
    return sorted(found, key=lambda one: -measured(one.answers, [AT_TEN])[AT_TEN].mean)


def recall_tables(data: BenchmarkData, systems: Sequence[Ranked]) -> Iterator[tuple[str, str]]:
    """Yield a heading and a table each."""
    later = [Ranked(one.system, halves(data, one.answers)[1]) for one in systems]
    sessions = [Ranked(one.system, by_session(data, one.answers)) for one in systems]
    yield "All conversations", _measures(systems, COLUMNS)
    if later[0].answers:
        first, last = math.ceil(len(data.chats) / 2) + 1, len(data.chats)
        yield f"Conversations {first} to {last}, on which nothing was tuned", _measures(later, COLUMNS)
    yield "Recall@10 by kind of question", _categories(systems)
    yield "Whole sessions in the place of turns", _measures(sessions, SESSIONS)
    yield "Time in ms, without embedding the question", _times(systems)


def _measures(systems: Sequence[Ranked], names: Sequence[str]) -> str:
    rows = [
        (_title(one), *(with_interval(found) for found in measured(one.answers, names).values()))
        for one in systems
    ]
    return table(("system", *names), rows)


def _categories(systems: Sequence[Ranked]) -> str:
    parts = [by_category(one.answers) for one in systems]
    sizes = {kind: len(answers) for kind, answers in parts[0].items()}
    rows = [
        (_title(one), *(share(measured(part[kind], [AT_TEN])[AT_TEN].mean) for kind in sizes))
        for one, part in zip(systems, parts, strict=True)
    ]
    return table(("system", *(f"{kind} ({size})" for kind, size in sizes.items())), rows)


def _times(systems: Sequence[Ranked]) -> str:
    rows = [
        (
            _title(one),
            milliseconds(one.system.search_ms),
            milliseconds(one.system.together_ms),
            NOTHING if one.system.ingest_seconds is None else f"{one.system.ingest_seconds:.1f}",
        )
        for one in systems
    ]
    heads = (
        "system",
        "search, a store for each chat: p50 / p95",
        "one store for all",
        "storing all turns, s",
    )
    return table(heads, rows)


def _title(one: Ranked) -> str:
    return f"**{one.system.title}**" if one.system.is_ours else one.system.title
