"""How fast a document and a conversation become memories, and where the time goes, while another chat asks.

Run `python -m benchmarks.ingest`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

from benchmarks.asking import Asker, asker_in
from benchmarks.busy import hold_conversation
from benchmarks.filling import Sentences, fill
from benchmarks.own_set import load
from benchmarks.stalls import ticking, while_asking
from benchmarks.timing import Spread, machine
from bot.app import App
from memory.bundled_model import DIMENSIONS, MODEL_ID
from memory.types import MemoryType, Where

PARAGRAPH = 5  # sentences
ASKED, ITS_SIZE = 1, 1_000
"""The chat that asks meanwhile, and its memories."""

EVERYTHING = Where(types=tuple(MemoryType))


@dataclass(frozen=True, slots=True)
class Ingested:
    """What was taken in: `items` sentences or messages, which became so many memories.

    `encoder_share` is the share of the time in which the encoder worked, for the questions too. `progress` is
    how often it was told how far the import is. The stall is as in benchmarks.busy.
    """

    what: str
    items: int
    memories: int
    seconds: float
    encoder_share: float
    progress: int
    longest_ms: float
    busy_ms: float
    question_ms: Spread | None


class Ingest:
    """Takes in sentences that were never seen before, each time into a new chat."""

    def __init__(self, app: App, asker: Asker) -> None:
        self._app = app
        self._asker = asker
        self._sentences = Sentences(load(), seed=11)
        self._chats = count(1_000)

    async def document(self, sentences: int, *, asking: bool) -> Ingested:
        """Import a document of so many sentences."""
        texts = self._sentences.make(sentences)
        text = "\n\n".join(" ".join(texts[at : at + PARAGRAPH]) for at in range(0, sentences, PARAGRAPH))
        chat_id, told = next(self._chats), list[int]()
        work = self._app.memory.remember_document(
            chat_id, "book.txt", text, progress=lambda done, _total: told.append(done)
        )
        return await self._watched("a document", chat_id, sentences, work, told, asking=asking)

    async def conversation(self, messages: int, *, asking: bool) -> Ingested:
        """Index a conversation of so many messages that has ended."""
        chat_id = next(self._chats)
        await hold_conversation(self._app, chat_id, self._sentences.make(messages))
        work = self._app.jobs.run_due(force=True)
        return await self._watched("a conversation", chat_id, messages, work, [], asking=asking)

    async def _watched(
        self, what: str, chat_id: int, items: int, work: Awaitable[object], told: list[int], *, asking: bool
    ) -> Ingested:
        encoder, started = self._asker.encoder_seconds, time.perf_counter()
        took: list[float] = []
        with ticking() as ticker:
            if asking:
                _, took = await while_asking(work, lambda: self._asker.search(ASKED))
            else:
                await work
            seconds = time.perf_counter() - started
            encoder = self._asker.encoder_seconds - encoder
            await self._app.index.sync()  # what Chroma needs afterwards is no part of the time, but stalls
        return Ingested(
            what,
            items,
            await self._app.memory.count(chat_id, EVERYTHING),
            round(seconds, 2),
            round(encoder / seconds, 3),
            len(told),
            round(ticker.longest_ms, 1),
            round(ticker.busy_ms, 1),
            Spread.of(took) if took else None,
        )


async def measure(directory: Path, sentences: int, messages: int) -> list[Ingested]:
    """Take in a document and a conversation, each alone and while somebody asks."""
    async with asker_in(directory, indexed=True) as (app, asker):
        await fill(app.database, {ASKED: ITS_SIZE}, model_id=MODEL_ID, dimensions=DIMENSIONS)
        await app.start()
        await app.index.sync()
        await asker.search(ASKED)
        ingest, found = Ingest(app, asker), list[Ingested]()
        for asking in (False, True):
            for work in (
                ingest.document(sentences, asking=asking),
                ingest.conversation(messages, asking=asking),
            ):
                found.append(await work)
                print(line(found[-1]), file=sys.stderr, flush=True)
    return found


def line(one: Ingested) -> str:
    """Return one result as it is told while the others are made."""
    took = one.question_ms
    return (
        f"{one.what} of {one.items:,}: {one.items / one.seconds:.1f} a second, "
        f"{one.encoder_share:.1%} of the time in the encoder, longest stall {one.longest_ms:.0f} ms"
        + (f", questions meanwhile {took.p50:.0f} / {took.p95:.0f} ms" if took else "")
    )


async def main(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as directory:
        ingested = await measure(Path(directory), arguments.sentences, arguments.messages)
    found = {
        "encoder": MODEL_ID,
        "machine": machine(),
        "ingested": [asdict(one) for one in ingested],
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "ingest.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("--sentences", type=int, default=2_000, help="those of the document")
    parser.add_argument("--messages", type=int, default=500, help="those of the conversation")
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main(_arguments()))
