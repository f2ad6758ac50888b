"""The tables of the project's own set: each direction in each half, and each kind of question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.measures import interval
from benchmarks.own_outcomes import Outcome, balanced
from benchmarks.tables import NOTHING, share, table, with_interval
from memory.search import RELEVANT


def directions_table(outcomes: Sequence[Outcome]) -> str:
    """Recall with its interval, and what the floor of relevance keeps and silences.

    The last rows put all directions together.
    """
    parts: dict[str, list[Outcome]] = {}
    for split in _splits(outcomes):
        for direction in dict.fromkeys(one.direction for one in outcomes):
            parts[f"{split}, {direction}"] = _part(outcomes, split=split, direction=direction)
    parts |= {f"{split}, all": _part(outcomes, split=split) for split in _splits(outcomes)}
    heads = ("themes and languages", "questions", "recall@1", "recall@5", "kept", "silent", "balanced")
    return table(heads, [(name, *_figures(part)) for name, part in parts.items()])


def kinds_table(outcomes: Sequence[Outcome]) -> str:
    """Recall@5 of each kind, or how many of it rightly bring nothing."""
    splits = _splits(outcomes)
    rows = [
        (kind, *(_right(_part(outcomes, split=split, kind=kind)) for split in splits))
        for kind in dict.fromkeys(one.kind for one in outcomes)
    ]
    return table(("kind", *splits), rows)


def _splits(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(one.split for one in outcomes))


def _part(outcomes: Sequence[Outcome], **wanted: str) -> list[Outcome]:
    return [one for one in outcomes if all(getattr(one, key) == value for key, value in wanted.items())]


def _figures(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    asked = [one for one in outcomes if one.answerable]
    kept, silent = balanced(outcomes)
    return (
        f"{len(asked)} + {len(outcomes) - len(asked)}",
        with_interval(interval([one.first for one in asked])),
        with_interval(interval([one.recall for one in asked])),
        share(kept),
        share(silent),
        share((kept + silent) / 2),
    )


def _right(outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return NOTHING
    if outcomes[0].answerable:
        return share(float(np.mean([one.recall for one in outcomes])))
    return f"{share(float(np.mean([one.relevance < RELEVANT for one in outcomes])))} silent"
