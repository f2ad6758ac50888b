"""The report: what the benchmarks have left in a directory, as tables in Markdown and as pictures.

Run `python -m benchmarks.report`, with `--data FILE` for the chats whose questions were asked, and with
`--docs` to put tables and pictures into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.chats import BenchmarkData, load
from benchmarks.own_tables import directions_table, kinds_table
from benchmarks.plots import plot_latency, plot_recall
from benchmarks.recall_tables import Ranked, ranked, recall_tables
from benchmarks.results import Results, read
from benchmarks.time_tables import ingest_table, latency_tables, machine_line

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- The report begins. -->", "<!-- The report ends. -->"
"""What stands between these lines of a page is written by this command."""


def report(results: Results, data: BenchmarkData | None) -> str:
    """Return everything that there is in Markdown, from headings of the third level on, and what is missing.

    Raises ValueError when a system was not asked all questions of `data`.
    """
    parts = [*_recall(results, data), *_own(results), *_times(results), *_missing(results, data)]
    return "\n\n".join(parts) + "\n"


def draw(results: Results, data: BenchmarkData | None, directory: Path) -> None:
    """Draw the pictures that the report shows. Raises ImportError without matplotlib, OSError."""
    for encoder, systems in _by_encoder(results, data):
        plot_recall(systems, f"Encoder {encoder}, 95 % intervals", directory / f"recall-{encoder}.png")
    if results.latency:
        plot_latency(results.latency, directory / "latency.png")


def put_into(page: Path, text: str) -> None:
    """Put a report in the place of the one that the page shows. Raises ValueError if it has no place."""
    before, begins, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, ends, after = rest.partition(END)
    if not (begins and ends):
        raise ValueError(f"{page} has no lines {BEGIN!r} and {END!r}; add them where the report belongs.")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


def _by_encoder(results: Results, data: BenchmarkData | None) -> Iterator[tuple[str, list[Ranked]]]:
    """The systems that answered, best first, by the encoder that they all use."""
    for encoder in results.encoders if data else ():
        assert data is not None
        found = ranked(data, [one for one in results.systems if one.encoder == encoder])
        if found:
            yield encoder, found


def _recall(results: Results, data: BenchmarkData | None) -> Iterator[str]:
    for encoder, systems in _by_encoder(results, data):
        assert data is not None
        questions, turns = len(systems[0].answers), sum(len(chat.records) for chat in data.chats)
        yield f"### {data.name}, encoder {encoder}"
        yield f"{questions:,} questions with an answer, {turns:,} turns in {len(data.chats)} conversations."
        yield f"![What each system finds with the encoder {encoder}](images/recall-{encoder}.png)"
        for heading, table in recall_tables(data, systems):
            yield f"#### {heading}\n\n{table}"
    if faults := [
        f"- {one.name}, encoder {one.encoder}: {one.fault}" for one in results.systems if one.fault
    ]:
        yield "\n".join(["Left out:\n", *faults])


def _own(results: Results) -> Iterator[str]:
    for encoder, outcomes in results.own.items():
        yield f"### The project's own set, encoder {encoder}"
        yield directions_table(outcomes)
        yield f"Recall@5 by kind of question, all directions together:\n\n{kinds_table(outcomes)}"


def _times(results: Results) -> Iterator[str]:
    if results.latency:
        yield f"### Time of a search\n\n{machine_line(results.latency)} Median and 95th percentile in ms."
        yield "![The time of a search by size](images/latency.png)"
        for heading, table in latency_tables(results.latency):
            yield f"#### {heading}\n\n{table}"
    if results.ingest:
        yield f"### Taking in\n\n{machine_line(results.ingest)}\n\n{ingest_table(results.ingest)}"


def _missing(results: Results, data: BenchmarkData | None) -> Iterator[str]:
    """One note with a line for each benchmark that has left nothing."""
    commands = {
        "`make bench LOCOMO=path`": bool(data and any(one.is_ours for one in results.systems)),
        "`make bench-peers LOCOMO=path`": bool(data and any(not one.is_ours for one in results.systems)),
        "`python -m benchmarks.own`": bool(results.own),
        "`python -m benchmarks.latency`": bool(results.latency),
        "`python -m benchmarks.ingest`": bool(results.ingest),
    }
    if missing := [command for command, is_there in commands.items() if not is_there]:
        yield f"Not measured here, as nobody has run {', '.join(missing)}."


def main(arguments: argparse.Namespace) -> int:
    try:
        data = load(arguments.data) if arguments.data else None
        results = read(arguments.out)
        text = report(results, data)
        (arguments.out / "report.md").write_text(text, encoding="utf-8")
        print(text)
        _draw_all(arguments, results, data)
        if arguments.docs:
            put_into(DOCS / "benchmarks.md", text)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _draw_all(arguments: argparse.Namespace, results: Results, data: BenchmarkData | None) -> None:
    directories = [arguments.out / "images", *([DOCS / "images"] if arguments.docs else [])]
    try:
        for directory in directories:
            draw(results, data, directory)
    except ImportError:
        print("There are no pictures without matplotlib; `make bench` installs it.", file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where the results are")
    parser.add_argument("--data", type=Path, help="the file of chats that the systems were asked about")
    parser.add_argument("--docs", action="store_true", help="put it into docs/benchmarks.md as well")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(_arguments()))
