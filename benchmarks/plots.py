"""The pictures of the report: what each system finds, and the time of a search by size. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.measures import Measured, measured
from benchmarks.recall_tables import Ranked

SHOWN = ("recall@1", "recall@5", "recall@10")
OURS, THEIRS, SECOND = "#1f6f8b", "#b8c4cc", "#c1666b"
_DOTS_PER_INCH = 130


def plot_recall(systems: Sequence[Ranked], title: str, file: Path) -> None:
    """Draw a bar with its 95 % interval for each system, the best at the top, and a panel for each measure.

    Raises ImportError without matplotlib, OSError.
    """
    figure, panels = _figure(len(SHOWN), width=9, height=1 + 0.35 * len(systems), sharey=True)
    best_last = list(reversed(systems))
    found = [measured(one.answers, SHOWN) for one in best_last]
    colours = [OURS if one.system.is_ours else THEIRS for one in best_last]
    for panel, name in zip(panels, SHOWN, strict=True):
        _bars(panel, [one[name] for one in found], colours)
        panel.set_title(name, fontsize=10)
    panels[0].set_yticks(range(len(found)), [one.system.title for one in best_last], fontsize=9)
    figure.suptitle(title, fontsize=11)
    _save(figure, file)


def plot_latency(found: Mapping[str, Any], file: Path) -> None:
    """Draw the time of a search by the size of its chat, and by that of everything, on log axes.

    Raises ImportError without matplotlib, OSError.
    """
    figure, (by_chat, by_whole) = _figure(2, width=9, height=3.6, sharey=True)
    _lines(by_chat, [one for one in found["searches"] if one["indexed"]], "chat_size", "search", OURS)
    around = [one for one in found["searches"] if not one["indexed"]]
    for size, colour in zip(sorted({one["chat_size"] for one in around}), (OURS, SECOND), strict=False):
        some = [one for one in around if one["chat_size"] == size]
        _lines(by_whole, some, "memories", f"a chat of {size:,}", colour)
    for panel, title in ((by_chat, "memories in the chat"), (by_whole, "memories in all chats")):
        panel.set(xscale="log", yscale="log", xlabel=title)
        panel.grid(which="both", alpha=0.2)
        panel.legend(fontsize=8, frameon=False)
    by_chat.set_ylabel("ms, embedding included")
    _save(figure, file)


def _figure(panels: int, *, width: float, height: float, sharey: bool) -> tuple[Any, Sequence[Any]]:
    """A figure with panels side by side; its own module, as only this command needs the library."""
    drawing: Any = import_module("matplotlib.figure")
    figure = drawing.Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, panels, sharey=sharey)


def _bars(panel: Any, found: Sequence[Measured], colours: Sequence[str]) -> None:
    means = [one.mean for one in found]
    spread = [[one.mean - one.low for one in found], [one.high - one.mean for one in found]]
    panel.barh(range(len(found)), means, xerr=spread, color=colours, ecolor="#555555", capsize=2)
    panel.set_xlim(0, 1)
    panel.grid(axis="x", alpha=0.3)
    panel.set_axisbelow(True)


def _lines(panel: Any, some: Sequence[Mapping[str, Any]], size: str, name: str, colour: str) -> None:
    """The median as a line and the 95th percentile as a dashed one, the embedding alone dotted."""
    rising = sorted(some, key=lambda one: int(one[size]))
    sizes = [one[size] for one in rising]
    for part, style in (("p50", "o-"), ("p95", "o--")):
        times = [one["search_ms"][part] for one in rising]
        panel.plot(sizes, times, style, color=colour, label=f"{name}, {part}", markersize=4)
    embedding = [one["embedding_ms"]["p50"] for one in rising]
    panel.plot(sizes, embedding, ":", color=colour, label="embedding alone, p50")


def _save(figure: Any, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=_DOTS_PER_INCH, metadata={"Software": None})
