"""The inverted index: BM25 within one chat, the same on both databases."""

from __future__ import annotations

import math

import pytest
import sqlalchemy as sa

from memory.database import Database
from memory.memories import Memories
from memory.tables import words
from memory.text import stems
from memory.types import Memory, MemoryType, Where
from memory.words import MAX_ASKED
from tests.contracts.chats import CHAT, OTHER_CHAT, fact
from tests.fakes.clock import NOON


async def add(memories: Memories, text: str, chat_id: int = CHAT) -> Memory:
    return (await memories.add(fact(text, chat_id=chat_id))).memory


async def found(memories: Memories, question: str, where: Where | None = None, limit: int = 10) -> list[int]:
    matches = await memories.word_matches(CHAT, stems(question), where or Where(), limit)
    return [match.memory_id for match in matches]


async def indexed(database: Database) -> int:
    async with database.read() as conn:
        count: int = (await conn.execute(sa.select(sa.func.count()).select_from(words))).scalar_one()
    return count


async def test_a_memory_is_found_by_any_form_of_its_words(memories: Memories) -> None:
    dog = await add(memories, "Мою собаку зовут Бублик")
    cat = await add(memories, "Anna's cats are sleeping")

    assert await found(memories, "собаки") == [dog.id]
    assert await found(memories, "бубликом") == [dog.id]
    assert await found(memories, "cat sleeps") == [cat.id]
    assert await found(memories, "попугай") == []


async def test_the_score_is_that_of_the_formula(memories: Memories) -> None:
    long = await add(memories, "tea tea biscuits marmalade")
    short = await add(memories, "tea kettle")
    await add(memories, "coffee")

    [first, second] = await memories.word_matches(CHAT, stems("tea"), Where(), 10)

    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    mean = (4 + 2 + 1) / 3
    scores = {
        memory.id: idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / mean))
        for memory, count, length in ((long, 2, 4), (short, 1, 2))
    }
    assert {first.memory_id: first.score, second.memory_id: second.score} == pytest.approx(scores)
    assert first.score > second.score


async def test_a_match_says_which_of_the_words_it_has(memories: Memories) -> None:
    memory = await add(memories, "Anna drinks green tea")
    [match] = await memories.word_matches(CHAT, stems("green tea or green coffee?"), Where(), 10)
    assert match.memory_id == memory.id
    assert match.matched == set(stems("green tea"))
    assert match.total == len(set(stems("green tea coffee")))


async def test_a_rare_word_weighs_more_than_a_common_one(memories: Memories) -> None:
    common = [await add(memories, f"tea number {number}") for number in range(5)]
    rare = await add(memories, "parrot number 7")
    assert await found(memories, "tea parrot", limit=3) == [rare.id, common[4].id, common[3].id]


async def test_other_chats_count_for_nothing(memories: Memories) -> None:
    await add(memories, "Anna likes tea")
    await add(memories, "Anna likes coffee")
    before = await memories.word_matches(CHAT, stems("tea"), Where(), 10)
    for number in range(20):
        await add(memories, f"tea {number}", OTHER_CHAT)
    assert await memories.word_matches(CHAT, stems("tea"), Where(), 10) == before


async def test_filters_narrow_the_result_and_leave_the_scores_alone(memories: Memories) -> None:
    await add(memories, "Anna likes tea")
    other = (await memories.add(fact("tea time", type=MemoryType.CONTEXT))).memory
    everything = {m.memory_id: m.score for m in await memories.word_matches(CHAT, stems("tea"), Where(), 10)}

    [only] = await memories.word_matches(CHAT, stems("tea"), Where(types=(MemoryType.CONTEXT,)), 10)

    assert only.memory_id == other.id
    assert only.score == pytest.approx(everything[other.id])
    assert await found(memories, "tea", Where(until=NOON)) == []


async def test_only_active_memories_have_words(memories: Memories, database: Database) -> None:
    riga = await add(memories, "Anna lives in Riga")
    assert await found(memories, "Riga") == [riga.id]

    oslo = await memories.supersede(CHAT, riga.id, fact("Anna lives in Oslo"), revision=None)
    assert await found(memories, "Riga") == []
    assert await found(memories, "Anna") == [oslo.id]

    await memories.hide(CHAT, [oslo.id], NOON)
    assert await indexed(database) == 0

    await memories.unhide(CHAT, NOON)
    assert await found(memories, "Oslo") == [oslo.id]

    await memories.purge(CHAT, [oslo.id])
    assert await indexed(database) == 0


async def test_a_memory_without_words_is_kept_and_found_by_none(memories: Memories) -> None:
    await add(memories, "🍰")
    assert await found(memories, "🍰") == []
    assert await memories.count(CHAT) == 1


async def test_a_question_without_words_finds_nothing(memories: Memories) -> None:
    await add(memories, "Anna likes tea")
    assert await memories.word_matches(CHAT, [], Where(), 10) == []


async def test_of_a_very_long_question_the_rarest_words_are_looked_up(memories: Memories) -> None:
    many = [f"word{number}x" for number in range(MAX_ASKED + 40)]
    for start in range(0, len(many), 20):
        await memories.add(fact("common " + " ".join(many[start : start + 20])))
    asked = stems("common " + " ".join(many))

    matches = await memories.word_matches(CHAT, asked, Where(), 10)

    assert matches
    assert all(match.total == len(set(asked)) for match in matches)
    assert "common" not in {word for match in matches for word in match.matched}


async def test_a_word_as_long_as_a_page_is_stored_and_found(memories: Memories) -> None:
    memory = await add(memories, "key " + "A1" * 2_000)
    assert await found(memories, "A1" * 2_000) == [memory.id]
