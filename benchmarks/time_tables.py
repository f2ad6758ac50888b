"""The tables of time and memory: search by size, stalls of the event loop, and taking things in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.tables import NOTHING, milliseconds, table

_Raw = Mapping[str, Any]


def latency_tables(found: _Raw) -> Iterator[tuple[str, str]]:
    """Yield a heading and a table each, of what benchmarks.latency has measured."""
    searches = found["searches"]
    yield "One chat while all else grows", _searches([one for one in searches if not one["indexed"]])
    yield "One chat that grows", _searches([one for one in searches if one["indexed"]])
    yield "How long the event loop stands still at most", _stalls(found["stalls"])


def ingest_table(found: _Raw) -> str:
    """Return a table of what benchmarks.ingest has measured."""
    heads = (
        "taken in",
        "memories",
        "seconds",
        "per second",
        "in the encoder",
        "longest stall, ms",
        "questions meanwhile, ms",
    )
    return table(heads, [_ingested(one) for one in found["ingested"]])


def machine_line(found: _Raw) -> str:
    """Return one sentence about where the figures come from."""
    on = found["machine"]
    return (
        f"{on['processors']} processors ({on['processor']}), {on['system']}, Python {on['python']}, "
        f"load {on['load']} when it ended; encoder {found['encoder']}."
    )


def _searches(searches: Sequence[_Raw]) -> str:
    heads = (
        "memories in all",
        "in the chat",
        "embedding alone",
        "search, all of it",
        "without the encoder",
        "processor: search",
        "of it encoder",
        "first question",
        "memory, MB",
    )
    rising = sorted(searches, key=lambda one: (one["chat_size"], one["memories"]))
    return table(heads, [_search(one) for one in rising])


def _search(one: _Raw) -> tuple[str, ...]:
    times = ("embedding_ms", "search_ms", "rest_ms", "cpu_ms", "encoder_cpu_ms", "first_ms")
    memory = NOTHING if one["warm_mb"] is None else f"{one['warm_mb']:.0f}"
    return f"{one['memories']:,}", f"{one['chat_size']:,}", *(_spread(one[name]) for name in times), memory


def _stalls(stalls: Sequence[_Raw]) -> str:
    heads = ("during", "longest stall, ms", "of it the loop's own work, ms", "questions meanwhile, ms")
    rows = [
        (one["during"], f"{one['longest_ms']:.0f}", f"{one['busy_ms']:.0f}", _spread(one["question_ms"]))
        for one in stalls
    ]
    return table(heads, rows)


def _ingested(one: _Raw) -> tuple[str, ...]:
    return (
        f"{one['what']} of {one['items']:,}",
        f"{one['memories']:,}",
        f"{one['seconds']:.1f}",
        f"{one['items'] / one['seconds']:.1f}",
        f"{one['encoder_share']:.1%}",
        f"{one['longest_ms']:.0f}",
        _spread(one["question_ms"]),
    )


def _spread(raw: _Raw | None) -> str:
    return milliseconds((raw["p50"], raw["p95"]) if raw else None)
