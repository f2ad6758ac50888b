"""One peer in its own process: `python -m benchmarks.peers.worker NAME ...`, run with the peers' Python."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.chats import BenchmarkData, Chat, load
from benchmarks.peers.peer import PEERS, Peer
from benchmarks.peers.vectors import Vectors, read

K = 10
TOGETHER_QUESTIONS = 100


@dataclass(frozen=True, slots=True)
class Result:
    """What one question brought, as the report reads it."""

    qid: str
    category: str
    chat: str
    ranked: list[str]


@dataclass(frozen=True, slots=True)
class Run:
    """Some chats, each in a store of its own: results, seconds of ingest, milliseconds of each search."""

    results: list[Result]
    records: int
    ingest_seconds: float
    search_ms: list[float]

    def figures(self) -> dict[str, object]:
        p50, p95 = np.percentile(self.search_ms, [50, 95]) if self.search_ms else (0.0, 0.0)
        return {
            "records": self.records,
            "ingest_seconds": round(self.ingest_seconds, 3),
            "search_ms": {"p50": round(float(p50), 2), "p95": round(float(p95), 2)},
        }


def run(name: str, vectors: Vectors, chats: Sequence[Chat]) -> Run:
    """Ask the peer every question of the chats. Raises ImportError when it is not installed."""
    parts = list(_runs(name, vectors, chats))
    return Run(
        [result for part in parts for result in part.results],
        sum(part.records for part in parts),
        sum(part.ingest_seconds for part in parts),
        [each for part in parts for each in part.search_ms],
    )


def together(data: BenchmarkData) -> Chat:
    """Return one long chat of all, with some of their questions: only its times are of use."""
    records = [
        replace(record, id=f"{chat.chat_id}/{record.id}") for chat in data.chats for record in chat.records
    ]
    questions = [question for chat in data.chats for question in chat.questions]
    step = max(1, len(questions) // TOGETHER_QUESTIONS)
    return Chat("all", tuple(records), tuple(questions[::step][:TOGETHER_QUESTIONS]))


def _runs(name: str, vectors: Vectors, chats: Sequence[Chat]) -> Iterator[Run]:
    for chat in chats:
        with TemporaryDirectory(prefix="peer-", ignore_cleanup_errors=True) as folder:
            yield _asked(PEERS[name].open(vectors, Path(folder)), chat)


def _asked(peer: Peer, chat: Chat) -> Run:
    started = time.perf_counter()
    peer.ingest(chat.records)
    ingest_seconds = time.perf_counter() - started
    results, search_ms = [], []
    for question in chat.questions:
        started = time.perf_counter()
        ranked = peer.search(question.text, K)
        search_ms.append(1000 * (time.perf_counter() - started))
        results.append(Result(question.qid, question.category, chat.chat_id, ranked[:K]))
    return Run(results, len(chat.records), ingest_seconds, search_ms)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.worker")
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--chats", type=int)
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(argv)
    data, vectors = load(given.data), read(given.vectors)
    if given.chats is not None:
        data = data.first(given.chats)
    done = run(given.peer, vectors, data.chats)
    report = {
        "peer": given.peer,
        "version": PEERS[given.peer].version,
        "encoder": given.encoder,
        "results": [asdict(result) for result in done.results],
        **done.figures(),
    }
    if given.together:
        report["together"] = run(given.peer, vectors, [together(data)]).figures()
    given.out.write_text(json.dumps(report, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
