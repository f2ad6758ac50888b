"""What search does with its hits: links, a second opinion, turns around turns, diversity and the budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memory.chat_copies import ChatCopies
from memory.errors import RerankerUnavailable
from memory.memories import Memories
from memory.search import HOP_DAMPING, RELEVANT, RERANKED, Search
from memory.types import Link, Memory, MemoryType, Relation, Where
from tests.fakes.embedder import HashEmbedder
from tests.recall import CHAT, OTHER_CHAT, PLENTY, Recall, not_asked, open_recall


@pytest.fixture
async def recall(tmp_path: Path) -> AsyncIterator[Recall]:
    async with open_recall(tmp_path, HashEmbedder()) as recall:
        yield recall


# Links


async def test_what_is_linked_with_a_hit_gains_half_of_it_and_the_next_a_quarter(recall: Recall) -> None:
    dog, vet, street, far = await recall.remember("Мою собаку зовут Бублик", "Ветеринар", "Лесная, 5", "Чай")
    await recall.link(dog, vet)
    await recall.link(street, vet)  # a link leads both ways
    await recall.link(street, far)

    hits = {hit.memory.id: hit.score for hit in await recall.hits("Бублик", search=recall.by_words())}

    sure = hits[dog].relevance
    linked = [hits[each].linked for each in (dog, vet, street, far)]
    assert linked == [0, HOP_DAMPING * sure, HOP_DAMPING**2 * sure, 0]
    assert [hits[each].relevance for each in (vet, street)] == linked[1:3]
    assert hits[dog].total > hits[vet].total > hits[street].total > hits[far].total


async def test_a_link_passes_on_by_its_weight_and_of_several_the_best_counts(recall: Recall) -> None:
    dog, one, both = await recall.remember("Мою собаку зовут Бублик", "Ветеринар", "Лесная, 5")
    await recall.link(dog, one, weight=0.4)
    await recall.link(one, both, weight=0.9)
    await recall.link(dog, both, weight=0.5)

    hits = {hit.memory.id: hit.score for hit in await recall.hits("Бублик", search=recall.by_words())}

    sure = hits[dog].relevance
    assert hits[one].linked == pytest.approx(HOP_DAMPING * 0.4 * sure)
    assert hits[both].linked == pytest.approx(HOP_DAMPING * 0.5 * sure)


async def test_a_linked_memory_comes_over_the_floor_and_one_that_is_not_does_not(recall: Recall) -> None:
    dog, vet, _ = await recall.remember("Мою собаку зовут Бублик", "Ветеринар на Лесной", "Пью чай")
    await recall.link(dog, vet)

    found = await recall.found("Бублик", search=recall.by_words(), floor=RELEVANT)

    assert [memory.id for memory in found] == [dog, vet]


async def test_a_good_hit_loses_nothing_by_a_link_to_a_worse_one(recall: Recall) -> None:
    dog, other = await recall.remember("Мою собаку зовут Бублик", "Собака")
    before = (await recall.hits("собаку зовут Бублик"))[0].score
    await recall.link(dog, other)

    after = (await recall.hits("собаку зовут Бублик"))[0].score

    assert (after.total, after.relevance) == (before.total, before.relevance)


async def test_links_in_a_ring_end(recall: Recall) -> None:
    ids = await recall.remember("Мою собаку зовут Бублик", "Ветеринар", "Лесная")
    for here, there in zip(ids, [*ids[1:], ids[0]], strict=True):
        await recall.link(here, there)

    assert len(await recall.found("Бублик")) == 3


async def test_links_do_not_lead_past_the_filters_or_to_what_is_forgotten(recall: Recall) -> None:
    dog, vet, gone = await recall.remember("Мою собаку зовут Бублик", "Ветеринар", "Лесная")
    [liked] = await recall.remember("Любит мячик", type=MemoryType.PREFERENCE)
    for each in (vet, gone, liked):
        await recall.link(dog, each)
    await recall.memories.purge(CHAT, [gone])

    found = await recall.found("Бублик", Where(types=(MemoryType.FACT,)))

    assert {memory.id for memory in found} == {dog, vet}


async def test_what_is_linked_is_found_although_it_was_not_among_those_read(
    recall: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.search.READ_BACK", 1)
    dog, *_, last = await recall.remember("Бублик", *(f"Чай {number}" for number in range(10)), "Ветеринар")
    await recall.link(dog, last)

    assert [memory.id for memory in await recall.found("Бублик", k=1)] == [dog]
    assert last in [memory.id for memory in await recall.found("Бублик", k=3)]


# The scope, once more


class Foreign(Memories):
    """Memories that give away those of another chat, as a fault in a query would."""

    async def get_active(self, chat_id: int, ids: Collection[int]) -> list[Memory]:
        return [*await super().get_active(chat_id, ids), *await super().get_active(OTHER_CHAT, [2, 3])]

    async def linked(self, chat_id: int, ids: Collection[int]) -> list[Link]:
        return [Link(chat_id, 1, other, Relation.SUPPORTS) for other in (2, 3)]

    async def neighbours(
        self, chat_id: int, turns: Sequence[Memory], each_side: int
    ) -> dict[int, tuple[list[Memory], list[Memory]]]:
        foreign = await super().get_active(OTHER_CHAT, [2, 3])
        return {turn.id: (foreign, foreign) for turn in turns}


async def test_a_query_that_gives_away_another_chat_is_not_believed(recall: Recall) -> None:
    await recall.talk("Аня: мою собаку зовут Бублик")
    await recall.talk("Илья: мою собаку зовут Рекс", "Илья: Рекс!", chat_id=OTHER_CHAT)
    faulty = Foreign(recall.database, recall.clock)
    copies = ChatCopies(recall.database, lambda: recall.embedder.model_id, limit_bytes=PLENTY)
    search = Search(copies, faulty, not_asked, recall.embedder, recall.clock)

    hits = await recall.hits("собака Рекс", search=search, neighbours=2)

    assert [(hit.memory.id, hit.before, hit.after) for hit in hits] == [(1, (), ())]


# A second opinion


class Opinion:
    """A reranker that thinks most of what holds a word, or fails in its own way."""

    model_id = "opinion"

    def __init__(self, word: str, failure: Exception | None = None) -> None:
        self.word = word
        self.failure = failure
        self.asked: list[tuple[str, Sequence[str]]] = []

    async def rerank(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append((question, texts))
        if self.failure:
            raise self.failure
        return np.array([0.99 if self.word in text else 0.01 for text in texts], np.float32)


async def test_a_reranker_puts_the_hits_into_its_own_order(recall: Recall) -> None:
    await recall.remember("Собаку зовут Бублик", "Собака любит мячик", "Собака спит", "Чай")
    opinion = Opinion("спит")

    hits = await recall.hits("собаку зовут Бублик?", search=recall.search(reranker=opinion))

    assert hits[0].memory.text == "Собака спит"
    assert [hit.score.reranked for hit in hits] == pytest.approx([0.99, 0.01, 0.01, 0.01])
    assert hits[1].memory.text == "Собаку зовут Бублик"


async def test_a_reranker_changes_neither_relevance_nor_what_is_above_the_floor(recall: Recall) -> None:
    await recall.remember("Собаку зовут Бублик", "Собака спит", "Чай")

    with_one = await recall.hits("собака Бублик", search=recall.search(reranker=Opinion("Чай")), floor=0.2)
    without = await recall.hits("собака Бублик", floor=0.2)

    assert {hit.memory.id: hit.score.relevance for hit in with_one} == {
        hit.memory.id: hit.score.relevance for hit in without
    }


@pytest.mark.parametrize(
    ("k", "read"), [(1, RERANKED), (8, RERANKED), (RERANKED + 4, RERANKED + 4), (500, 40)]
)
async def test_a_reranker_reads_the_bare_question_and_the_best_hits(
    recall: Recall, k: int, read: int
) -> None:
    await recall.remember(*(f"запись {number}" for number in range(40)), vector=False)
    opinion = Opinion("запись 17")

    hits = await recall.hits("Напомни, какая запись?", search=recall.search(reranker=opinion), k=k)

    [(question, texts)] = opinion.asked
    assert (question, len(texts)) == ("какая запись?", read)
    assert len(hits) == min(k, 40)
    assert all(hit.score.reranked is not None for hit in hits)


@pytest.mark.parametrize("failure", [RerankerUnavailable("It is away."), TimeoutError()])
async def test_a_reranker_that_fails_changes_nothing_and_is_noted_once_until_it_is_back(
    recall: Recall, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    await recall.remember("Собаку зовут Бублик", "Собака спит")
    opinion = Opinion("спит")
    search = recall.search(reranker=opinion)
    alone = await recall.hits("собаку зовут Бублик?")
    noted = []

    for opinion.failure in (failure, failure, None, failure):
        hits = await recall.hits("собаку зовут Бублик?", search=search)
        assert (hits == alone) is (opinion.failure is not None)
        noted.append(len(caplog.records))

    assert noted == [1, 1, 1, 2]
    assert "Бублик" not in caplog.text


async def test_a_reranker_that_hangs_does_not_keep_the_hits_back(
    recall: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hanging(Opinion):
        async def rerank(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
            await asyncio.Event().wait()
            raise AssertionError

    monkeypatch.setattr("memory.search.RERANK_SECONDS", 0.01)
    await recall.remember("Собаку зовут Бублик")

    assert await recall.texts("Бублик", search=recall.search(reranker=Hanging(""))) == ["Собаку зовут Бублик"]


async def test_where_nothing_is_found_no_second_opinion_is_asked_for(recall: Recall) -> None:
    opinion = Opinion("")

    assert await recall.texts("Бублик", search=recall.search(reranker=opinion)) == []
    assert opinion.asked == []


# Turns around turns


TALK = (
    "Аня: Было холодно",
    "Аня: Мы шли домой",
    "Илья: Бублик потерялся",
    "Аня: Ой",
    "bot: Мне жаль",
    "Илья: Да",
)


@pytest.mark.parametrize(
    ("neighbours", "before", "after"),
    [
        (0, [], []),
        (1, ["Мы шли домой"], ["Ой"]),
        (2, ["Было холодно", "Мы шли домой"], ["Ой", "Мне жаль"]),
        (9, ["Было холодно", "Мы шли домой"], ["Ой", "Мне жаль", "Да"]),
    ],
)
async def test_a_turn_brings_those_around_it_in_their_order(
    recall: Recall, neighbours: int, before: list[str], after: list[str]
) -> None:
    await recall.talk("Аня: Это другой разговор")
    await recall.talk(*TALK)
    await recall.talk("Аня: И это тоже")

    [hit] = await recall.hits("Бублик потерялся", neighbours=neighbours, k=1)

    assert hit.memory.text == "Бублик потерялся"
    assert [[turn.text for turn in side] for side in (hit.before, hit.after)] == [before, after]


async def test_a_turn_that_is_a_hit_itself_is_not_shown_again_beside_another(recall: Recall) -> None:
    await recall.talk("Аня: Бублик ест", "Аня: Бублик спит", "Аня: Тихо")

    hits = await recall.hits("Бублик", neighbours=1, k=2)

    shown = [memory.text for hit in hits for memory in (*hit.before, hit.memory, *hit.after)]
    assert sorted(shown) == ["Бублик ест", "Бублик спит", "Тихо"]


async def test_a_fact_brings_nothing_along(recall: Recall) -> None:
    [turn] = await recall.talk("Аня: Мы шли домой")
    session = (await recall.memories.get(CHAT, turn)).session_id
    await recall.remember("Бублик потерялся", session_id=session)

    [hit] = await recall.hits("Бублик потерялся", neighbours=3, k=1)

    assert (hit.before, hit.after) == ((), ())


async def test_what_was_said_around_a_turn_helps_to_find_it(recall: Recall) -> None:
    await recall.talk("Аня: Как зовут твоего пса?", "Илья: Бублик")
    await recall.talk("Аня: Что к чаю?", "Илья: Баранка")

    texts = await recall.texts("как зовут пса?")

    assert texts.index("Бублик") < texts.index("Баранка")


async def test_the_bots_words_do_not_help_to_find_the_turns_around_them(recall: Recall) -> None:
    await recall.talk("bot: Как зовут твоего пса?", "Илья: Бублик")

    hits = {hit.memory.text: hit.score for hit in await recall.hits("как зовут пса?")}

    assert hits["Бублик"].context == 0


# Several conversations, and the budget


async def test_a_question_for_several_things_is_answered_from_several_conversations(recall: Recall) -> None:
    for number in range(3):
        await recall.talk(*(f"Аня: книга {number}{other}, интересная" for other in range(4)))

    found = await recall.found("какие книги интересные?", k=3)

    assert len({memory.session_id for memory in found}) > 1


async def test_a_budget_takes_the_turns_around_a_hit_before_the_hit(recall: Recall) -> None:
    await recall.talk(f"Аня: {'слово ' * 100}", "Илья: Бублик потерялся", "Аня: Ой")

    [free], [tight] = [
        await recall.hits("Бублик потерялся", neighbours=1, tokens=tokens, k=1) for tokens in (None, 30)
    ]

    assert len(free.before) == len(free.after) == 1
    assert tight == replace(free, before=(), after=())
    assert await recall.hits("Бублик потерялся", tokens=3, k=1) == []
