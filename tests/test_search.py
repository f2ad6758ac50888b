"""Finding what answers a question in one chat."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from benchmarks.floor import ANSWERED, UNANSWERED, balanced, top_score, trials
from benchmarks.keeping import KeepingEmbedder
from memory.embeddings import BundledEmbedder
from memory.ports import Purpose
from memory.search import MAX_HITS, PLAUSIBLE, RELEVANT
from memory.types import MemoryType, NewMemory, Origin, Vector, Where
from tests.fakes.clock import NOON
from tests.fakes.embedder import HashEmbedder
from tests.recall import CHAT, OTHER_CHAT, Recall, open_recall


@pytest.fixture(scope="module")
def bundled() -> Iterator[BundledEmbedder]:
    embedder = BundledEmbedder()
    yield embedder
    asyncio.run(embedder.close())


@pytest.fixture
async def real(tmp_path: Path, bundled: BundledEmbedder) -> AsyncIterator[Recall]:
    """With the bundled model."""
    async with open_recall(tmp_path, bundled) as recall:
        yield recall


@pytest.fixture
async def recall(tmp_path: Path) -> AsyncIterator[Recall]:
    """With the embedder of the tests, for which words make the meaning."""
    async with open_recall(tmp_path, HashEmbedder()) as recall:
        yield recall


FACTS = (
    "Я работаю ветеринаром в клинике на Лесной",
    "My sister Anya moved to Berlin",
    "У меня аллергия на арахис",
    "The rent has to be paid by the tenth of the month",
    "Номер моего заказа ZX-4471",
)
DOG = "мою собаку зовут Бублик"


# What is meant


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        (DOG, "как зовут моего пса?"),
        ("My dog's name is Rex", "what is my dog called?"),
        (DOG, "what's my dog's name?"),
        ("My dog's name is Rex", "как зовут мою собаку?"),
        (DOG, "Напомни, пожалуйста, как зовут моего пса?"),
        ("My dog's name is Rex", "can you remind me what my dog is called?"),
    ],
)
@pytest.mark.parametrize("others", [(), FACTS], ids=["alone", "among others"])
async def test_a_fact_is_found_by_another_wording_and_in_another_language(
    real: Recall, fact: str, question: str, others: tuple[str, ...]
) -> None:
    await real.remember(fact, *others)

    assert (await real.texts(question, floor=RELEVANT))[0] == fact


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
async def test_a_question_that_memory_cannot_answer_brings_nothing(real: Recall, question: str) -> None:
    await real.remember(DOG)

    assert await real.texts(question, floor=RELEVANT) == []


@pytest.mark.parametrize(("half", "bound"), [(0, 0.91), (1, 0.94)])
async def test_the_floor_parts_what_memory_knows_from_what_it_does_not(
    bundled: BundledEmbedder, half: int, bound: float
) -> None:
    looked = KeepingEmbedder(bundled)
    some = trials(ANSWERED[half::2], UNANSWERED[half::2])

    scored = [(trial, await top_score(trial, looked)) for trial in some]

    assert balanced(scored, RELEVANT) > bound


async def test_a_model_nobody_measured_gets_a_scale_of_its_own(real: Recall) -> None:
    class Unknown:
        model_id = "somebody/new-model"
        dimensions = real.embedder.dimensions
        asked = 0

        async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
            self.asked += len(texts)
            return await real.embedder.embed(texts, purpose)

    unknown = Unknown()
    other = Recall(real.database, real.memories, unknown, real.clock)
    await other.remember(DOG, *FACTS)
    search = other.search()

    assert (await other.texts("как зовут моего пса?", search=search, floor=RELEVANT))[0] == DOG
    measured = unknown.asked
    assert await other.texts("какая столица Перу?", search=search, floor=RELEVANT) == []
    assert unknown.asked == measured + 1  # the scale is measured once


# The scope


async def test_nothing_of_another_chat_is_found(recall: Recall) -> None:
    await recall.remember(DOG, chat_id=OTHER_CHAT)
    await recall.talk(f"Аня: {DOG}", chat_id=OTHER_CHAT)

    assert await recall.texts(DOG) == []
    assert await recall.texts(DOG, search=recall.by_words()) == []


async def test_what_was_forgotten_or_replaced_is_not_found(recall: Recall) -> None:
    forgotten, replaced = await recall.remember(DOG, "мою кошку зовут Муся")
    search = recall.search()
    assert len(await recall.texts("как зовут собаку и кошку?", search=search)) == 2

    await recall.memories.hide(CHAT, [forgotten], NOON + timedelta(minutes=10))
    new = NewMemory(CHAT, "мою кошку зовут Мурка", MemoryType.FACT, Origin.PERSON)
    await recall.memories.supersede(CHAT, replaced, new, revision=None)

    assert await recall.texts("как зовут собаку и кошку?", search=search) == ["мою кошку зовут Мурка"]


async def test_what_is_new_is_found_at_once(recall: Recall) -> None:
    search = recall.search()
    assert await recall.texts("собака", search=search) == []

    await recall.remember(DOG)

    assert await recall.texts("собака", search=search) == [DOG]


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
            (Where(types=(MemoryType.PREFERENCE, MemoryType.FACT)), {"Бублик", "Рекс", "гулять"}),
            (Where(types=(MemoryType.SUMMARY,)), set()),
            (Where(speaker="Илья"), {"Рекс", "гулять"}),
            (Where(speaker="Никто"), set()),
            (Where(since=NOON - timedelta(days=3)), {"Рекс", "гулять"}),
            (Where(until=NOON - timedelta(days=3)), {"Бублик"}),
            (Where(since=NOON - timedelta(days=5), until=NOON - timedelta(days=1)), {"Рекс"}),
            (Where(since=NOON, until=NOON - timedelta(days=99)), set()),
            (Where(since=NOON, until=NOON), set()),
            (Where(session_id=5), set()),
        ],
    )
    @pytest.mark.parametrize("by_words", [False, True], ids=["with vectors", "by words"])
    async def test_only_what_fits_is_found(
        self, recall: Recall, where: Where, found: set[str], by_words: bool
    ) -> None:
        search = recall.by_words() if by_words else recall.search()

        texts = await recall.texts("моя собака", where, search=search)

        assert {text.split()[-1] for text in texts} == found

    async def test_only_the_turns_of_a_session_are_found_where_it_is_named(self, recall: Recall) -> None:
        [first] = await recall.talk("Аня: моя собака спит")
        await recall.talk("Аня: моя собака ест")
        session = (await recall.memories.get(CHAT, first)).session_id

        assert await recall.texts("моя собака", Where(session_id=session)) == ["моя собака спит"]

    async def test_the_name_of_the_speaker_asked_for_does_not_mislead(self, recall: Recall) -> None:
        where = Where(speaker="Илья")

        named, bare = [await recall.texts(text, where) for text in ("Собака Ильи", "Собака")]

        assert named == bare


# Whose words, and when


async def test_the_words_of_the_one_who_is_asked_about_come_first(recall: Recall) -> None:
    await recall.talk("Даша: Я люблю чай", "Илья: А я люблю кофе")

    assert (await recall.texts("Что любит Даша?"))[0] == "Я люблю чай"
    assert (await recall.texts("Что любит Илья?"))[0] == "А я люблю кофе"
    assert (await recall.texts("What does Ilya like, кофе?"))[0] == "А я люблю кофе"


async def test_my_means_the_one_who_asks(recall: Recall) -> None:
    await recall.talk("Даша: Мой рост 170")
    await recall.talk("Илья: Мой рост 182")

    for asker, text in (("Даша", "Мой рост 170"), ("Илья", "Мой рост 182")):
        assert (await recall.texts("какой мой рост?", asker=asker))[0] == text


async def test_a_question_about_a_speaker_is_embedded_as_they_would_tell_it(recall: Recall) -> None:
    await recall.talk("Caroline: My dog is called Bagel")
    assert isinstance(recall.embedder, HashEmbedder)
    recall.embedder.texts.clear()

    await recall.texts("Remind me what Caroline's dog is called")

    assert recall.embedder.texts == ["what my dog is called"]


@pytest.mark.parametrize(
    "question", ["Где мы обедали вчера?", "Где мы обедали 3 марта?", "Yesterday, обедали?"]
)
async def test_a_time_prefers_what_was_said_in_it(recall: Recall, question: str) -> None:
    ages = (timedelta(hours=1), timedelta(days=1), timedelta(days=30))
    for name, age in zip(("в кафе", "дома", "у Пети"), ages, strict=True):
        await recall.remember(f"Мы обедали {name}", valid_from=NOON - age)

    texts = await recall.texts(question)

    assert texts[0] == "Мы обедали дома"
    assert len(texts) == 3


async def test_a_strong_answer_outside_the_time_still_comes_first(recall: Recall) -> None:
    await recall.remember("Пароль от роутера BLUE-77", valid_from=NOON - timedelta(days=300))
    await recall.remember("Весь день шёл дождь", valid_from=NOON - timedelta(days=1))

    assert (await recall.texts("какой пароль от роутера, о котором говорили вчера?"))[0].endswith("BLUE-77")


async def test_yesterday_is_that_of_the_chats_zone(recall: Recall) -> None:
    for text, hours in (("Мы обедали в кафе", 20), ("Мы обедали дома", 38)):  # there on the 4th and the 3rd
        await recall.remember(text, valid_from=NOON - timedelta(hours=hours))

    [near] = await recall.hits("где мы обедали вчера?", zone=ZoneInfo("Asia/Vladivostok"), k=1)
    [far] = await recall.hits("где мы обедали вчера?", k=1)

    assert [near.memory.text, far.memory.text] == ["Мы обедали дома", "Мы обедали в кафе"]


# Words


async def test_an_identifier_is_found_among_five_hundred_alike(recall: Recall) -> None:
    await recall.remember(*(f"Номер заказа ZX-{number}" for number in range(4200, 4700)), vector=False)

    assert (await recall.texts("что с ZX-4471?"))[0] == "Номер заказа ZX-4471"
    assert all("ZX-44" in text for text in await recall.texts("ZX-44"))


@pytest.mark.parametrize("question", ["Бубл", "бублика?", "БУБЛИКУ", "где Bublik?", "бублик"])
async def test_a_name_is_found_by_its_beginning_in_any_case_and_script(recall: Recall, question: str) -> None:
    await recall.remember(DOG, *FACTS)

    for search in (recall.search(), recall.by_words()):
        assert (await recall.texts(question, search=search))[0] == DOG


async def test_without_an_embedder_words_are_enough(recall: Recall) -> None:
    await recall.remember(DOG)

    hits = await recall.hits("собаки Бублик", search=recall.by_words(), floor=RELEVANT)

    assert [hit.memory.text for hit in hits] == [DOG]


async def test_that_the_embedder_is_away_is_noted_once_until_it_is_back(
    recall: Recall, caplog: pytest.LogCaptureFixture
) -> None:
    await recall.remember(DOG)
    assert isinstance(recall.embedder, HashEmbedder)
    search = recall.search()
    noted = []

    for failing in (True, True, False, True):
        recall.embedder.failing = failing
        assert await recall.texts("собаки Бублик", search=search) == [DOG]
        noted.append(len(caplog.records))

    assert noted == [1, 1, 1, 2]
    assert "Бублик" not in caplog.text


async def test_a_memory_without_a_vector_is_found_by_its_words(recall: Recall) -> None:
    await recall.remember(*FACTS)
    await recall.remember(DOG, vector=False)

    assert (await recall.texts("собака Бублик", floor=RELEVANT))[0] == DOG


# The order


async def test_a_hit_says_what_speaks_for_it(real: Recall) -> None:
    await real.remember(DOG, importance=0.9)

    [hit] = await real.hits("как зовут моего пса?")

    assert 0.4 < hit.score.cosine < 1
    assert 0 < hit.score.words < 1
    assert hit.score.recency == 1
    assert hit.score.importance == 0.9
    assert RELEVANT < hit.score.relevance <= 1
    assert 0 < hit.score.total <= 1
    assert (hit.score.linked, hit.score.reranked) == (0, None)


async def test_of_equal_facts_the_newer_comes_first(recall: Recall) -> None:
    for word, days in (("роман", 90), ("рассказ", 0), ("повесть", 60)):
        at = NOON - timedelta(days=days)
        await recall.remember(f"Сейчас я читаю {word}", type=MemoryType.CONTEXT, valid_from=at)

    texts = await recall.texts("что я сейчас читаю", search=recall.by_words())

    assert [text.split()[-1] for text in texts] == ["рассказ", "повесть", "роман"]


async def test_of_facts_that_are_equal_in_everything_the_last_told_comes_first(recall: Recall) -> None:
    await recall.remember("Сейчас я читаю роман", "Сейчас я читаю рассказ", "Сейчас я читаю повесть")

    texts = await recall.texts("читаю", search=recall.by_words())

    assert [text.split()[-1] for text in texts] == ["повесть", "рассказ", "роман"]


async def test_the_weightier_of_two_equal_facts_comes_first(recall: Recall) -> None:
    await recall.remember("Люблю чай зелёный", importance=0.9)
    await recall.remember("Люблю чай чёрный", importance=0.1)

    hits = await recall.hits("чай", search=recall.by_words())

    assert [hit.memory.importance for hit in hits] == [0.9, 0.1]


async def test_what_was_kept_comes_before_what_was_only_said(recall: Recall) -> None:
    await recall.remember("Я живу на Лесной 5, это рядом")
    await recall.talk("Аня: Я живу на Лесной 5, тут")

    found = await recall.found("где я живу?")

    assert [memory.type for memory in found] == [MemoryType.FACT, MemoryType.TURN]


async def test_a_past_question_does_not_answer(recall: Recall) -> None:
    await recall.talk("Аня: Какой пароль от роутера?", "Илья: Пароль от роутера BLUE-77")

    asking, telling = sorted(await recall.hits("Какой пароль от роутера?"), key=lambda hit: hit.memory.id)

    assert asking.score.total < telling.score.total
    assert asking.score.relevance < telling.score.relevance


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


# How many


async def test_no_hit_is_below_the_floor(recall: Recall) -> None:
    await recall.remember(*FACTS, DOG)

    every, some = [await recall.hits("как зовут пса Бублика?", floor=floor) for floor in (0.0, PLAUSIBLE)]

    assert len(every) > len(some) > 0
    assert some == [hit for hit in every if hit.score.relevance >= PLAUSIBLE]


async def test_what_is_left_out_makes_room_for_the_next(recall: Recall) -> None:
    await recall.remember("Собаку зовут Бублик", "Бублик зовут собаку", "Зовут собаку Бублик", "Собака спит")

    assert len(await recall.texts("собака", k=2)) == 2


async def test_there_is_an_end_to_the_hits(recall: Recall) -> None:
    await recall.remember(*(f"запись {number}" for number in range(MAX_HITS + 30)), vector=False)

    assert len(await recall.texts("запись", k=10_000)) == MAX_HITS


async def test_a_large_chat_is_weighed_in_a_thread_with_the_same_hits(
    recall: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    await recall.remember(*FACTS, DOG)
    here = await recall.hits("как зовут собаку?")

    monkeypatch.setattr("memory.search.IN_A_THREAD", 1)

    assert await recall.hits("как зовут собаку?") == here


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When is Anna's birthday?", "Anna's birthday is on May 5"),
        ("Когда день рождения у Веры?", "У Веры день рождения 3 марта"),
    ],
)
async def test_what_others_told_about_a_speaker_answers_a_question_about_them(
    recall: Recall, question: str, answer: str
) -> None:
    await recall.talk("Anna: hello everybody", "Вера: всем привет", "Rose: good morning")
    await recall.remember("Anna's birthday is on May 5", "У Веры день рождения 3 марта", speaker="Bob")
    await recall.remember("Rose's birthday is on July 7", "У Кати день рождения 4 апреля", speaker="Bob")

    assert (await recall.texts(question))[0] == answer


@pytest.mark.parametrize("text", ["x" * 1_000_000, "漢字" * 500_000, "слово " * 10_000], ids=range(3))
async def test_a_question_of_any_length_is_answered_in_time_by_the_real_model(
    real: Recall, text: str
) -> None:
    await real.remember(DOG)
    started = time.process_time()

    assert await real.texts(text, floor=RELEVANT) == []

    assert time.process_time() - started < 2
