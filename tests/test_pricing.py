"""What a call costs."""

from __future__ import annotations

from typing import Any

import pytest

from bot.pricing import cost_usd
from memory.usage import Usage


def cost(model: str, **tokens: Any) -> float:
    return cost_usd(Usage(model, **tokens))


@pytest.mark.parametrize(
    ("kind", "dollars"),
    [("input_tokens", 2.0), ("cache_read_tokens", 0.1), ("cache_write_tokens", 2.5), ("output_tokens", 10.0)],
)
def test_each_kind_of_token_has_its_price(kind: str, dollars: float) -> None:
    assert cost("claude-sonnet-5-5", **{kind: 1_000_000}) == pytest.approx(dollars)


def test_a_long_prompt_makes_the_small_model_five_times_as_dear() -> None:
    assert cost("claude-haiku-5-5", input_tokens=100_000) == pytest.approx(0.01)
    assert cost("claude-haiku-5-5", input_tokens=1, cache_read_tokens=100_000, output_tokens=1000) > 0.007
    assert cost("claude-haiku-5-5", input_tokens=200_000) == pytest.approx(0.1)


def test_dated_and_prefixed_names_are_known() -> None:
    plain = cost("claude-sonnet-5-5", input_tokens=10)

    assert cost("claude-sonnet-5-5-20260928", input_tokens=10) == plain
    assert cost("anthropic/claude-sonnet-5-5", input_tokens=10) == plain


@pytest.mark.parametrize("model", ["qwen3", "claude-sonnet-5", "claude-sonnet-5-55", ""])
def test_an_unknown_model_is_counted_as_free(model: str) -> None:
    assert cost(model, input_tokens=10, output_tokens=10) == 0
