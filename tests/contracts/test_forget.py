"""Forgetting: out of sight at once, back on demand, and in the end gone from every file."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from memory.database import Database
from memory.errors import MemoryNotFound
from memory.memories import Memories
from memory.phrases import Phrases
from memory.tables import inbox, profiles, sessions, tombstones
from memory.tables import memories as rows
from memory.types import Memory, Origin, Receipt, Status
from tests.contracts.chats import CHAT, OTHER_CHAT, fact, having, open_session, say, text_of
from tests.fakes.clock import NOON, FrozenClock

LATER = NOON + timedelta(minutes=10)
DOG = "мою собаку зовут Бублик"


async def add(memories: Memories, text: str, *sources: int, **more: Any) -> Memory:
    return (await memories.add(fact(text, message_ids=sources, **more))).memory


async def raw(database: Database, memory_id: int) -> dict[str, object] | None:
    async with database.read() as conn:
        row = (await conn.execute(sa.select(rows).where(rows.c.id == memory_id))).one_or_none()
    return None if row is None else dict(row._mapping)


# Hiding and taking it back


async def test_a_hidden_memory_is_out_of_sight_at_once(memories: Memories) -> None:
    memory = await add(memories, DOG)

    receipt = await memories.hide(CHAT, [memory.id], LATER)

    assert receipt == Receipt(memories=1, messages=0, purge_at=LATER)
    assert await memories.list(CHAT) == []
    assert await memories.get_active(CHAT, [memory.id]) == []
    assert await memories.matching(CHAT, "бублик") == []
    with pytest.raises(MemoryNotFound):
        await memories.get(CHAT, memory.id)
    with pytest.raises(MemoryNotFound):
        await memories.supersede(CHAT, memory.id, fact("hm"), revision=None)


async def test_a_hidden_memory_comes_back_as_it_was_but_for_its_revision(memories: Memories) -> None:
    memory = await add(memories, DOG)
    await memories.hide(CHAT, [memory.id], LATER)

    assert await memories.unhide(CHAT, LATER) == Receipt(1, 0)

    [back] = await memories.list(CHAT)
    assert back.revision > memory.revision
    assert (back.id, back.text, back.status, back.purge_at) == (memory.id, DOG, Status.ACTIVE, None)
    assert await memories.unhide(CHAT, LATER) is None


async def test_other_chats_can_neither_hide_nor_unhide_nor_purge(memories: Memories) -> None:
    memory = await add(memories, DOG)
    assert await memories.hide(OTHER_CHAT, [memory.id], LATER) == Receipt(0, 0)
    assert await memories.purge(OTHER_CHAT, [memory.id]) == Receipt(0, 0)
    assert await memories.list(CHAT) == [memory]

    await memories.hide(CHAT, [memory.id], LATER)
    assert await memories.unhide(OTHER_CHAT, LATER) is None
    assert await memories.last_hidden(OTHER_CHAT) is None


async def test_what_was_told_again_after_a_forget_is_one_memory_when_the_forget_is_undone(
    memories: Memories, database: Database
) -> None:
    first = await add(memories, DOG, await say(database, "one"))
    await memories.hide(CHAT, [first.id], LATER)
    again = await add(memories, DOG, await say(database, "two"))

    assert await memories.unhide(CHAT, LATER) == Receipt(1, 0)

    [memory] = await memories.list(CHAT)
    assert memory.id == again.id
    assert set(first.message_ids) < set(memory.message_ids)


async def test_a_receipt_tells_how_many_messages_will_lose_their_text(
    memories: Memories, database: Database
) -> None:
    question = await say(database, f"Запомни: {DOG}!")
    await say(database, "Запомнил.", reply_to=question)
    memory = await add(memories, DOG, question)

    assert (await memories.hide(CHAT, [memory.id], LATER)).messages == 2
    assert await text_of(database, question) != ""
    assert await memories.purge(CHAT, [memory.id]) == Receipt(memories=1, messages=2)


async def test_hiding_again_says_the_same_and_starts_the_window_anew(memories: Memories) -> None:
    memory = await add(memories, DOG)
    later = LATER + timedelta(minutes=1)
    await memories.hide(CHAT, [memory.id], LATER)

    assert await memories.hide(CHAT, [memory.id], later) == Receipt(1, 0, later)
    assert await memories.purge_due(LATER) == Receipt(0, 0)
    assert await memories.last_hidden(CHAT) == later


async def test_the_last_forget_is_the_one_whose_window_ends_last(memories: Memories) -> None:
    first, second = await add(memories, "one thing"), await add(memories, "another thing")
    await memories.hide(CHAT, [first.id], LATER)
    await memories.hide(CHAT, [second.id], LATER + timedelta(minutes=1))

    last = await memories.last_hidden(CHAT)
    assert last is not None
    await memories.unhide(CHAT, last)

    assert await memories.list(CHAT) == [await memories.get(CHAT, second.id)]
    assert await memories.last_hidden(CHAT) == LATER


async def test_what_an_unfinished_turn_had_forgotten_comes_back(
    memories: Memories, database: Database
) -> None:
    memory = await add(memories, DOG)
    question = await say(database, "forget the dog")
    await memories.hide(CHAT, [memory.id], LATER, question)

    assert await memories.withdraw(OTHER_CHAT, question) == 0
    assert await memories.withdraw(CHAT, question) == 1
    assert [back.id for back in await memories.list(CHAT)] == [memory.id]


async def test_what_an_answered_turn_had_forgotten_stays_forgotten(
    memories: Memories, database: Database
) -> None:
    memory = await add(memories, DOG)
    question = await say(database, "forget the dog")
    await memories.hide(CHAT, [memory.id], LATER, question)
    await say(database, "Done.", reply_to=question)

    assert await memories.withdraw(CHAT, question) == 0
    assert await memories.list(CHAT) == []


# Purging


async def test_only_what_is_due_is_purged(memories: Memories, clock: FrozenClock) -> None:
    first = await add(memories, "one thing")
    second = await add(memories, "another thing", chat_id=OTHER_CHAT)
    third = await add(memories, "a third thing")
    await memories.hide(CHAT, [first.id], LATER)
    await memories.hide(OTHER_CHAT, [second.id], LATER)
    await memories.hide(CHAT, [third.id], LATER + timedelta(minutes=1))

    assert await memories.purge_due(NOON) == Receipt(0, 0)
    assert await memories.purge_due(LATER) == Receipt(2, 0)
    assert await memories.unhide(CHAT, LATER) is None
    assert await memories.unhide(CHAT, LATER + timedelta(minutes=1)) == Receipt(1, 0)


async def test_a_purge_empties_what_the_memory_stands_on_and_everything_that_repeats_it(
    memories: Memories, database: Database
) -> None:
    source = await say(database, "У меня новость: взяли щенка!")
    answer = await say(database, "Поздравляю со щенком", reply_to=source)
    mention = await say(database, "Помнишь, МОЮ  СОБАКУ зовут бублик?")
    mention_answer = await say(database, "Да, помню", reply_to=mention)
    original = await say(database, "мой бублик - собака, хочу сказать")
    innocent = await say(database, "Который час?")
    foreign = await say(database, DOG, chat_id=OTHER_CHAT)
    memory = await add(memories, f"{DOG}.", source, original="Мой бублик - собака")

    receipt = await memories.purge(CHAT, [memory.id])

    assert receipt == Receipt(memories=1, messages=5)
    for message_id in (source, answer, mention, mention_answer, original):
        assert await text_of(database, message_id) == ""
    assert await text_of(database, innocent) == "Который час?"
    assert await text_of(database, foreign) == DOG


async def test_the_earlier_versions_of_a_memory_go_with_it(memories: Memories, database: Database) -> None:
    said = await say(database, "I live in Riga now")
    riga = await add(memories, "Anna lives in Riga", said)
    oslo = await memories.supersede(CHAT, riga.id, fact("Anna lives in Oslo"), revision=None)
    rome = await memories.supersede(CHAT, oslo.id, fact("Anna lives in Rome"), revision=None)

    receipt = await memories.purge(CHAT, [rome.id])

    assert receipt == Receipt(memories=1, messages=1)
    assert [await raw(database, memory.id) for memory in (riga, oslo, rome)] == [None, None, None]


async def test_what_the_bot_made_of_it_and_old_versions_with_the_same_words_go_too(
    memories: Memories, database: Database
) -> None:
    memory = await add(memories, DOG)
    insight = await add(memories, f"Итог: {DOG}, и это важно", origin=Origin.DERIVED)
    other_insight = await add(memories, "Итог: Анна пьёт чай", origin=Origin.DERIVED)
    old = await add(memories, f"Вчера узнал, что {DOG}")
    newer = await memories.supersede(CHAT, old.id, fact("Вчера был дождь"), revision=None)

    await memories.purge(CHAT, [memory.id])

    assert {each.id for each in await memories.list(CHAT)} == {other_insight.id, newer.id}
    assert await raw(database, insight.id) is None
    assert await raw(database, old.id) is None


async def test_summaries_and_profile_that_tell_of_it_are_emptied(
    memories: Memories, database: Database
) -> None:
    quoting = await open_session(database, summary=f"Анна сказала, что {DOG}.")
    paraphrasing = await open_session(database, summary="У Анны появился питомец")
    innocent = await open_session(database, summary="О погоде")
    source = await say(database, "щенок!", session_id=paraphrasing)
    async with database.write() as conn:
        about = {"text": f"Анна: {DOG}", "updated_at": NOON}
        await conn.execute(sa.insert(profiles), [{"chat_id": chat, **about} for chat in (CHAT, OTHER_CHAT)])
    memory = await add(memories, DOG, source)

    await memories.purge(CHAT, [memory.id])

    async with database.read() as conn:
        summaries = {row.id: row.summary for row in await conn.execute(sa.select(sessions))}
        profile = {row.chat_id: row.text for row in await conn.execute(sa.select(profiles))}
    assert (summaries[quoting], summaries[paraphrasing], summaries[innocent]) == ("", "", "О погоде")
    assert profile == {CHAT: "", OTHER_CHAT: f"Анна: {DOG}"}


async def test_what_was_told_again_on_purpose_survives_the_purge_of_its_former_self(
    memories: Memories, database: Database
) -> None:
    before = await say(database, DOG)
    first = await add(memories, DOG, before)
    await memories.hide(CHAT, [first.id], LATER)
    after = await say(database, f"всё-таки запомни: {DOG}")
    await add(memories, DOG, after)

    await memories.purge_due(LATER)

    assert await text_of(database, before) == ""
    assert await text_of(database, after) != ""
    assert len(await memories.list(CHAT)) == 1


async def test_updates_that_are_dealt_with_keep_no_payload(memories: Memories, database: Database) -> None:
    row = {"bot_id": 1, "chat_id": CHAT, "payload": DOG, "received_at": NOON}
    updates = [
        {**row, "update_id": number, "state": state} for number, state in enumerate(["pending", "failed"])
    ]
    async with database.write() as conn:
        await conn.execute(sa.insert(inbox), updates)
    memory = await add(memories, DOG)

    await memories.purge(CHAT, [memory.id])

    async with database.read() as conn:
        left = (await conn.execute(sa.select(inbox.c.payload).order_by(inbox.c.update_id))).scalars().all()
    assert left == [DOG, None]


async def test_a_purged_memory_leaves_a_tombstone_with_a_fresh_revision(
    memories: Memories, database: Database
) -> None:
    memory = await add(memories, DOG)
    newest = await add(memories, "Anna likes tea")

    await memories.purge(CHAT, [memory.id])

    async with database.read() as conn:
        [grave] = (await conn.execute(sa.select(tombstones))).all()
    assert grave.memory_id == memory.id
    assert grave.revision > newest.revision
    assert (await add(memories, DOG)).id > newest.id


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("the cat", "I saw the Cat, yes", True),
        ("cat", "a category", False),
        ("кот", "Который час?", False),
        ("ёлка", "наша ЕЛКА", True),
        ("PIN 1234", "my pin 12345", False),
        ("«тайна»", "тайна", True),
        ("C++", "I write C++ daily", True),
        ("да", "да, приду", False),
        ("да", "Да!", True),
        ("C++", "see section c", False),
        ("🐶🐱", "🐶🐱!", True),
        ("🐶🐱", "my 🐶🐱 sleep", False),
        ("", "anything", False),
    ],
)
def test_a_phrase_is_found_as_words_of_a_text(phrase: str, text: str, found: bool) -> None:
    assert Phrases([phrase]).are_in(text) is found


# Withdrawing what an interrupted turn has stored


async def test_what_an_unfinished_turn_had_stored_is_taken_back(
    memories: Memories, database: Database
) -> None:
    earlier = await add(memories, "Anna likes tea", await say(database, "I like tea"))
    question = await say(database, f"запомни: {DOG}")
    await add(memories, DOG, question)

    assert await memories.withdraw(CHAT, question) == 1

    assert await memories.list(CHAT) == [earlier]
    assert await text_of(database, question) != ""
    assert await memories.withdraw(CHAT, question) == 0


async def test_once_the_turn_is_answered_its_memories_stay(memories: Memories, database: Database) -> None:
    question = await say(database, f"запомни: {DOG}")
    memory = await add(memories, DOG, question)
    await say(database, "Запомнил", reply_to=question)

    assert await memories.withdraw(CHAT, question) == 0
    assert await memories.list(CHAT) == [memory]


async def test_what_the_unfinished_turn_had_replaced_comes_back(
    memories: Memories, database: Database
) -> None:
    riga = await add(memories, "Anna lives in Riga")
    question = await say(database, "I moved to Oslo. No, Rome!")
    oslo = await memories.supersede(
        CHAT, riga.id, fact("Anna lives in Oslo", message_ids=(question,)), revision=None
    )
    await memories.supersede(
        CHAT, oslo.id, fact("Anna lives in Rome", message_ids=(question,)), revision=None
    )

    assert await memories.withdraw(CHAT, question) == 2

    [back] = await memories.list(CHAT)
    assert (back.id, back.valid_until, back.superseded_by) == (riga.id, None, None)
    assert await having(database, "Riga") == [riga.id]


async def test_another_chat_cannot_withdraw(memories: Memories, database: Database) -> None:
    question = await say(database, f"запомни: {DOG}")
    memory = await add(memories, DOG, question)
    assert await memories.withdraw(OTHER_CHAT, question) == 0
    assert await memories.list(CHAT) == [memory]


async def test_an_answer_that_showed_only_the_beginning_of_a_long_memory_is_erased_too(
    memories: Memories, database: Database
) -> None:
    long = "the wifi password is mango5521 and " + "so on and so forth " * 30
    question = await say(database, "what is the wifi password?")
    answer = await say(database, f"You said: {long[:400]} …", reply_to=question)
    memory = await add(memories, long)

    assert (await memories.purge(CHAT, [memory.id])).messages == 1
    assert await text_of(database, answer) == ""
