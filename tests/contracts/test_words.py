"""The inverted index, the same on both databases."""

from __future__ import annotations

import sqlalchemy as sa

from memory.database import Database
from memory.memories import Memories
from memory.tables import words
from memory.text import stems
from memory.types import Memory, Origin
from memory.words import PackedPostings, read_postings
from tests.contracts.chats import CHAT, OTHER_CHAT, fact, having
from tests.fakes.clock import NOON


async def add(memories: Memories, text: str, chat_id: int = CHAT) -> Memory:
    return (await memories.add(fact(text, chat_id=chat_id))).memory


async def indexed(database: Database) -> int:
    async with database.read() as conn:
        count: int = (await conn.execute(sa.select(sa.func.count()).select_from(words))).scalar_one()
    return count


async def test_a_memory_is_found_by_any_form_of_its_words(memories: Memories, database: Database) -> None:
    dog = await add(memories, "Мою собаку зовут Бублик")
    cat = await add(memories, "Anna's cats are sleeping")

    assert await having(database, "собаки") == [dog.id]
    assert await having(database, "бубликом") == [dog.id]
    assert await having(database, "cat sleeps") == [cat.id]
    assert await having(database, "попугай") == []


async def test_only_active_memories_have_words(memories: Memories, database: Database) -> None:
    riga = await add(memories, "Anna lives in Riga")
    assert await having(database, "Riga") == [riga.id]

    oslo = await memories.supersede(CHAT, riga.id, fact("Anna lives in Oslo"), revision=None)
    assert await having(database, "Riga") == []
    assert await having(database, "Anna") == [oslo.id]

    await memories.hide(CHAT, [oslo.id], NOON)
    assert await indexed(database) == 0

    await memories.unhide(CHAT, NOON)
    assert await having(database, "Oslo") == [oslo.id]

    await memories.purge(CHAT, [oslo.id])
    assert await indexed(database) == 0


async def test_a_memory_without_words_is_kept_and_found_by_none(
    memories: Memories, database: Database
) -> None:
    await add(memories, "🍰")
    assert await having(database, "🍰") == []
    assert await memories.count(CHAT) == 1


async def test_a_word_as_long_as_a_page_is_stored_and_found(memories: Memories, database: Database) -> None:
    memory = await add(memories, "key " + "A1" * 2_000)
    assert await having(database, "A1" * 2_000) == [memory.id]


# Read as a whole


def unpacked(packed: PackedPostings) -> dict[tuple[str, int], int]:
    places, ids, counts = packed.unpacked()
    assert len(packed) == len(places)
    words = [packed.words[place] for place in places]
    return dict(zip(zip(words, ids.tolist(), strict=True), counts.tolist(), strict=True))


async def test_the_words_of_a_chat_are_read_in_one_piece(memories: Memories, database: Database) -> None:
    one = await add(memories, "tea 3,5 tea")
    two = await add(memories, "чай tea")
    await add(memories, "tea elsewhere", OTHER_CHAT)
    gone = await add(memories, "gone tea")
    await memories.hide(CHAT, [gone.id], NOON)

    async with database.read() as conn:
        everything = unpacked(await read_postings(conn, CHAT))
        some = unpacked(await read_postings(conn, CHAT, [two.id, gone.id]))
        of_others = unpacked(await read_postings(conn, OTHER_CHAT, [one.id, two.id]))

    expected = {
        (word, memory.id): stems(memory.text).count(word)
        for memory in (one, two)
        for word in stems(memory.text)
    }
    assert everything == expected
    assert some == {key: count for key, count in expected.items() if key[1] == two.id}
    assert of_others == {}


async def test_a_chat_without_words_is_read_as_well(database: Database) -> None:
    async with database.read() as conn:
        assert unpacked(await read_postings(conn, CHAT)) == {}


async def test_what_a_person_tells_again_is_still_found_by_its_words(
    memories: Memories, database: Database
) -> None:
    known = (await memories.add(fact("Tea is grown in Assam", origin=Origin.DOCUMENT, speaker=""))).memory
    await add(memories, "Tea is grown in Assam")
    assert await having(database, "Assam") == [known.id]
