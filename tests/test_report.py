"""The report of the benchmarks: what stands in it, and what it says about what is missing or broken."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.asking import Asked
from benchmarks.busy import Stalled
from benchmarks.chats import BenchmarkData, Chat, Question, Record
from benchmarks.ingest import Ingested
from benchmarks.own_outcomes import Outcome
from benchmarks.report import BEGIN, DOCS, END, draw, main, put_into, report
from benchmarks.results import read
from benchmarks.timing import Spread

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
KINDS = ("single", "multi")
MACHINE = {"processor": "made up", "processors": 2, "load": 0.1, "python": "3.11", "system": "Linux"}
QUICK = Spread(30.04, 61.2)
ASKED = Asked(
    memories=10_000,
    chat_size=100,
    indexed=False,
    questions=60,
    embedding_ms=Spread(20.0, 25.0),
    search_ms=QUICK,
    rest_ms=QUICK,
    cpu_ms=QUICK,
    encoder_cpu_ms=QUICK,
    first_ms=QUICK,
    empty_mb=240.0,
    warm_mb=251.4,
)
STALLED = Stalled("remembering 500 memories", 43.6, 2.1, QUICK)
INGESTED = Ingested("a document", 2_000, 180, 40.0, 0.9431, 23, 12.0, 1.0, None)


def chat(number: int) -> Chat:
    """Two turns in each of two sessions, and a question of each kind that the first turn answers."""
    records = tuple(Record(one, one, "Ann", "S1" if one in "ab" else "S2", NOON) for one in "abcd")
    questions = tuple(Question(f"{number}-{kind}", "?", kind, ("a",), None) for kind in KINDS)
    return Chat(f"c{number}", records, questions)


DATA = BenchmarkData("Small", "made up", "", (chat(1), chat(2)))


def system(name: str, ranked: str, *, encoder: str = "minilm", **more: object) -> Mapping[str, object]:
    """What a system leaves that brings the same turns for every question."""
    results = [
        {"qid": one.qid, "category": one.category, "chat": each.chat_id, "ranked": list(ranked)}
        for each in DATA.chats
        for one in each.questions
    ]
    took = {"ingest_seconds": 3.21, "search_ms": {"p50": 1.26, "p95": 40.4}}
    return {"peer": name, "version": "1.2", "encoder": encoder, "results": results} | took | more


def left(directory: Path, **files: object) -> Path:
    """Leave results, each under its name; two underscores stand for a directory."""
    for name, found in files.items():
        file = directory / f"{name.replace('__', '/').replace('_', '-')}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found), encoding="utf-8")
    return directory


def rows(text: str, first: str) -> list[list[str]]:
    """The cells of the rows that begin with this cell."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    return [row for row in cells if row and row[0] == first]


def told(directory: Path) -> str:
    return report(read(directory), DATA)


def outcome(split: str, ranks: Sequence[int], gold: int, relevance: float) -> dict[str, Any]:
    kind = "direct" if gold else "unanswerable"
    return asdict(Outcome(f"q{relevance}", split, kind, "ru to en", tuple(ranks), gold, relevance))


def test_each_system_stands_in_the_tables_with_its_recall_and_the_interval(tmp_path: Path) -> None:
    text = told(left(tmp_path, mnemogram_minilm=system("mnemogram", "ba", version="")))

    everything, later, kinds, sessions, times = rows(text, "**mnemogram**")
    assert everything[1:4] == [".000 (.000–.000)", "1.000 (1.000–1.000)", "1.000 (1.000–1.000)"]
    assert later == everything
    assert kinds[1:] == ["1.000", "1.000"]
    assert sessions[1:] == ["1.000 (1.000–1.000)", "1.000 (1.000–1.000)"]
    assert times[1:] == ["1.3 / 40", "–", "3.2"]
    assert "#### Conversations 2 to 2, on which nothing was tuned" in text


