"""Forgetting everything of a chat: what was remembered, and what was only said."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory.database import Database
from memory.errors import InvalidMemory
from memory.memories import Memories
from memory.sessions import Sessions, Turn
from memory.types import Author, Incoming, Receipt
from tests.contracts.chats import CHAT, OTHER_CHAT, fact, text_of
from tests.fakes.clock import NOON, FrozenClock

LATER = NOON + timedelta(minutes=10)
IDLE = timedelta(minutes=30)


@pytest.fixture
def sessions(database: Database, clock: FrozenClock) -> Sessions:
    return Sessions(database, clock)


async def talk(sessions: Sessions, question: str, answer: str, chat_id: int = CHAT) -> Turn:
    incoming = Incoming(chat_id, Author(1, "Anna"), question, NOON, f"m:{question}")
    turn = await sessions.begin_turn(incoming, IDLE)
    await sessions.finish_turn(turn, answer)
    return turn


async def prompt(sessions: Sessions, turn: Turn) -> list[str]:
    """What a later prompt of the same conversation would repeat."""
    told = await sessions.history(CHAT, turn.session.id, before_id=2**31, step=40)
    return [message.text for message in told]


async def test_everything_is_out_of_sight_at_once_and_comes_back_whole(
    memories: Memories, sessions: Sessions
) -> None:
    turn = await talk(sessions, "the weather is fine", "It is.")
    memory = (await memories.add(fact("Anna likes tea"))).memory

    assert await memories.hide_all(CHAT, LATER) == Receipt(1, 2, LATER)
    assert await memories.list(CHAT) == []
    assert await prompt(sessions, turn) == []

    assert await memories.unhide(CHAT, LATER) == Receipt(1, 2)
    assert [each.id for each in await memories.list(CHAT)] == [memory.id]
    assert await prompt(sessions, turn) == ["the weather is fine", "It is."]


async def test_when_the_window_has_ended_all_words_are_gone(
    memories: Memories, database: Database, sessions: Sessions, clock: FrozenClock
) -> None:
    turn = await talk(sessions, "the weather is fine", "It is.")
    await memories.add(fact("Anna likes tea"))
    await memories.hide_all(CHAT, LATER)

    assert await memories.purge_due(NOON) == Receipt(0, 0)
    assert await memories.purge_due(LATER) == Receipt(1, 2)

    assert await text_of(database, turn.message.id) == ""
    assert await memories.purge_due(LATER) == Receipt(0, 0)
    assert await memories.unhide(CHAT, LATER) is None


async def test_what_is_said_and_remembered_afterwards_stays(
    memories: Memories, sessions: Sessions, database: Database
) -> None:
    await talk(sessions, "before", "old")
    await memories.hide_all(CHAT, LATER)
    turn = await talk(sessions, "after", "new")
    await memories.add(fact("Anna likes coffee"))

    await memories.purge_due(LATER)

    assert await prompt(sessions, turn) == ["after", "new"]
    assert [memory.text for memory in await memories.list(CHAT)] == ["Anna likes coffee"]


async def test_an_answer_that_was_being_written_meanwhile_goes_too(
    memories: Memories, sessions: Sessions, database: Database
) -> None:
    incoming = Incoming(CHAT, Author(1, "Anna"), "what do I have?", NOON, "m:1")
    turn = await sessions.begin_turn(incoming, IDLE)
    await memories.hide_all(CHAT, LATER)
    with pytest.raises(InvalidMemory):
        await memories.add(fact("Anna has the flu", message_ids=(turn.message.id,)))
    answer = await sessions.finish_turn(turn, "You have the flu.")

    await memories.purge_due(LATER)

    assert await text_of(database, answer.id) == ""
    assert await memories.list(CHAT) == []


async def test_a_chat_without_memories_forgets_and_gets_back_what_was_said(
    memories: Memories, sessions: Sessions
) -> None:
    turn = await talk(sessions, "the weather is fine", "It is.")
    await memories.hide_all(CHAT, LATER)
    assert await prompt(sessions, turn) == []

    assert await memories.last_hidden(CHAT) == LATER
    assert await memories.unhide(CHAT, LATER) == Receipt(0, 2)
    assert len(await prompt(sessions, turn)) == 2


async def test_done_twice_it_has_one_undo(memories: Memories) -> None:
    await memories.add(fact("Anna likes tea"))
    await memories.hide_all(CHAT, LATER)

    later = LATER + timedelta(minutes=1)
    assert (await memories.hide_all(CHAT, later)).memories == 1
    assert await memories.unhide(CHAT, LATER) is None
    assert await memories.unhide(CHAT, later) == Receipt(1, 0)


async def test_what_was_forgotten_before_does_not_come_back_with_it(memories: Memories) -> None:
    tea = (await memories.add(fact("Anna likes tea"))).memory
    await memories.add(fact("Anna has a dog"))
    await memories.hide(CHAT, [tea.id], LATER)
    await memories.hide_all(CHAT, LATER + timedelta(minutes=1))

    assert await memories.unhide(CHAT, LATER + timedelta(minutes=1)) == Receipt(1, 0)
    assert [memory.text for memory in await memories.list(CHAT)] == ["Anna has a dog"]


async def test_at_once_it_takes_hidden_and_replaced_memories_too(
    memories: Memories, sessions: Sessions, database: Database
) -> None:
    turn = await talk(sessions, "the weather is fine", "It is.")
    riga = (await memories.add(fact("Anna lives in Riga"))).memory
    await memories.supersede(CHAT, riga.id, fact("Anna lives in Oslo"))
    tea = (await memories.add(fact("Anna likes tea"))).memory
    await memories.hide(CHAT, [tea.id], LATER)

    receipt = await memories.purge_all(CHAT)

    assert receipt == Receipt(3, 2)
    assert await memories.unhide(CHAT, LATER) is None
    assert await text_of(database, turn.message.id) == ""


async def test_another_chat_keeps_everything(
    memories: Memories, sessions: Sessions, database: Database
) -> None:
    theirs = await talk(sessions, "mine to keep", "Yes.", chat_id=OTHER_CHAT)
    await memories.add(fact("Boris likes tea", chat_id=OTHER_CHAT))
    await talk(sessions, "mine to lose", "Yes.")

    await memories.hide_all(CHAT, LATER)
    await memories.purge_due(LATER)
    await memories.purge_all(CHAT)

    assert await memories.count(OTHER_CHAT) == 1
    assert await text_of(database, theirs.message.id) == "mine to keep"


async def test_a_turn_whose_memory_is_forgotten_is_no_longer_in_the_prompt(
    memories: Memories, sessions: Sessions
) -> None:
    told = await talk(sessions, "my dog is called Biscuit", "Saved.")
    turn = await talk(sessions, "what is my dog called?", "From Anna: my dog is called Biscuit")
    await talk(sessions, "the weather is fine", "It is.")
    new = fact("my dog is called Biscuit", message_ids=(told.message.id,))
    memory = (await memories.add(new)).memory

    await memories.hide(CHAT, [memory.id], LATER)
    assert await prompt(sessions, turn) == ["the weather is fine", "It is."]

    await memories.unhide(CHAT, LATER)
    assert len(await prompt(sessions, turn)) == 6
