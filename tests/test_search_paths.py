"""Whichever way the vectors of a chat are compared, a question brings the same hits with the same scores."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot.background import Background
from memory.search import Search
from memory.types import MemoryType, Where
from memory.vectors import IndexSync, open_index
from tests.fakes.embedder import HashEmbedder
from tests.recall import NOTHING, OTHER_CHAT, Recall, open_recall

QUESTIONS = (
    "what is my dog called?",
    "где живёт сестра?",
    "tea or coffee with breakfast",
    "ZX-4471",
    "когда отпуск?",
    "what colour is the boat of number 17?",
)
FILTERS = (Where(), Where(types=(MemoryType.TURN,)), Where(types=(MemoryType.FACT,), speaker="Anna"))


@pytest_asyncio.fixture
async def recall(tmp_path: Path) -> AsyncIterator[Recall]:
    async with open_recall(tmp_path, HashEmbedder()) as opened:
        await opened.remember(
            "My dog is called Bublik", "Моя сестра живёт в Самаре", "The code of the locker is ZX-4471"
        )
        await opened.remember("I drink tea for breakfast", "Coffee keeps me awake", speaker="Anna")
        await opened.talk(
            "Anna: When is your holiday?", "bot: You have not told me.", "Anna: Отпуск в августе"
        )
        for number in range(60):
            await opened.remember(f"Boat number {number} is of colour {number * 7}")
        await opened.remember("Another chat has a dog called Rex", chat_id=OTHER_CHAT)
        yield opened


@pytest_asyncio.fixture
async def background() -> AsyncIterator[Background]:
    running = Background()
    yield running
    await running.close()


def index(recall: Recall, tmp_path: Path, background: Background, *, embedded: bool) -> IndexSync:
    return open_index(
        "embedded" if embedded else "off",
        directory=tmp_path,
        url="",
        database=recall.database,
        embedder=recall.embedder,
        clock=recall.clock,
        start=background.start,
    )


async def told(recall: Recall, search: Search, question: str, where: Where) -> list[tuple[int, float, float]]:
    hits = await recall.hits(question, where, search=search, k=12)
    return [(hit.memory.id, round(hit.score.total, 4), round(hit.score.relevance, 4)) for hit in hits]


@pytest.mark.parametrize("where", FILTERS, ids=["everything", "turns", "facts of one"])
async def test_all_paths_bring_the_same_hits(
    recall: Recall, tmp_path: Path, background: Background, where: Where
) -> None:
    chroma = index(recall, tmp_path, background, embedded=True)
    await chroma.sync()
    await recall.remember("The boat of uncle Vanya is green")  # the index has not followed this one yet
    scanned = index(recall, tmp_path, background, embedded=False)
    paths = {
        "in memory": recall.search(),
        "by Chroma": recall.search(nearest=chroma.nearest, limit_bytes=NOTHING),
        "by a scan of SQL": recall.search(nearest=scanned.nearest, limit_bytes=NOTHING),
    }

    for question in QUESTIONS:
        found = {name: await told(recall, search, question, where) for name, search in paths.items()}
        assert found["in memory"]
        assert found["by Chroma"] == found["in memory"]
        assert found["by a scan of SQL"] == found["in memory"]
    await chroma.close()
