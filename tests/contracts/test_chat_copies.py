"""Warm copies of chats hold what SQL holds at the moment of asking, and stay as they are afterwards."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from memory import chat_reading
from memory.chat_copies import ChatCopies
from memory.database import Database
from memory.memories import Memories
from memory.text import stems
from memory.types import Memory, MemoryType, Origin
from tests.contracts.chats import ANNA, CHAT, OTHER_CHAT, fact, open_session
from tests.contracts.copies import add, content, embed, found, fresh, ids_of, vector
from tests.fakes.clock import NOON


@pytest.fixture
def copies(database: Database) -> ChatCopies:
    return fresh(database)


# What a copy holds


async def test_a_chat_without_memories_has_an_empty_copy(copies: ChatCopies) -> None:
    copy = await copies.get(CHAT)
    assert (copy.chat_id, copy.revision, len(copy)) == (CHAT, 0, 0)
    assert copy.row_of(1) is None
    assert found(copy, "tea") == []
    assert copy.with_prefix("t", 10) == []
    assert copy.cosines(vector(1)) is not None


async def test_a_row_holds_what_sql_knows_of_the_memory(
    copies: ChatCopies, memories: Memories, database: Database
) -> None:
    session = await open_session(database)
    later = NOON.replace(microsecond=123_457)
    await add(memories, "Anna drinks tea")
    told = await add(
        memories,
        "Boris said: tea, more tea!",
        seed=5,
        type=MemoryType.TURN,
        origin=Origin.ASSISTANT,
        speaker="Boris",
        session_id=session,
        importance=0.25,
        valid_from=later,
    )

    copy = await copies.get(CHAT)

    row = copy.row_of(told.id)
    assert row == 1
    assert tuple(MemoryType)[copy.types[row]] is MemoryType.TURN
    assert tuple(Origin)[copy.origins[row]] is Origin.ASSISTANT
    assert [copy.speaker_names[place] for place in copy.speakers] == [ANNA, "Boris"]
    assert copy.valid_from[row] == later.timestamp()
    assert copy.sessions.tolist() == [0, session]
    assert copy.importance[row] == 0.25
    assert copy.lengths[row] == len(stems(told.text))
    assert copy.has_vector.tolist() == [False, True]
    assert copy.vectors is not None
    assert np.array_equal(copy.vectors[row], vector(5))
    assert copy.revision == told.revision


async def test_postings_tell_who_has_a_word_and_how_often(copies: ChatCopies, memories: Memories) -> None:
    one = await add(memories, "tea, tea and more tea")
    await add(memories, "coffee")
    two = await add(memories, "green tea")

    copy = await copies.get(CHAT)
    rows, counts = copy.postings("tea")

    assert dict(zip(ids_of(copy, rows), counts.tolist(), strict=True)) == {one.id: 3, two.id: 1}
    assert copy.postings("parrot")[0].size == 0
    assert rows.dtype == counts.dtype == np.int32


async def test_words_are_found_by_their_beginning(copies: ChatCopies, memories: Memories) -> None:
    await add(memories, "ZX-4471 ZX-4472")
    await copies.get(CHAT)
    late = await add(memories, "ZX-4470 and кошка")
    copy = await copies.get(CHAT)
    assert copy.with_prefix("zx-447", 10) == ["zx-4470", "zx-4471", "zx-4472"]
    assert copy.with_prefix("zx-447", 2) == ["zx-4470", "zx-4471"]
    assert copy.with_prefix("кош", 10) == stems("кошка")
    assert copy.with_prefix("zx", 0) == copy.with_prefix("zx", -1) == copy.with_prefix("щ", 10) == []

    await memories.purge(CHAT, [late.id])
    assert (await copies.get(CHAT)).with_prefix("zx-447", 10) == ["zx-4471", "zx-4472"]


async def test_a_turn_knows_the_turn_before_it_in_its_session(
    copies: ChatCopies, memories: Memories, database: Database
) -> None:
    one, other = await open_session(database), await open_session(database, thread_id=1)
    turn: dict[str, Any] = {"type": MemoryType.TURN}
    first = await add(memories, "first", session_id=one, **turn)
    await add(memories, "a fact of the session", session_id=one)
    alone = await add(memories, "alone", session_id=other, **turn)
    await add(memories, "outside", **turn)
    second = await add(memories, "second", session_id=one, **turn)
    copy = await copies.get(CHAT)
    third = await add(memories, "third", session_id=one, **turn)

    def before(memory: Memory) -> int | None:
        row = copy.row_of(memory.id)
        assert row is not None
        return int(copy.ids[copy.previous[row]]) if copy.previous[row] >= 0 else None

    assert (before(first), before(second), before(alone)) == (None, first.id, None)
    assert (copy.previous >= 0).sum() == 1

    copy = await copies.get(CHAT)
    assert before(third) == second.id

    await memories.hide(CHAT, [second.id], NOON)
    copy = await copies.get(CHAT)
    assert before(third) == first.id

    await memories.unhide(CHAT, NOON)
    copy = await copies.get(CHAT)
    assert (before(third), before(second)) == (second.id, first.id)


async def test_the_cosines_are_those_of_an_exact_scan(copies: ChatCopies, memories: Memories) -> None:
    await add(memories, "one", seed=1)
    await add(memories, "two")
    await add(memories, "three", seed=3)

    cosines = (await copies.get(CHAT)).cosines(vector(9))

    assert cosines is not None
    assert cosines.tolist() == pytest.approx([vector(1) @ vector(9), 0.0, vector(3) @ vector(9)])


# Staying up to date


async def test_while_nothing_changes_the_copy_is_the_same(copies: ChatCopies, memories: Memories) -> None:
    await add(memories, "Anna likes tea", seed=1)
    await add(memories, "no vector yet")
    copy = await copies.get(CHAT)
    await add(memories, "elsewhere", OTHER_CHAT)
    assert await copies.get(CHAT) is copy
    assert (copies.misses, copies.hits) == (1, 1)


async def test_what_is_no_longer_active_is_dead_and_has_no_words(
    copies: ChatCopies, memories: Memories
) -> None:
    riga = await add(memories, "Anna lives in Riga", seed=1)
    await copies.get(CHAT)

    oslo = await memories.supersede(CHAT, riga.id, fact("Anna lives in Oslo"))
    copy = await copies.get(CHAT)
    assert (copy.row_of(riga.id), copy.dead) == (None, 1)
    assert (found(copy, "Riga"), found(copy, "Anna")) == ([], [oslo.id])

    await memories.hide(CHAT, [oslo.id], NOON)
    copy = await copies.get(CHAT)
    assert not copy.alive.any()
    assert found(copy, "Oslo") == []

    await memories.unhide(CHAT, NOON)
    assert found(await copies.get(CHAT), "Oslo") == [oslo.id]

    await memories.purge(CHAT, [oslo.id])
    assert content(await copies.get(CHAT)) == {}
    assert copies.misses == 1


async def test_an_older_copy_stays_as_it_was(
    copies: ChatCopies, memories: Memories, database: Database
) -> None:
    first = await add(memories, "Anna lives in Riga", seed=1)
    bare = await add(memories, "Anna has a dog")
    older = await copies.get(CHAT)
    before = content(older)

    for number in range(100):
        await add(memories, f"Anna counts to {number}", seed=number)
        if not number % 20:
            await copies.get(CHAT)
    await embed(database, bare, 7)
    await memories.purge(CHAT, [first.id])
    await copies.get(CHAT)

    assert content(older) == before
    assert older.with_prefix("count", 5) == []
    for field in fields(older):
        value = getattr(older, field.name)
        assert not isinstance(value, np.ndarray) or not value.flags.writeable


async def test_what_is_told_again_by_a_person_has_its_new_origin(
    copies: ChatCopies, memories: Memories, database: Database
) -> None:
    known = await add(memories, "Tea is grown in Assam", origin=Origin.DOCUMENT, speaker="")
    await add(memories, "Anna likes tea")
    await copies.get(CHAT)
    await add(memories, "Tea is grown in Assam", speaker="Boris")

    copy = await copies.get(CHAT)

    row = copy.row_of(known.id)
    assert row == 2
    assert tuple(Origin)[copy.origins[row]] is Origin.PERSON
    assert copy.speaker_names[copy.speakers[row]] == "Boris"
    assert content(copy) == content(await fresh(database).get(CHAT))


async def test_vectors_that_come_later_are_noticed(
    copies: ChatCopies, memories: Memories, database: Database
) -> None:
    bare = [await add(memories, f"memory {number}") for number in range(chat_reading._FIRST_LOOK + 8)]
    first = await copies.get(CHAT)
    assert not first.has_vector.any()

    for memory in bare[:3]:
        await embed(database, memory, memory.id)
    second = await copies.get(CHAT)
    assert second.has_vector.nonzero()[0].tolist() == [0, 1, 2]

    for memory in bare[3:]:
        await embed(database, memory, memory.id)
    third = await copies.get(CHAT)
    assert third.has_vector.all()
    assert second.has_vector.sum() == 3
    assert content(third) == content(await fresh(database).get(CHAT))
    assert copies.misses == 1


async def test_vectors_of_another_model_do_not_count(
    copies: ChatCopies, memories: Memories, database: Database
) -> None:
    memory = await add(memories, "Anna likes tea")
    await embed(database, memory, 1, model="model-2")
    copy = await copies.get(CHAT)
    assert not copy.has_vector.any()
    await embed(database, memory, 2)
    copy = await copies.get(CHAT)
    assert copy.vectors is not None
    assert np.array_equal(copy.vectors[0], vector(2))


async def test_a_chat_that_is_mostly_dead_is_read_anew(copies: ChatCopies, memories: Memories) -> None:
    kept = await add(memories, "kept")
    gone = [await add(memories, f"number {number}") for number in range(100)]
    await copies.get(CHAT)
    await memories.hide(CHAT, [memory.id for memory in gone], NOON)

    assert len(await copies.get(CHAT)) == 101
    copy = await copies.get(CHAT)

    assert (copy.ids.tolist(), copy.dead, copies.misses) == ([kept.id], 0, 2)


async def test_after_very_many_changes_the_chat_is_read_anew(
    copies: ChatCopies, memories: Memories, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_reading, "MAX_NEWS", 5)
    first = await add(memories, "first")
    await copies.get(CHAT)
    some = [await add(memories, f"number {number}") for number in range(5)]
    assert (len(await copies.get(CHAT)), copies.misses) == (6, 1)
    more = [await add(memories, f"more {number}") for number in range(6)]
    assert (len(await copies.get(CHAT)), copies.misses) == (12, 2)
    for memory in [first, *some, *more]:
        await embed(database, memory, 1)
    assert ((await copies.get(CHAT)).has_vector.sum(), copies.misses) == (12, 3)


async def test_a_chat_without_any_words_has_a_copy(copies: ChatCopies, memories: Memories) -> None:
    memory = await add(memories, "🍰")
    assert (await copies.get(CHAT)).ids.tolist() == [memory.id]
    await add(memories, "🎂")
    assert len(await copies.get(CHAT)) == 2
