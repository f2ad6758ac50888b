"""What the benchmarks have left in their directory, for the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.chats import BenchmarkData
from benchmarks.measures import Answer, answers
from benchmarks.own_outcomes import Outcome

OURS = "mnemogram"


@dataclass(frozen=True, slots=True)
class System:
    """One system with one encoder on the chats of a file.

    `search_ms` and `together_ms` are the median and the 95th percentile with a store for each chat and with
    one for all, both without the embedding of the question; `fault` says why there is nothing else.
    """

    name: str
    version: str
    encoder: str
    ranked: Mapping[str, Sequence[str]]
    ingest_seconds: float | None
    search_ms: tuple[float, float] | None
    together_ms: tuple[float, float] | None
    fault: str = ""

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}".strip()

    @property
    def is_ours(self) -> bool:
        return self.name == OURS

    def answers(self, data: BenchmarkData) -> list[Answer]:
        """Put what it brought beside the gold. Raises ValueError when a question was not asked."""
        return answers(data, self.ranked)


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that is there; what is not is `None` or empty."""

    systems: Sequence[System]
    own: Mapping[str, Sequence[Outcome]]
    latency: Mapping[str, Any] | None
    ingest: Mapping[str, Any] | None

    @property
    def encoders(self) -> list[str]:
        return sorted({system.encoder for system in self.systems})


def read(directory: Path) -> Results:
    """Read the files of all benchmarks in a directory. Raises ValueError for one that is no JSON."""
    files = [*sorted(directory.glob(f"{OURS}-*.json")), *sorted((directory / "peers").glob("*.json"))]
    own = {file.stem.removeprefix("own-"): _json(file) for file in sorted(directory.glob("own-*.json"))}
    return Results(
        [system_of(_json(file)) for file in files],
        {encoder: [_outcome(each) for each in found] for encoder, found in own.items()},
        _json_or_none(directory / "latency.json"),
        _json_or_none(directory / "ingest.json"),
    )


def system_of(raw: Mapping[str, Any]) -> System:
    """Return what a file of results tells of one system."""
    return System(
        raw["peer"],
        raw.get("version") or "",
        raw["encoder"],
        {each["qid"]: each["ranked"] for each in raw["results"]},
        raw.get("ingest_seconds"),
        _spread(raw),
        _spread(raw.get("together", {})),
        raw.get("error", ""),
    )


def _spread(raw: Mapping[str, Any]) -> tuple[float, float] | None:
    took = raw.get("search_ms")
    return (took["p50"], took["p95"]) if took else None


def _outcome(raw: Mapping[str, Any]) -> Outcome:
    return Outcome(**{**raw, "ranks": tuple(raw["ranks"])})


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{file} is no JSON in UTF-8; run its benchmark again.") from None


def _json_or_none(file: Path) -> Any:
    return _json(file) if file.is_file() else None
