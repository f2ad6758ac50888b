"""Every way to the vectors of a chat finds the same: those in memory, Chroma, and an exact scan of SQL."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from bot.background import Background
from memory.chroma_homes import EmbeddedHome
from memory.index_copies import IndexCopies
from memory.search import RELEVANT, Search
from memory.types import Hit, MemoryType, Vector, Where
from memory.vector_rows import VectorRows
from memory.vectors import IndexState, IndexSync
from tests.fakes.clock import NOON
from tests.fakes.embedder import HashEmbedder
from tests.recall import CHAT, NOTHING, OTHER_CHAT, Recall, open_recall

QUESTIONS = (
    "как зовут мою собаку?",
    "Бублик",
    "что Илья сказал вчера?",
    "where do I live?",
    "ZX-44",
    "чем лечили пса",
    "какая столица Перу?",
)


@pytest.fixture
async def recall(tmp_path: Path) -> AsyncIterator[Recall]:
    """A chat with facts, conversations and links, beside another one with nearly the same."""
    async with open_recall(tmp_path, HashEmbedder()) as recall:
        dog, vet, *_ = await recall.remember(
            "Мою собаку зовут Бублик", "Ветеринар на Лесной", "Номер заказа ZX-4471", "I live in Omsk", "🙂"
        )
        await recall.link(dog, vet)
        await recall.remember("Люблю чай", type=MemoryType.PREFERENCE, valid_from=NOON - timedelta(days=400))
        await recall.talk(
            "Аня: Как зовут пса?", "bot: Не знаю", "Аня: Ну Бублик же", "Илья: Пса лечили травами"
        )
        await recall.talk("Илья: Вчера был дождь", "Илья: Бублик промок", valid_from=NOON - timedelta(days=1))
        await recall.remember("Мою собаку зовут Рекс", "Бублик", "ZX-4472", chat_id=OTHER_CHAT)
        yield recall


@pytest.fixture
async def index(recall: Recall, tmp_path: Path) -> AsyncIterator[IndexSync]:
    """Chroma, with all that SQL has."""
    background = Background()
    rows = VectorRows(recall.database)
    copies = IndexCopies(rows, EmbeddedHome(tmp_path / "index"), recall.embedder.model_id)
    index = IndexSync(rows, copies, recall.embedder, recall.clock, background.start)
    await index.sync()
    assert index.state is IndexState.READY
    yield index
    await index.close()
    await background.close()


class Counted:
    """An index that counts its questions."""

    def __init__(self, index: IndexSync) -> None:
        self.index = index
        self.asked = 0

    async def nearest(
        self, chat_id: int, vector: Vector, types: Sequence[MemoryType], k: int
    ) -> list[tuple[int, float]]:
        self.asked += 1
        return await self.index.nearest(chat_id, vector, types, k)


def by_index(recall: Recall, index: IndexSync | Counted) -> Search:
    """Search where the vectors of the chat do not fit into memory."""
    return recall.search(nearest=index.nearest, limit_bytes=NOTHING)


def told(hits: Sequence[Hit]) -> list[int]:
    return [hit.memory.id for hit in hits]


def parts(hits: Sequence[Hit]) -> list[tuple[float, ...]]:
    scores = [hit.score for hit in hits]
    return [
        (each.total, each.relevance, each.cosine, each.words, each.context, each.linked) for each in scores
    ]


async def all_hits(recall: Recall, search: Search, where: Where | None = None) -> list[list[Hit]]:
    return [
        await recall.hits(text, where, search=search, asker="Аня", neighbours=1, k=20, floor=floor)
        for text in QUESTIONS
        for floor in (0.0, RELEVANT)
    ]


def check_same(some: list[list[Hit]], others: list[list[Hit]]) -> None:
    assert [told(hits) for hits in some] == [told(hits) for hits in others]
    for hits, other in zip(some, others, strict=True):
        for one, two in zip(parts(hits), parts(other), strict=True):
            assert one == pytest.approx(two, abs=1e-4)
    assert [[hit.before for hit in hits] for hits in some] == [
        [hit.before for hit in hits] for hits in others
    ]


@pytest.mark.parametrize(
    "where", [None, Where(types=(MemoryType.FACT, MemoryType.TURN)), Where(speaker="Илья")], ids=str
)
async def test_chroma_finds_what_the_vectors_in_memory_find(
    recall: Recall, index: IndexSync, where: Where | None
) -> None:
    counted = Counted(index)

    from_memory = await all_hits(recall, recall.search(), where)
    from_chroma = await all_hits(recall, by_index(recall, counted), where)

    check_same(from_chroma, from_memory)
    assert counted.asked == len(from_chroma)
    assert any(from_memory)


async def test_an_exact_scan_finds_the_same_where_there_is_no_index(recall: Recall) -> None:
    rows = VectorRows(recall.database)
    off = IndexSync(rows, None, recall.embedder, recall.clock, Background().start)
    assert off.state is IndexState.OFF

    check_same(await all_hits(recall, by_index(recall, off)), await all_hits(recall, recall.search()))


async def test_an_index_that_breaks_is_replaced_by_a_scan_that_finds_the_same(
    recall: Recall, index: IndexSync, tmp_path: Path
) -> None:
    search = by_index(recall, index)
    before = await all_hits(recall, search)
    await index.close()
    shutil.rmtree(tmp_path / "index")

    check_same(await all_hits(recall, search), before)


async def test_what_the_index_has_not_followed_yet_is_found(recall: Recall, index: IndexSync) -> None:
    await recall.remember("Кота зовут Рыжик")
    [gone] = await recall.remember("Кота зовут Мурзик")
    await recall.memories.hide(CHAT, [gone], NOON + timedelta(minutes=10))

    for search in (recall.search(), by_index(recall, index)):
        [hit, *_] = await recall.hits("кота зовут", search=search)
        assert (hit.memory.text, hit.score.cosine > 0.5) == ("Кота зовут Рыжик", True)


async def test_an_index_that_answers_with_what_is_not_of_the_chat_is_not_believed(recall: Recall) -> None:
    [foreign] = await recall.remember("Рексы и собаки", chat_id=OTHER_CHAT)

    async def nearest(
        chat_id: int, vector: Vector, types: Sequence[MemoryType], k: int
    ) -> list[tuple[int, float]]:
        return [(foreign, 0.99), (123_456, 0.98), (-1, 0.97)]

    hits = await recall.hits("Рексы", search=recall.search(nearest=nearest, limit_bytes=NOTHING))

    assert all(hit.memory.chat_id == CHAT and hit.score.cosine == 0 for hit in hits)


async def test_what_is_farther_than_the_nearest_counts_as_the_farthest_of_them(
    recall: Recall, index: IndexSync, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.search.NEAREST", 5)

    few = await recall.hits("собаку зовут Бублик", search=by_index(recall, index), k=20)
    all_of_them = await recall.hits("собаку зовут Бублик", k=20)

    cosines = sorted(hit.score.cosine for hit in all_of_them)
    farthest = cosines[-5]
    assert farthest > 0.05
    assert sorted(hit.score.cosine for hit in few) == pytest.approx(
        [max(farthest, each) for each in cosines], abs=1e-4
    )
    assert told(few[:1]) == told(all_of_them[:1])
