"""What is measured, for Prometheus: numbers and classes only, never a chat, a person or a word of theirs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from memory.usage import Usage

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""The HTTP content type of `Metrics.render`."""

_TURN_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320)
_RECALL_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)
_HITS = (0, 1, 2, 4, 8, 16)


class Metrics:
    """One registry, so that two apps in one process (tests) do not count into each other."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.turns = Counter("mnemogram_turns", "Turns by how they ended.", ["outcome"], registry=registry)
        self.turn_seconds = Histogram(
            "mnemogram_turn_seconds",
            "Seconds that each stage of a turn took.",
            ["stage"],
            buckets=_TURN_SECONDS,
            registry=registry,
        )
        self.recall_seconds = Histogram(
            "mnemogram_recall_seconds",
            "Seconds that a search in memory took.",
            buckets=_RECALL_SECONDS,
            registry=registry,
        )
        self.recall_hits = Histogram(
            "mnemogram_recall_hits", "Memories found by a search.", buckets=_HITS, registry=registry
        )
        self.model_calls = Counter("mnemogram_model_calls", "Calls to a model.", ["model"], registry=registry)
        self.model_tokens = Counter(
            "mnemogram_model_tokens", "Tokens by kind.", ["model", "kind"], registry=registry
        )
        self.model_cost = Counter(
            "mnemogram_model_cost_usd", "US dollars spent on models.", ["model"], registry=registry
        )
        self.errors = Counter(
            "mnemogram_errors",
            "Errors by where they came up and their class.",
            ["where", "error"],
            registry=registry,
        )
        self.job_runs = Counter(
            "mnemogram_job_runs", "Runs of background work.", ["job", "outcome"], registry=registry
        )
        self.job_seconds = Gauge(
            "mnemogram_job_last_seconds", "Seconds that the last run took.", ["job"], registry=registry
        )
        self.inbox_pending = Gauge(
            "mnemogram_inbox_pending", "Updates that wait to be dealt with.", registry=registry
        )
        self.inbox_age = Gauge(
            "mnemogram_inbox_oldest_seconds", "Age of the oldest update that waits.", registry=registry
        )
        self.index_lag = Gauge(
            "mnemogram_index_lag", "Changes that the vector index has not followed yet.", registry=registry
        )
        self.polling_age = Gauge(
            "mnemogram_polling_age_seconds", "Seconds since updates were last fetched.", registry=registry
        )

    def spent(self, usage: Usage) -> None:
        """Count one call to a model."""
        kinds = {
            "input": usage.input_tokens,
            "cache_read": usage.cache_read_tokens,
            "cache_write": usage.cache_write_tokens,
            "output": usage.output_tokens,
        }
        self.model_calls.labels(usage.model).inc()
        self.model_cost.labels(usage.model).inc(usage.cost_usd)
        for kind, tokens in kinds.items():
            self.model_tokens.labels(usage.model, kind).inc(tokens)

    def failed(self, where: str, error: BaseException) -> None:
        """Count an error by its class."""
        self.errors.labels(where, type(error).__name__).inc()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure one stage of a turn, also when it fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.turn_seconds.labels(name).observe(time.perf_counter() - start)

    def recalled(self, seconds: float, hits: int) -> None:
        """Count one search in memory."""
        self.recall_seconds.observe(seconds)
        self.recall_hits.observe(hits)

    def watch_embedder(self, counts: Callable[[], tuple[int, int]]) -> None:
        """Show how many questions the embedder's cache has answered and how many not, by its own counts."""
        self.registry.register(_CacheCounts(counts))

    def render(self) -> bytes:
        """Return everything in the text format that Prometheus reads."""
        return generate_latest(self.registry)


class _CacheCounts(Collector):
    """Reads counts that somebody else keeps, at the moment when they are shown."""

    def __init__(self, counts: Callable[[], tuple[int, int]]) -> None:
        self._counts = counts

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily(
            "mnemogram_query_embeddings", "Questions embedded, by cache hit or miss.", labels=["cache"]
        )
        for label, count in zip(("hit", "miss"), self._counts(), strict=True):
            family.add_metric([label], count)
        yield family
