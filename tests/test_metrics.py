"""What is measured and how it is shown."""

from __future__ import annotations

import pytest

from bot.metrics import CONTENT_TYPE, Metrics
from memory.usage import Usage


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_two_metrics_do_not_count_into_each_other() -> None:
    one, other = Metrics(), Metrics()

    one.turns.labels("answered").inc()

    assert value(one, "mnemogram_turns_total", outcome="answered") == 1
    assert value(other, "mnemogram_turns_total", outcome="answered") is None


def test_a_call_to_a_model_counts_tokens_by_kind_and_money() -> None:
    metrics = Metrics()

    metrics.spent(Usage("sonnet", 10, 200, 30, 4, 0.5))
    metrics.spent(Usage("sonnet", 1, 2, 3, 4, 0.25))

    tokens = {
        kind: value(metrics, "mnemogram_model_tokens_total", model="sonnet", kind=kind)
        for kind in ("input", "cache_read", "cache_write", "output")
    }
    assert tokens == {"input": 11, "cache_read": 202, "cache_write": 33, "output": 8}
    assert value(metrics, "mnemogram_model_cost_usd_total", model="sonnet") == 0.75
    assert value(metrics, "mnemogram_model_calls_total", model="sonnet") == 2


def test_an_error_counts_by_place_and_class_without_its_text() -> None:
    metrics = Metrics()

    metrics.failed("turn", ValueError("my dog is called Bublik"))

    assert value(metrics, "mnemogram_errors_total", where="turn", error="ValueError") == 1
    assert b"Bublik" not in metrics.render()


def test_a_stage_is_measured_even_when_it_fails() -> None:
    metrics = Metrics()

    with pytest.raises(ValueError, match="no"), metrics.stage("recall"):
        raise ValueError("no")

    assert value(metrics, "mnemogram_turn_seconds_count", stage="recall") == 1


def test_a_search_counts_its_time_and_its_hits() -> None:
    metrics = Metrics()

    metrics.recalled(0.02, 3)

    assert value(metrics, "mnemogram_recall_seconds_sum") == 0.02
    assert value(metrics, "mnemogram_recall_hits_sum") == 3


def test_the_hit_rate_of_the_embedders_cache_can_be_read() -> None:
    metrics = Metrics()

    counts = [3, 1]
    metrics.watch_embedder(lambda: (counts[0], counts[1]))

    counts[0] += 1

    assert value(metrics, "mnemogram_query_embeddings_total", cache="hit") == 4
    assert value(metrics, "mnemogram_query_embeddings_total", cache="miss") == 1


def test_everything_is_shown_as_prometheus_reads_it() -> None:
    metrics = Metrics()
    metrics.inbox_pending.set(2)

    shown = metrics.render()

    assert b"\nmnemogram_inbox_pending 2.0\n" in shown
    assert CONTENT_TYPE.startswith("text/plain")
