"""What is told again, too late, or while a turn is cut off."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory.database import Database
from memory.errors import InvalidMemory
from memory.export import export_chat, import_chat
from memory.memories import Memories
from memory.sessions import Sessions
from memory.types import Author, Incoming, MemoryType, Origin
from tests.contracts.chats import ANNA, CHAT, OTHER_CHAT, fact, say
from tests.fakes.clock import NOON, FrozenClock

LATER = NOON + timedelta(minutes=10)


async def test_a_memory_told_again_stands_on_both_messages(memories: Memories, database: Database) -> None:
    first, second = await say(database, "I like tea"), await say(database, "I like tea!")
    await memories.add(fact("Anna likes tea", message_ids=(first,)))

    again = await memories.add(fact("Anna likes tea", message_ids=(second,)))

    assert not again.created
    assert again.memory.message_ids == (first, second)


async def test_what_a_person_says_stays_when_the_document_that_said_it_too_changes(
    memories: Memories,
) -> None:
    chunk = fact("my cat is Tom", type=MemoryType.KNOWLEDGE, origin=Origin.DOCUMENT, speaker="")
    await memories.replace_document(CHAT, "cats.txt", [(chunk, None)])

    told = (await memories.add(fact("my cat is Tom"))).memory
    await memories.replace_document(CHAT, "cats.txt", [(fact("my cat is Felix"), None)])

    assert (told.origin, told.speaker, told.document) == (Origin.PERSON, ANNA, "")
    assert told.text in [memory.text for memory in await memories.list(CHAT)]


async def test_a_turn_that_is_cut_off_takes_back_only_what_it_brought(
    memories: Memories, database: Database
) -> None:
    first, second = await say(database, "I like tea"), await say(database, "I like tea!")
    tea = (await memories.add(fact("Anna likes tea", message_ids=(first,)))).memory
    imported = (await memories.add(fact("Anna has a cat"))).memory
    await memories.add(fact("Anna likes tea", message_ids=(second,)))
    await memories.add(fact("Anna has a cat", message_ids=(second,)))
    await memories.add(fact("Anna has a dog", message_ids=(second,)))

    assert await memories.withdraw(CHAT, second) == 1

    left = {memory.id: memory.message_ids for memory in await memories.list(CHAT)}
    assert left == {tea.id: (first,), imported.id: ()}


async def test_a_save_that_comes_after_its_message_was_forgotten_is_refused(
    memories: Memories, database: Database
) -> None:
    question = await say(database, "my dog is called Biscuit")
    known = (await memories.add(fact("my dog is called Biscuit", message_ids=(question,)))).memory
    await memories.purge(CHAT, [known.id])

    with pytest.raises(InvalidMemory):
        await memories.add(fact("Anna's dog: Biscuit", message_ids=(question,)))


async def test_a_save_from_before_everything_was_forgotten_is_refused(
    memories: Memories, database: Database
) -> None:
    question = await say(database, "my dog is called Biscuit")
    await memories.hide_all(CHAT, LATER)

    with pytest.raises(InvalidMemory):
        await memories.add(fact("Anna's dog: Biscuit", message_ids=(question,)))
    assert (await memories.add(fact("Anna has a cat", message_ids=(await say(database, "cat"),)))).created


async def test_while_everything_is_being_forgotten_an_export_holds_nothing_that_was_said(
    memories: Memories, database: Database
) -> None:
    await say(database, "my secret diagnosis")
    await memories.hide_all(CHAT, LATER)

    assert "diagnosis" not in str(await export_chat(database, CHAT))


async def test_a_chat_of_the_same_number_takes_an_export_beside_its_own_messages(
    database: Database, clock: FrozenClock
) -> None:
    sessions = Sessions(database, clock)
    for chat_id, words in ((CHAT, "here"), (OTHER_CHAT, "there")):
        turn = await sessions.begin_turn(
            Incoming(chat_id, Author(1, "Anna"), words, NOON, f"console:{words}"), timedelta(minutes=30)
        )
        await sessions.finish_turn(turn, words.upper())
    there = await export_chat(database, OTHER_CHAT)
    there["chat_id"] = CHAT
    for message in there["messages"]:  # as another machine would have numbered them
        message["source"] = message["source"].replace(f"answer:{turn.message.id}", "answer:1")

    await import_chat(database, CHAT, there)

    texts = {message["text"] for message in (await export_chat(database, CHAT))["messages"]}
    assert texts == {"here", "HERE", "there", "THERE"}