def test_the_best_system_stands_first(tmp_path: Path) -> None:
    ours, best = system("mnemogram", "bc"), system("best", "ab")

    text = told(left(tmp_path, mnemogram_minilm=ours, peers__best=best))

    _, _, *systems = text.partition("#### All conversations\n\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split("|")[1].strip() for line in systems] == ["best 1.2", "**mnemogram 1.2**"]


def test_systems_stand_beside_those_with_the_same_encoder_only(tmp_path: Path) -> None:
    text = told(
        left(
            tmp_path, mnemogram_bundled=system("mnemogram", "a", encoder="bundled"), peers__m=system("m", "a")
        )
    )

    first, second = text.split("### Small, encoder ")[1:]
    assert first.startswith("bundled")
    assert "| m 1.2 |" not in first
    assert second.startswith("minilm")
    assert "mnemogram" not in second.partition("Not measured")[0]


def test_a_peer_that_failed_is_left_out_with_what_it_said(tmp_path: Path) -> None:
    failed: dict[str, object] = {
        "peer": "gone",
        "version": None,
        "encoder": "minilm",
        "results": [],
        "error": "It has no wheel.",
    }

    text = told(left(tmp_path, peers__gone_minilm=failed, mnemogram_minilm=system("mnemogram", "a")))

    assert "- gone, encoder minilm: It has no wheel." in text
    assert not rows(text, "gone")


def test_a_system_that_was_not_asked_everything_is_a_fault(tmp_path: Path) -> None:
    directory = left(tmp_path, mnemogram_minilm=system("mnemogram", "a", results=[]))

    with pytest.raises(ValueError, match="has no ranking"):
        told(directory)


def test_the_own_set_is_told_by_half_and_direction_with_what_the_floor_does(tmp_path: Path) -> None:
    outcomes = [outcome("tune", [0], 1, 0.9), outcome("tune", [7], 1, 0.1), outcome("tune", [], 0, 0.01)]

    text = told(left(tmp_path, own_bundled=outcomes))

    [row] = rows(text, "tune, ru to en")
    assert row[1] == "2 + 1"
    assert row[2].startswith(".500 (")
    assert row[4:] == [".500", "1.000", ".750"]
    assert rows(text, "direct") == [["direct", ".500"]]
    assert rows(text, "unanswerable") == [["unanswerable", "1.000 silent"]]


def test_times_are_told_as_the_benchmarks_leave_them(tmp_path: Path) -> None:
    latency = {"encoder": "e", "machine": MACHINE, "searches": [asdict(ASKED)], "stalls": [asdict(STALLED)]}
    ingest = {"encoder": "e", "machine": MACHINE, "ingested": [asdict(INGESTED)]}

    text = told(left(tmp_path, latency=latency, ingest=ingest))

    assert rows(text, "10,000")[0][1:4] == ["100", "20 / 25", "30 / 61"]
    assert rows(text, "remembering 500 memories") == [["remembering 500 memories", "44", "2", "30 / 61"]]
    assert rows(text, "a document of 2,000")[0][1:] == ["180", "40.0", "50.0", "94.3%", "12", "–"]


def test_what_nobody_has_measured_is_named_with_its_command(tmp_path: Path) -> None:
    text = told(left(tmp_path, mnemogram_minilm=system("mnemogram", "a")))

    note = text.splitlines()[-1]
    assert note.startswith("Not measured here")
    assert "`make bench-peers LOCOMO=path`" in note
    assert "`python -m benchmarks.latency`" in note
    assert "`make bench LOCOMO=path`" not in note


def test_without_the_file_of_chats_the_rest_is_told(tmp_path: Path) -> None:
    directory = left(
        tmp_path,
        mnemogram_minilm=system("mnemogram", "a"),
        own_bundled=[outcome("test", [0], 1, 0.9), outcome("test", [], 0, 0.9)],
    )

    text = report(read(directory), None)

    assert "encoder minilm" not in text
    assert rows(text, "test, all")


def test_broken_results_are_told_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "latency.json").write_text("{", encoding="utf-8")

    ended = main(Namespace(out=tmp_path, data=None, docs=False))

    assert ended == 1
    assert (
        capsys.readouterr().err
        == f"{tmp_path / 'latency.json'} is no JSON in UTF-8; run its benchmark again.\n"
    )


def test_the_report_is_written_beside_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left(tmp_path, own_bundled=[outcome("test", [0], 1, 0.9), outcome("test", [], 0, 0.9)])

    ended = main(Namespace(out=tmp_path, data=None, docs=False))

    assert ended == 0
    assert (tmp_path / "report.md").read_text(encoding="utf-8") in capsys.readouterr().out


def test_a_page_keeps_all_but_its_report(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n", encoding="utf-8")

    put_into(page, "new\n")

    assert page.read_text(encoding="utf-8") == f"before\n\n{BEGIN}\n\nnew\n\n{END}\n\nafter\n"


def test_a_page_without_a_place_for_the_report_is_a_fault(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(END + BEGIN, encoding="utf-8")

    with pytest.raises(ValueError, match="add them where the report belongs"):
        put_into(page, "new\n")


def test_the_page_of_benchmarks_has_a_place_for_the_report() -> None:
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")

    assert 0 < page.find(BEGIN) < page.find(END)


def test_the_pictures_that_the_report_shows_are_drawn(tmp_path: Path) -> None:
    latency = {"encoder": "e", "machine": MACHINE, "searches": [asdict(ASKED)], "stalls": []}
    directory = left(tmp_path, mnemogram_minilm=system("mnemogram", "a"), latency=latency)

    draw(read(directory), DATA, tmp_path / "images")

    drawn = {file.name for file in (tmp_path / "images").iterdir()}
    assert drawn == {"recall-minilm.png", "latency.png"}
    assert all(f"(images/{name})" in told(directory) for name in drawn)
