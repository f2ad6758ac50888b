"""What a call to a model costs: Anthropic's price list, November 2026, in US dollars per million tokens."""

from __future__ import annotations

from dataclasses import dataclass

from memory.usage import Usage

MILLION = 1_000_000
CACHE_WRITE_FACTOR = 1.25
"""Writing to the five-minute cache costs this many times the price of plain input."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float


@dataclass(frozen=True, slots=True)
class Tariff:
    """The price of a model; `long` holds for prompts of more than `long_above` tokens, cached or not."""

    price: Price
    long: Price | None = None
    long_above: int = 0

    def price_of(self, prompt_tokens: int) -> Price:
        return self.long if self.long and prompt_tokens > self.long_above else self.price


# Models that are not listed, those of other makers above all, count as free.
TARIFFS = {
    "claude-haiku-5-5": Tariff(Price(0.10, 0.50, 0.01), Price(0.50, 2.50, 0.05), long_above=100_000),
    "claude-sonnet-5-5": Tariff(Price(2.00, 10.00, 0.10)),
    "claude-opus-5-5": Tariff(Price(4.00, 20.00, 0.40)),
    "claude-fable-5-1": Tariff(Price(10.00, 50.00, 1.00)),
    "claude-fable-5-2": Tariff(Price(10.00, 50.00, 1.00)),
    "claude-opus-4-6": Tariff(Price(5.00, 25.00, 0.50)),
}


def cost_usd(usage: Usage) -> float:
    """Return what one call costs, 0 for a model whose price is not known.

    The model's name may carry a date at its end and a gateway's prefix before a slash.
    """
    tariff = _tariff(usage.model)
    if tariff is None:
        return 0.0
    price = tariff.price_of(usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens)
    dollars = (
        usage.input_tokens * price.input
        + usage.cache_read_tokens * price.cache_read
        + usage.cache_write_tokens * price.input * CACHE_WRITE_FACTOR
        + usage.output_tokens * price.output
    )
    return dollars / MILLION


def _tariff(model: str) -> Tariff | None:
    name = model.rpartition("/")[2]
    return next((tariff for prefix, tariff in TARIFFS.items() if _belongs(name, prefix)), None)


def _belongs(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}-")
