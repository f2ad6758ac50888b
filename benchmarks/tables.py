"""Tables in Markdown, and how figures look in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.measures import Measured

NOTHING = "–"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are figures."""
    line = ("---", *("--:" for _ in heads[1:]))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, line, *rows))


def share(value: float) -> str:
    """A share with three places, as .123."""
    return f"{value:.3f}".removeprefix("0")


def with_interval(measured: Measured) -> str:
    """A share and its 95 % interval."""
    return f"{share(measured.mean)} ({share(measured.low)}–{share(measured.high)})"


def milliseconds(spread: tuple[float, float] | None) -> str:
    """A median and a 95th percentile."""
    return NOTHING if spread is None else " / ".join(_fine(each) for each in spread)


def _fine(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"
