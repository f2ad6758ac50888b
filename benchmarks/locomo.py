"""Recall of Mnemogram on LoCoMo, or on any file of the same shape.

Run `python -m benchmarks.locomo --data FILE`. The answers go into a JSON file that benchmarks.report reads.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.chats import Chat, load
from benchmarks.encoders import ENCODERS
from benchmarks.keeping import KeepingEmbedder
from benchmarks.recall_tables import ranked, recall_tables
from benchmarks.results import system_of
from benchmarks.talking import MovedClock, asker_of, config_in, live_through
from bot.app import App, open_app
from memory.embeddings import load_embedder
from memory.types import Query

K = 10


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with the records that were found for it, best first."""

    qid: str
    category: str
    chat: str
    ranked: tuple[str, ...]
    milliseconds: float


async def ask_all(
    chats: Sequence[Chat], embedder: KeepingEmbedder, directory: Path
) -> tuple[list[Answered], float]:
    """Live through the chats and ask; return the answers, and the ingest's seconds less the encoder's."""
    found: list[Answered] = []
    clock = MovedClock()
    seconds = 0.0
    async with open_app(config_in(directory), owner=False, clock=clock, embedder=embedder) as app:
        for chat_id, chat in enumerate(chats, start=1):
            started, embedded = time.perf_counter(), embedder.seconds
            records = await live_through(app, clock, chat_id, chat)
            seconds += time.perf_counter() - started - (embedder.seconds - embedded)
            found += [
                await _ask(app, chat_id, chat, number, records) for number in range(len(chat.questions))
            ]
            print(f"{chat.chat_id}: {len(records)} turns, {len(chat.questions)} questions", flush=True)
    return found, seconds


async def _ask(app: App, chat_id: int, chat: Chat, number: int, records: dict[int, str]) -> Answered:
    question = chat.questions[number]
    query = Query(chat_id, question.text, k=K, asker=asker_of(chat))
    await app.memory.search(query)  # embeds the question, which costs every system the same
    started = time.perf_counter()
    hits = await app.memory.search(query)
    took = 1_000 * (time.perf_counter() - started)
    found = tuple(records[hit.memory.id] for hit in hits)
    return Answered(question.qid, question.category, chat.chat_id, found, took)


async def main(arguments: argparse.Namespace) -> None:
    data = load(arguments.data).first(arguments.chats)
    inner = await asyncio.to_thread(load_embedder, ENCODERS[arguments.encoder])
    kept = arguments.cache / f"{arguments.encoder}.npz"
    embedder = KeepingEmbedder(inner, kept)
    with tempfile.TemporaryDirectory() as directory:
        given, seconds = await ask_all(data.chats, embedder, Path(directory))
    await inner.close()
    embedder.save(kept)
    took = [answer.milliseconds for answer in given]
    found = {
        "peer": "mnemogram",
        "encoder": arguments.encoder,
        "results": [
            {"qid": each.qid, "category": each.category, "chat": each.chat, "ranked": each.ranked}
            for each in given
        ],
        "ingest_seconds": seconds,
        "search_ms": {"p50": float(np.percentile(took, 50)), "p95": float(np.percentile(took, 95))},
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / f"mnemogram-{arguments.encoder}.json"
    file.write_text(json.dumps(found), encoding="utf-8")
    for heading, table in recall_tables(data, ranked(data, [system_of(found)])):
        print(f"{heading}\n\n{table}\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.locomo", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="a file of LoCoMo's shape, see benchmarks/chats.py"
    )
    parser.add_argument("--encoder", choices=ENCODERS, default="bundled")
    parser.add_argument("--chats", type=int, help="only so many chats")
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    parser.add_argument(
        "--cache", type=Path, default=Path("build/bench/vectors"), help="vectors to use again"
    )
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main(_arguments()))
