"""Conversations: each message stored once, each question answered once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from memory.database import Database
from memory.sessions import Sessions, Turn
from memory.tables import messages
from memory.tables import sessions as sessions_table
from memory.types import Author, Incoming, Message, Origin, Role, Session, SessionState
from memory.usage import Usage, UsageLog
from tests.fakes.clock import NOON, FrozenClock

IDLE = timedelta(minutes=30)
CHAT = -1_001_234_567_890
ANNA = Author(7_000_000_001, "Анна")


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def sessions(database: Database, clock: FrozenClock) -> Sessions:
    return Sessions(database, clock)


def says(text: str, source: str = "", *, chat_id: int = CHAT, thread_id: int = 0) -> Incoming:
    return Incoming(chat_id, ANNA, text, NOON, source or f"m:{text}", thread_id)


async def answered(sessions: Sessions, incoming: Incoming, answer: str) -> Turn:
    turn = await sessions.begin_turn(incoming, IDLE)
    await sessions.finish_turn(turn, answer)
    return turn


async def texts(sessions: Sessions, session: Session, before_id: int = 2**31, step: int = 40) -> list[str]:
    return [
        message.text
        for message in await sessions.history(session.chat_id, session.id, before_id=before_id, step=step)
    ]


async def erase(database: Database, message_id: int) -> None:
    async with database.write() as conn:
        await conn.execute(sa.update(messages).where(messages.c.id == message_id).values(text=""))


# Beginning a turn


async def test_a_first_message_opens_a_session_and_is_stored_as_it_was_said(sessions: Sessions) -> None:
    turn = await sessions.begin_turn(replace(says("привет"), origin=Origin.FORWARDED), IDLE)

    assert turn.session == Session(turn.session.id, CHAT, 0, SessionState.OPEN, NOON, NOON)
    assert turn.message == Message(
        id=turn.message.id,
        chat_id=CHAT,
        session_id=turn.session.id,
        role=Role.USER,
        text="привет",
        sent_at=NOON,
        source="m:привет",
        speaker="Анна",
        speaker_id=ANNA.id,
        origin=Origin.FORWARDED,
    )
    assert turn.answer is None
    assert not turn.resumed


async def test_the_same_message_again_is_the_same_turn(sessions: Sessions) -> None:
    first = await sessions.begin_turn(says("hi"), IDLE)

    again = await sessions.begin_turn(replace(says("hi"), text="edited meanwhile"), IDLE)

    assert again == replace(first, resumed=True)


async def test_the_same_message_after_its_answer_brings_the_answer(
    sessions: Sessions, clock: FrozenClock
) -> None:
    turn = await answered(sessions, says("hi"), "hello")
    clock.advance(days=3)

    again = await sessions.begin_turn(says("hi"), IDLE)

    assert again.message == turn.message
    assert again.session.id == turn.session.id
    assert again.answer is not None
    assert (again.answer.text, again.answer.delivered) == ("hello", False)


async def test_a_stored_message_is_found_by_its_source_within_its_chat(sessions: Sessions) -> None:
    turn = await sessions.begin_turn(says("hi"), IDLE)

    assert await sessions.message_by_source(CHAT, turn.message.source) == turn.message
    assert await sessions.message_by_source(2, turn.message.source) is None
    assert await sessions.message_by_source(CHAT, "m:never") is None


async def test_the_same_source_in_another_chat_is_another_message(sessions: Sessions) -> None:
    one = await sessions.begin_turn(says("hi"), IDLE)

    other = await sessions.begin_turn(says("hi", chat_id=2), IDLE)

    assert other.message.id != one.message.id
    assert other.session.id != one.session.id


async def test_one_message_delivered_twice_at_once_is_stored_once(sessions: Sessions) -> None:
    turns = await asyncio.gather(*(sessions.begin_turn(says("hi"), IDLE) for _ in range(4)))

    assert len({turn.message.id for turn in turns}) == 1
    assert sum(not turn.resumed for turn in turns) == 1


async def test_first_messages_of_a_thread_that_come_at_once_share_a_session(sessions: Sessions) -> None:
    turns = await asyncio.gather(*(sessions.begin_turn(says(f"hi {n}"), IDLE) for n in range(4)))

    assert len({turn.session.id for turn in turns}) == 1


async def test_text_that_no_database_takes_is_cleaned(sessions: Sessions) -> None:
    turn = await sessions.begin_turn(says("a\x00b\ud83d", "m:1"), IDLE)
    answer = await sessions.finish_turn(turn, "c\x00d\ud83d")

    assert turn.message.text.startswith("ab")
    assert answer.text.startswith("cd")


# Sessions begin and end


async def test_a_session_goes_on_until_the_silence_is_longer_than_idle(
    sessions: Sessions, clock: FrozenClock
) -> None:
    first = await sessions.begin_turn(says("one"), IDLE)
    clock.advance(IDLE)
    second = await sessions.begin_turn(says("two"), IDLE)
    clock.advance(IDLE, seconds=1)
    third = await sessions.begin_turn(says("three"), IDLE)

    assert second.session.id == first.session.id
    assert third.session.id != first.session.id
    old = await sessions.get(CHAT, first.session.id)
    assert old is not None
    assert old.state is SessionState.CLOSED


async def test_an_answer_keeps_the_session_awake(sessions: Sessions, clock: FrozenClock) -> None:
    turn = await sessions.begin_turn(says("one"), IDLE)
    clock.advance(minutes=20)
    await sessions.finish_turn(turn, "answer")
    clock.advance(minutes=20)

    assert (await sessions.begin_turn(says("two"), IDLE)).session.id == turn.session.id


async def test_each_thread_of_a_chat_has_its_own_session(sessions: Sessions) -> None:
    one = await sessions.begin_turn(says("one"), IDLE)

    other = await sessions.begin_turn(says("two", thread_id=5), IDLE)

    assert other.session.id != one.session.id
    assert other.session.thread_id == 5


async def test_a_closed_session_takes_no_new_message(sessions: Sessions) -> None:
    first = await sessions.begin_turn(says("one"), IDLE)

    closed = await sessions.close_session(CHAT, 0)

    assert closed == replace(first.session, state=SessionState.CLOSED)
    assert (await sessions.begin_turn(says("two"), IDLE)).session.id != first.session.id


async def test_there_is_nothing_to_close_in_a_thread_without_a_session(sessions: Sessions) -> None:
    await sessions.begin_turn(says("one"), IDLE)

    assert await sessions.close_session(CHAT, 5) is None
    assert await sessions.close_session(2, 0) is None


async def test_idle_sessions_of_every_chat_are_closed_and_the_others_stay(
    sessions: Sessions, clock: FrozenClock
) -> None:
    for chat_id in (1, 2):
        await sessions.begin_turn(says("old", chat_id=chat_id), IDLE)
    clock.advance(minutes=20)
    young = await sessions.begin_turn(says("young", chat_id=3), IDLE)
    clock.advance(minutes=11)

    assert await sessions.close_idle(IDLE) == 2
    assert await sessions.close_idle(IDLE) == 0

    assert await sessions.get(3, young.session.id) == young.session


async def test_sessions_are_listed_newest_first_within_their_chat(
    sessions: Sessions, clock: FrozenClock
) -> None:
    ids = []
    for text in ("one", "two", "three"):
        ids.append((await sessions.begin_turn(says(text), IDLE)).session.id)
        clock.advance(hours=1)
    other = await sessions.begin_turn(says("other", chat_id=2), IDLE)

    assert [session.id for session in await sessions.recent(CHAT, limit=2)] == ids[:0:-1]
    assert [session.id for session in await sessions.recent(CHAT, limit=2, offset=2)] == ids[:1]
    assert await sessions.get(CHAT, other.session.id) is None


# Finishing a turn


async def test_an_answer_is_stored_with_the_question_it_belongs_to(
    sessions: Sessions, clock: FrozenClock
) -> None:
    turn = await sessions.begin_turn(says("hi"), IDLE)
    later = clock.advance(seconds=5)

    answer = await sessions.finish_turn(turn, "hello", 3)

    assert answer == Message(
        id=answer.id,
        chat_id=CHAT,
        session_id=turn.session.id,
        role=Role.ASSISTANT,
        text="hello",
        sent_at=later,
        source=f"answer:{turn.message.id}",
        origin=Origin.ASSISTANT,
        tokens=3,
        reply_to=turn.message.id,
    )
    session = await sessions.get(CHAT, turn.session.id)
    assert session is not None
    assert session.last_at == later


async def test_a_second_answer_to_a_question_is_not_stored_nor_paid_for(
    sessions: Sessions, database: Database
) -> None:
    turn = await sessions.begin_turn(says("hi"), IDLE)
    cost = [Usage("sonnet", 10, cost_usd=0.5)]
    first = await sessions.finish_turn(turn, "first", usage=cost)

    second = await sessions.finish_turn(turn, "second", usage=cost)

    assert second == first
    assert (await UsageLog(database).totals(CHAT)).calls == 1


async def test_of_two_answers_at_once_one_is_stored_and_both_see_it(sessions: Sessions) -> None:
    turn = await sessions.begin_turn(says("hi"), IDLE)

    one, other = await asyncio.gather(*(sessions.finish_turn(turn, text) for text in ("one", "other")))

    assert one == other


async def test_the_cost_of_a_turn_is_in_the_account_of_its_chat(
    sessions: Sessions, database: Database
) -> None:
    turn = await sessions.begin_turn(says("hi"), IDLE)

    await sessions.finish_turn(turn, "hello", usage=[Usage("a", 1), Usage("b", 2)])

    assert (await UsageLog(database).totals(CHAT)).input_tokens == 3


async def test_an_answer_is_delivered_when_it_was_said_to_be(sessions: Sessions) -> None:
    turn = await sessions.begin_turn(says("hi"), IDLE)
    answer = await sessions.finish_turn(turn, "hello")

    await sessions.mark_delivered(2, answer.id)
    assert (await sessions.begin_turn(says("hi"), IDLE)).answer == answer
    await sessions.mark_delivered(CHAT, answer.id)
    assert (await sessions.begin_turn(says("hi"), IDLE)).answer == replace(answer, delivered=True)


async def test_the_answer_to_a_question_that_was_forgotten_meanwhile_leaves_no_text(
    sessions: Sessions, database: Database
) -> None:
    turn = await sessions.begin_turn(says("my PIN is 1234"), IDLE)
    await erase(database, turn.message.id)

    shown = await sessions.finish_turn(turn, "Noted: 1234")

    assert shown.text == "Noted: 1234"
    async with database.read() as conn:
        assert set((await conn.execute(sa.select(messages.c.text))).scalars()) == {""}


# What later prompts see


async def test_history_is_question_and_answer_in_turn_the_oldest_first(sessions: Sessions) -> None:
    await answered(sessions, says("one"), "1")
    turn = await answered(sessions, says("two"), "2")

    assert await texts(sessions, turn.session) == ["one", "1", "two", "2"]


async def test_history_pairs_each_question_with_its_own_answer_when_they_were_stored_crosswise(
    sessions: Sessions,
) -> None:
    first = await sessions.begin_turn(says("one"), IDLE)
    second = await sessions.begin_turn(says("two"), IDLE)
    await sessions.finish_turn(second, "2")
    await sessions.finish_turn(first, "1")

    assert await texts(sessions, first.session) == ["one", "1", "two", "2"]


async def test_history_ends_before_the_question_that_is_being_answered(sessions: Sessions) -> None:
    await answered(sessions, says("one"), "1")
    turn = await answered(sessions, says("two"), "2")

    assert await texts(sessions, turn.session, before_id=turn.message.id) == ["one", "1"]


async def test_history_leaves_out_questions_without_an_answer(sessions: Sessions) -> None:
    await answered(sessions, says("one"), "1")
    turn = await sessions.begin_turn(says("stopped"), IDLE)

    assert await texts(sessions, turn.session) == ["one", "1"]


@pytest.mark.parametrize("side", ["question", "answer"])
async def test_history_leaves_out_a_turn_of_which_a_side_was_erased(
    sessions: Sessions, database: Database, side: str
) -> None:
    await answered(sessions, says("one"), "1")
    turn = await sessions.begin_turn(says("secret"), IDLE)
    answer = await sessions.finish_turn(turn, "2")

    await erase(database, turn.message.id if side == "question" else answer.id)

    assert await texts(sessions, turn.session) == ["one", "1"]


async def test_history_grows_to_twice_its_step_and_then_starts_one_step_later(sessions: Sessions) -> None:
    starts = []
    for number in range(9):
        turn = await answered(sessions, says(f"question {number}"), f"answer {number}")
        told = await texts(sessions, turn.session, step=4)
        assert told[-2:] == [f"question {number}", f"answer {number}"]
        starts.append(told[0])

    assert starts == [f"question {start}" for start in (0, 0, 0, 2, 2, 4, 4, 6, 6)]


async def test_history_is_that_of_one_session_and_one_chat(sessions: Sessions) -> None:
    turn = await answered(sessions, says("one"), "1")
    await sessions.close_session(CHAT, 0)
    later = await answered(sessions, says("two"), "2")

    assert await texts(sessions, later.session) == ["two", "2"]
    assert await texts(sessions, replace(turn.session, chat_id=2)) == []


# Refusals


async def test_a_discarded_turn_is_known_and_delivered_but_not_in_history(sessions: Sessions) -> None:
    turn = await sessions.begin_turn(says("bad"), IDLE)

    told = await sessions.discard(turn, "I cannot help with that.")

    assert await texts(sessions, turn.session) == []
    again = await sessions.begin_turn(says("bad"), IDLE)
    assert again.answer == told
    assert told.text == "I cannot help with that."


async def test_what_a_discarded_turn_cost_is_in_the_account(sessions: Sessions, database: Database) -> None:
    turn = await sessions.begin_turn(says("bad"), IDLE)

    await sessions.discard(turn, "No.", [Usage("sonnet", 5)])

    assert (await UsageLog(database).totals(CHAT)).input_tokens == 5


async def test_a_turn_that_was_discarded_cannot_be_finished_any_more(sessions: Sessions) -> None:
    turn = await sessions.begin_turn(says("bad"), IDLE)
    told = await sessions.discard(turn, "No.")

    assert await sessions.finish_turn(turn, "Sure, …") == told
    assert await texts(sessions, turn.session) == []


# What the messenger shows


async def test_the_parts_of_an_answer_are_found_in_their_order(sessions: Sessions) -> None:
    turn = await sessions.begin_turn(says("hi"), IDLE)

    await sessions.record_outgoing(CHAT, turn.message.id, 1, 502)
    await sessions.record_outgoing(CHAT, turn.message.id, 0, 501)

    assert await sessions.outgoing(CHAT, turn.message.id) == [501, 502]
    assert await sessions.outgoing(2, turn.message.id) == []


async def test_a_part_that_was_sent_anew_replaces_the_old_one(sessions: Sessions) -> None:
    turn = await sessions.begin_turn(says("hi"), IDLE)
    await sessions.record_outgoing(CHAT, turn.message.id, 0, 501)

    await sessions.record_outgoing(CHAT, turn.message.id, 0, 777)

    assert await sessions.outgoing(CHAT, turn.message.id) == [777]


async def test_parts_that_were_taken_back_are_cleared(sessions: Sessions) -> None:
    turn = await sessions.begin_turn(says("hi"), IDLE)
    for part in range(3):
        await sessions.record_outgoing(CHAT, turn.message.id, part, 500 + part)

    await sessions.clear_outgoing(2, turn.message.id)
    await sessions.clear_outgoing(CHAT, turn.message.id, from_part=1)
    assert await sessions.outgoing(CHAT, turn.message.id) == [500]
    await sessions.clear_outgoing(CHAT, turn.message.id)
    assert await sessions.outgoing(CHAT, turn.message.id) == []


async def test_a_turn_that_cannot_be_stored_whole_is_not_stored_at_all(
    sessions: Sessions, database: Database
) -> None:
    turn = await sessions.begin_turn(says("hi"), IDLE)
    broken = Usage(model="sonnet", purpose=None)  # type: ignore[arg-type]

    with pytest.raises(sa.exc.IntegrityError):
        await sessions.finish_turn(turn, "hello", usage=[broken])

    assert (await sessions.begin_turn(says("hi"), IDLE)).answer is None
    async with database.read() as conn:
        assert (await conn.execute(sa.select(sessions_table.c.last_at))).scalar_one() == NOON
