"""Indexing finished conversations: every message once, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

import memory.indexing as indexing_module
from memory.database import Database, open_database
from memory.errors import StorageError
from memory.export import export_chat, import_chat
from memory.indexing import MAX_TRIES
from memory.ports import Purpose
from memory.sessions import _is_forgotten
from memory.tables import sessions as session_rows
from memory.tables import sources, vectors, words
from memory.turns import BEGINNING, beginning
from memory.types import Author, Incoming, Memory, MemoryType, Origin, SessionState, Status, Vector
from tests.contracts.chats import ANNA, CHAT, OTHER_CHAT, fact, having
from tests.contracts.conversations import IDLE, Talk
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import HashEmbedder

CLOSED, INDEXED, FAILED = SessionState.CLOSED, SessionState.INDEXED, SessionState.FAILED


@pytest.fixture
def talk(database: Database, clock: FrozenClock) -> Talk:
    return Talk(database, clock)


class Meanwhile(HashEmbedder):
    """An embedder during whose work something happens, once."""

    def __init__(self, happens: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self._happens: Callable[[], Awaitable[object]] | None = happens

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        happens, self._happens = self._happens, None
        if happens:
            await happens()
        return await super().embed(texts, purpose)


class Choking(HashEmbedder):
    """An embedder that cannot take one kind of text."""

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        if any("poison" in text for text in texts):
            raise ValueError("poison")
        return await super().embed(texts, purpose)


# What becomes of a conversation


async def test_each_message_of_a_finished_conversation_becomes_a_turn(talk: Talk, clock: FrozenClock) -> None:
    turn = await talk.say("мою собаку зовут Бублик", "Запомнил!")

    assert await talk.index() == 1

    [question, answer] = await talk.turns()
    assert question == Memory(
        id=question.id,
        chat_id=CHAT,
        type=MemoryType.TURN,
        text="мою собаку зовут Бублик",
        origin=Origin.PERSON,
        status=Status.ACTIVE,
        learned_at=clock.now(),
        valid_from=turn.message.sent_at,
        revision=question.revision,
        speaker=ANNA,
        speaker_id=7,
        session_id=turn.session.id,
        message_ids=(turn.message.id,),
        importance=0.5,
    )
    assert (answer.text, answer.origin, answer.speaker) == ("Запомнил!", Origin.ASSISTANT, "")
    assert (answer.speaker_id, answer.session_id) == (None, turn.session.id)
    assert await talk.state(turn.session.id) is INDEXED
    assert await having(talk.database, "бублик") == [question.id]


async def test_turns_are_numbered_in_the_order_of_the_messages(talk: Talk) -> None:
    for number in range(3):
        await talk.say(f"question {number}", f"answer {number}")

    await talk.index()

    assert await talk.texts() == [f"{kind} {n}" for n in range(3) for kind in ("question", "answer")]


async def test_words_of_somebody_else_stay_theirs(talk: Talk, clock: FrozenClock) -> None:
    incoming = Incoming(CHAT, Author(7, ANNA), "said elsewhere", clock.now(), "f:1", origin=Origin.FORWARDED)
    await talk.sessions.begin_turn(incoming, IDLE)

    await talk.index()

    assert [(turn.text, turn.origin) for turn in await talk.turns()] == [("said elsewhere", Origin.FORWARDED)]


async def test_a_conversation_that_goes_on_is_not_indexed(talk: Talk) -> None:
    turn = await talk.say("hello", "hi")

    assert await talk.indexing.index_closed() == 0

    assert await talk.stored() == 0
    assert await talk.state(turn.session.id) is SessionState.OPEN


async def test_refusals_and_erased_messages_are_left_out(talk: Talk) -> None:
    turn = await talk.say("keep this", "kept")
    await talk.sessions.discard(await talk.ask("how do I do harm?"), "I cannot help with that.")
    await talk.say("my PIN is 1234", "Noted.")
    secret = (await talk.memories.add(fact("my PIN is 1234"))).memory
    await talk.memories.purge(CHAT, [secret.id])

    await talk.index()

    assert await talk.texts() == ["keep this", "kept"]
    assert await talk.state(turn.session.id) is INDEXED


async def test_a_question_that_was_never_answered_is_indexed_all_the_same(talk: Talk) -> None:
    await talk.ask("are you there?")

    await talk.index()

    assert await talk.texts() == ["are you there?"]


async def test_a_conversation_without_a_word_left_is_done_with(talk: Talk) -> None:
    turn = await talk.say("my PIN is 1234", "Noted.")
    await talk.memories.purge_all(CHAT)

    assert await talk.index() == 1

    assert await talk.stored() == 0
    assert await talk.state(turn.session.id) is INDEXED


async def test_what_was_said_twice_and_is_a_fact_besides_is_there_three_times(talk: Talk) -> None:
    for _ in range(2):
        await talk.ask("I like tea")
    await talk.memories.add(fact("I like tea"))

    await talk.index()

    assert await talk.texts() == ["I like tea"] * 2
    assert await talk.memories.count(CHAT) == 1


async def test_each_chat_gets_its_own_turns(talk: Talk) -> None:
    await talk.ask("ours")
    await talk.ask("theirs", chat_id=OTHER_CHAT)

    assert await talk.index() == 2

    assert (await talk.texts(), await talk.texts(OTHER_CHAT)) == (["ours"], ["theirs"])


WORD = "слово "


@pytest.mark.parametrize(
    ("text", "indexed"),
    [
        ("short", "short"),
        ("x" * BEGINNING, "x" * BEGINNING),
        ("x" * (BEGINNING + 1), "x" * BEGINNING + "…"),
        (WORD * 200 + "конец", (WORD * (BEGINNING // 6)).strip() + "…"),
        ("ab" + WORD * 200, "ab" + (WORD * (BEGINNING // 6 - 1)).strip() + "…"),
        ("a" * BEGINNING + " b", "a" * BEGINNING + "…"),
        ("a" * (BEGINNING - 1) + " bc", "a" * (BEGINNING - 1) + "…"),
        ("look: " + "x" * 5_000, "look:…"),
        ("one\ntwo\n" + "x" * 5_000, "one\ntwo…"),
    ],
)
def test_the_beginning_of_a_long_message_ends_with_a_whole_word(text: str, indexed: str) -> None:
    assert beginning(text) == indexed


async def test_a_long_message_is_found_by_its_beginning_alone(talk: Talk) -> None:
    await talk.ask("лодка " + "слово " * 300 + "якорь")

    await talk.index()

    assert len(await having(talk.database, "лодк")) == 1
    assert await having(talk.database, "якор") == []


# Vectors


async def test_turns_are_stored_with_their_vectors(talk: Talk, database: Database) -> None:
    await talk.say("мою собаку зовут Бублик", "Запомнил!")

    await talk.index()

    async with database.read() as conn:
        stored = {row.memory_id: row for row in await conn.execute(sa.select(vectors))}
    for turn in await talk.turns():
        [expected] = await HashEmbedder().embed([turn.text], Purpose.PASSAGE)
        assert (stored[turn.id].chat_id, stored[turn.id].model_id) == (CHAT, "hash-1")
        assert np.frombuffer(stored[turn.id].vector, "<f4").tolist() == pytest.approx(expected.tolist())
    assert talk.news == 1


async def test_without_an_embedder_turns_are_stored_bare(talk: Talk, database: Database) -> None:
    await talk.say("мою собаку зовут Бублик", "Запомнил!")
    talk.embedder.failing = True

    assert await talk.index() == 1

    assert len(await having(talk.database, "бублик")) == 1
    assert await count(database, vectors) == 0
    assert talk.news == 1


async def test_one_run_embeds_so_many_and_stores_the_rest_bare(
    talk: Talk, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing_module, "EMBEDDED_IN_ONE_RUN", 3)
    for _ in range(2):
        await talk.say("question", "answer")
        await talk.end()

    assert await talk.indexing.index_closed() == 2

    assert (await talk.stored(), await count(database, vectors)) == (4, 3)


# Exactly once


async def test_indexing_again_after_a_restart_adds_nothing(talk: Talk) -> None:
    await talk.say("hello", "hi")
    await talk.index()

    assert await talk.another().index_closed() == 0

    assert await talk.texts() == ["hello", "hi"]
    assert talk.news == 1


async def test_a_long_backlog_is_indexed_in_one_run_the_oldest_first(talk: Talk) -> None:
    for number in range(30):
        await talk.ask(f"conversation {number}")
        await talk.end()

    assert await talk.indexing.index_closed() == 30

    assert await talk.texts() == [f"conversation {number}" for number in range(30)]


async def test_of_two_processes_one_indexes_a_conversation(talk: Talk) -> None:
    await talk.say("hello", "hi")
    await talk.end()

    done = await asyncio.gather(*(talk.another().index_closed() for _ in range(3)))

    assert sorted(done) == [0, 0, 1]
    assert await talk.texts() == ["hello", "hi"]


class Killed(BaseException):
    """What a power cut is to a transaction."""


async def test_cut_off_at_any_statement_it_leaves_everything_or_nothing(
    talk: Talk, database: Database
) -> None:
    left = 0

    def count_down(*_: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed

    cut_off = 0
    sync_engine = database._engine.sync_engine
    sa.event.listen(sync_engine, "before_cursor_execute", count_down)
    for statement in range(1, 100):
        left = 0
        turn = await talk.say("hello", "hi", chat_id=statement)
        await talk.end()
        left = statement
        try:
            await talk.another().index_closed()
        except Killed:
            cut_off += 1
        survived = left > 0
        left = 0
        state, stored = await talk.state(turn.session.id), await talk.stored(statement)
        assert (state, stored) in ((CLOSED, 0), (INDEXED, 2))
        await talk.another().index_closed()
        assert await talk.texts(statement) == ["hello", "hi"]
        if survived:
            break

    assert survived
    assert cut_off > 10


async def test_stopped_at_any_moment_it_leaves_everything_or_nothing_and_counts_no_try(talk: Talk) -> None:
    for chat_id in range(1, 12):
        turn = await talk.say("hello", "hi", chat_id=chat_id)
        await talk.end()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(talk.another().index_closed())
            for _ in range(2 * chat_id):
                await asyncio.sleep(0)
            running.cancel()

        state, stored = await talk.state(turn.session.id), await talk.stored(chat_id)
        assert (state, stored) in ((CLOSED, 0), (INDEXED, 2))
        assert await tries(talk, turn.session.id) == 0
        await talk.another().index_closed()
        assert await talk.texts(chat_id) == ["hello", "hi"]


# What goes wrong


async def test_a_conversation_that_fails_does_not_stop_the_next_one(talk: Talk) -> None:
    bad = await talk.ask("poison")
    await talk.end()
    await talk.ask("wholesome")
    await talk.end()

    with pytest.raises(ValueError, match="poison"):
        await talk.another(Choking()).index_closed()

    assert await talk.texts() == ["wholesome"]
    assert await talk.state(bad.session.id) is CLOSED


async def test_a_conversation_that_always_fails_is_given_up(talk: Talk) -> None:
    bad = await talk.ask("poison")
    await talk.end()
    for _ in range(MAX_TRIES):
        with pytest.raises(ValueError, match="poison"):
            await talk.another(Choking()).index_closed()

    assert await talk.another(Choking()).index_closed() == 0

    assert await talk.state(bad.session.id) is FAILED
    assert await talk.indexing.index_closed() == 0


async def test_one_that_ends_the_process_each_time_is_given_up_as_well(talk: Talk) -> None:
    async def die() -> None:
        raise Killed

    bad = await talk.ask("poison")
    await talk.end()
    for _ in range(MAX_TRIES):
        with pytest.raises(Killed):
            await talk.another(Meanwhile(die)).index_closed()

    assert await talk.indexing.index_closed() == 0
    assert await talk.state(bad.session.id) is FAILED


async def test_a_database_that_is_away_is_no_fault_of_the_conversation(talk: Talk) -> None:
    async def goes_away() -> None:
        raise StorageError("The database is away.")

    turn = await talk.ask("hello")
    await talk.end()
    for _ in range(MAX_TRIES + 1):
        with pytest.raises(StorageError):
            await talk.another(Meanwhile(goes_away)).index_closed()

    assert await talk.indexing.index_closed() == 1
    assert await talk.state(turn.session.id) is INDEXED


# What happens meanwhile


async def test_a_conversation_that_tells_of_something_forgotten_waits_for_the_undo(
    talk: Talk, clock: FrozenClock
) -> None:
    turn = await talk.say("my dog is called Biscuit", "Noted.")
    dog = (await talk.memories.add(fact("Anna's dog: Biscuit", message_ids=(turn.message.id,)))).memory
    await talk.end()
    until = clock.now() + timedelta(minutes=10)
    await talk.memories.hide(CHAT, [dog.id], until)

    assert await talk.indexing.index_closed() == 0
    assert await talk.state(turn.session.id) is CLOSED
    assert await tries(talk, turn.session.id) == 0

    await talk.memories.unhide(CHAT, until)
    assert await talk.indexing.index_closed() == 1
    assert await talk.texts() == ["my dog is called Biscuit", "Noted."]


async def test_or_for_the_purge(talk: Talk, clock: FrozenClock) -> None:
    turn = await talk.say("my dog is called Biscuit", "Noted.")
    await talk.say("the weather is fine", "It is.")
    dog = (await talk.memories.add(fact("Anna's dog: Biscuit", message_ids=(turn.message.id,)))).memory
    await talk.memories.hide(CHAT, [dog.id], clock.now())
    assert await talk.index() == 0

    await talk.memories.purge_due(clock.now())

    assert await talk.indexing.index_closed() == 1
    assert await talk.texts() == ["the weather is fine", "It is."]


async def test_other_conversations_do_not_wait_for_a_forget(talk: Talk, clock: FrozenClock) -> None:
    told = await talk.say("my dog is called Biscuit", "Noted.")
    dog = (await talk.memories.add(fact("Anna's dog: Biscuit", message_ids=(told.message.id,)))).memory
    await talk.end()
    await talk.say("the weather is fine", "It is.")
    await talk.memories.hide(CHAT, [dog.id], clock.now() + timedelta(days=1))

    assert await talk.index() == 1
    assert await talk.texts() == ["the weather is fine", "It is."]


async def test_while_everything_is_being_forgotten_nothing_of_it_is_indexed(
    talk: Talk, clock: FrozenClock
) -> None:
    await talk.say("my secret diagnosis", "I see.")
    await talk.memories.hide_all(CHAT, clock.now() + timedelta(days=1))
    assert await talk.index() == 0

    await talk.ask("after that")

    assert await talk.index() == 1
    assert await talk.texts() == ["after that"]


@pytest.mark.parametrize("how", ["hide", "purge", "hide_all", "purge_all"])
async def test_what_is_forgotten_while_it_is_being_embedded_is_not_stored(
    talk: Talk, clock: FrozenClock, how: str
) -> None:
    turn = await talk.say("my dog is called Biscuit", "Noted.")
    dog = (await talk.memories.add(fact("Anna's dog: Biscuit", message_ids=(turn.message.id,)))).memory
    await talk.end()
    until = clock.now() + timedelta(minutes=10)
    forget: dict[str, Callable[[], Awaitable[object]]] = {
        "hide": lambda: talk.memories.hide(CHAT, [dog.id], until),
        "purge": lambda: talk.memories.purge(CHAT, [dog.id]),
        "hide_all": lambda: talk.memories.hide_all(CHAT, until),
        "purge_all": lambda: talk.memories.purge_all(CHAT),
    }

    await talk.another(Meanwhile(forget[how])).index_closed()

    assert await talk.stored() == 0
    assert await tries(talk, turn.session.id) == 0
    await talk.memories.purge_due(until)
    assert await talk.indexing.index_closed() == int(how.startswith("hide"))
    assert await talk.stored() == 0
    assert await talk.state(turn.session.id) is INDEXED


async def test_an_answer_that_comes_after_the_indexing_is_indexed_later(talk: Talk) -> None:
    await talk.say("one", "1")
    late = await talk.ask("two")
    await talk.index()
    assert await talk.texts() == ["one", "1", "two"]

    await talk.sessions.finish_turn(late, "2")

    assert await talk.indexing.index_closed() == 1
    assert await talk.texts() == ["one", "1", "two", "2"]
    assert await talk.state(late.session.id) is INDEXED


async def test_an_answer_that_comes_while_its_conversation_is_indexed_is_not_lost(
    talk: Talk, database: Database
) -> None:
    late = await talk.ask("two")
    await talk.end()

    answers = talk.another(Meanwhile(lambda: talk.sessions.finish_turn(late, "2")))
    assert await answers.index_closed() == 1

    assert await talk.texts() == ["two", "2"]
    assert await count(database, vectors) == 1  # the follower makes the other one


async def test_an_answer_that_is_being_stored_and_the_indexing_do_not_wait_for_each_other(
    tmp_path: Path, server: str, clock: FrozenClock
) -> None:
    database = await open_database(tmp_path, server, clock=clock)
    talk = Talk(database, clock)
    late = await talk.ask("two")
    await talk.end()

    async with asyncio.timeout(10), database.write() as conn:
        assert not await _is_forgotten(conn, late.message, ())  # locks the question, as an answer does
        assert await talk.indexing.index_closed() == 1

    await database.close()


async def test_a_question_that_is_refused_after_the_indexing_loses_its_turn(
    talk: Talk, database: Database
) -> None:
    await talk.say("one", "1")
    late = await talk.ask("how do I do harm?")
    await talk.index()

    await talk.sessions.discard(late, "I cannot help with that.")
    await talk.indexing.index_closed()

    assert await talk.texts() == ["one", "1"]
    assert await talk.stored() == 2
    assert await count(database, sources) == 2


async def test_a_conversation_from_an_export_is_indexed_where_it_arrives(
    talk: Talk, database: Database
) -> None:
    await talk.say("мою собаку зовут Бублик", "Запомнил!")
    await talk.index()
    exported = await export_chat(database, CHAT)
    assert exported["memories"] == []

    assert await import_chat(database, OTHER_CHAT, exported) == 0
    assert await talk.indexing.index_closed() == 1

    assert await talk.texts(OTHER_CHAT) == await talk.texts()
    assert await import_chat(database, OTHER_CHAT, exported) == 0
    assert await talk.indexing.index_closed() == 0


async def test_messages_that_an_import_brings_into_an_indexed_conversation_are_indexed(
    talk: Talk, database: Database
) -> None:
    await talk.say("one", "1")
    await talk.say("two", "2")
    await talk.index()
    whole = await export_chat(database, CHAT)
    part = {**whole, "messages": whole["messages"][:2]}
    await import_chat(database, OTHER_CHAT, part)
    await talk.indexing.index_closed()
    assert await talk.texts(OTHER_CHAT) == ["one", "1"]

    await import_chat(database, OTHER_CHAT, whole)

    assert await talk.indexing.index_closed() == 1
    assert await talk.texts(OTHER_CHAT) == ["one", "1", "two", "2"]


async def test_a_conversation_of_a_thousand_messages_is_indexed_whole(talk: Talk, database: Database) -> None:
    first = await talk.ask("message 0")
    exported = await export_chat(database, CHAT)
    [pattern] = exported["messages"]
    exported["messages"] = [
        pattern | {"id": number, "source": f"m:{number}", "text": f"message {number} about things"}
        for number in range(1_000)
    ]
    await import_chat(database, OTHER_CHAT, exported)

    assert await talk.indexing.index_closed() == 1

    assert await talk.texts(OTHER_CHAT) == [f"message {number} about things" for number in range(1_000)]
    assert len(await having(talk.database, "777", chat_id=OTHER_CHAT)) == 1
    assert await count(database, vectors) == 1_000
    assert await count(database, words) == 3_000
    assert await talk.state(first.session.id) is SessionState.OPEN


async def count(database: Database, table: sa.Table) -> int:
    async with database.read() as conn:
        found: int = (await conn.execute(sa.select(sa.func.count()).select_from(table))).scalar_one()
    return found


async def tries(talk: Talk, session_id: int) -> int:
    query = sa.select(session_rows.c.attempts).where(session_rows.c.id == session_id)
    async with talk.database.read() as conn:
        return int((await conn.execute(query)).scalar_one())
