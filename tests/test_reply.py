"""An answer appears while it is written, ends in one place, and a restart goes on where it was."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from aiogram import Bot

from bot.background import Background
from bot.notices import Notices
from handlers.gate import Gate
from handlers.refusals import ChatBlocked
from handlers.reply import Pace, TelegramReply
from handlers.requests import Outgoing
from handlers.sent import SentParts, on_its_way
from handlers.split import Part
from memory.database import Database, open_database
from memory.sessions import Sessions
from memory.types import Author, Incoming
from tests.fakes.clock import NOON, FrozenClock
from tests.fakes.telegram import (
    Chat,
    FakeTelegram,
    Fault,
    bad_gateway,
    forbidden,
    hang,
    reset,
    server_error,
    slow,
    too_many_requests,
)
from tests.telegram_app import ANNA, BORIS, CHANNEL, FAST, bot_for

pytest_plugins = ("tests.telegram_fixtures",)


SOURCE = f"{CHANNEL}:1"
EMPTY = "(nothing)"
HASTE = 20
"""So much faster than on the clock runs the time in which the gate keeps its pace."""


@pytest.fixture
async def tg() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as fake:
        yield fake


@pytest.fixture
async def bot(tg: FakeTelegram) -> AsyncIterator[Bot]:
    bot = bot_for(tg)
    yield bot
    await bot.session.close()


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    background = Background()
    yield background
    await background.close()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await open_database(tmp_path, clock=FrozenClock())
    yield database
    await database.close()


@pytest.fixture
async def sessions(database: Database) -> Sessions:
    """With the question that the answers belong to."""
    sessions = Sessions(database, FrozenClock())
    await sessions.begin_turn(question(SOURCE), timedelta(minutes=5))
    return sessions


@pytest.fixture
def notices(database: Database) -> Notices:
    return Notices(database, CHANNEL)


def question(source: str) -> Incoming:
    return Incoming(ANNA, Author(ANNA, "Anna"), "What?", NOON, source)


def now() -> float:
    return time.monotonic() * HASTE


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds / HASTE)


class Replies:
    """Opens replies to the one question, each as a process that has just started would."""

    def __init__(self, bot: Bot, sessions: Sessions, notices: Notices, background: Background) -> None:
        self._bot = bot
        self._sessions = sessions
        self._notices = notices
        self._background = background
        self.question_id = 1

    def open(self, pace: Pace = FAST) -> TelegramReply:
        return TelegramReply(
            Gate(self._bot, call_seconds=1, now=now, sleep=sleep),
            SentParts(self._sessions, self._notices, ANNA, SOURCE),
            self._background.start,
            chat_id=ANNA,
            question_id=self.question_id,
            empty=EMPTY,
            pace=pace,
        )


@pytest.fixture
def replies(bot: Bot, sessions: Sessions, notices: Notices, background: Background) -> Replies:
    return Replies(bot, sessions, notices, background)


def texts(chat: Chat) -> list[str]:
    return [message.text for message in chat.visible]


async def test_a_short_answer_is_one_message(tg: FakeTelegram, chat: Chat, replies: Replies) -> None:
    async with replies.open(Pace()) as reply:
        await reply.write("Your dog")
        await reply.finish("Your dog is called **Biscuit**.")

    [message] = chat.visible
    assert message.text == "Your dog is called Biscuit."
    assert [entity["type"] for entity in message.entities] == ["bold"]
    assert not tg.calls_of("editMessageText")


async def test_a_long_answer_grows_in_one_message_and_ends_formatted(chat: Chat, replies: Replies) -> None:
    async with replies.open() as reply:
        await reply.write("Your **dog")
        await chat.wait_for(lambda seen: seen)
        await reply.write("Your **dog** is")
        await chat.wait_for(lambda seen: seen[0].text == "Your dog is")
        assert not chat.visible[0].entities
        await reply.finish("Your **dog** is called Biscuit.")

    [message] = chat.visible
    assert message.text == "Your dog is called Biscuit."
    assert [entity["type"] for entity in message.entities] == ["bold"]


async def test_an_answer_without_formats_that_stands_already_is_not_edited_again(
    tg: FakeTelegram, chat: Chat, replies: Replies
) -> None:
    async with replies.open() as reply:
        await reply.write("Plain.")
        await chat.wait_for(lambda seen: seen)
        await reply.finish("Plain.")

    assert texts(chat) == ["Plain."]
    assert not tg.calls_of("editMessageText")


async def test_what_is_too_long_goes_on_in_further_messages(chat: Chat, replies: Replies) -> None:
    words = " ".join(f"word{n}" for n in range(1500))
    async with replies.open() as reply:
        await reply.write(words[:6000])
        await chat.wait_for(lambda seen: len(seen) == 2)
        await reply.finish(words)

    assert " ".join(texts(chat)) == words


async def test_messages_beyond_the_final_answer_are_taken_back(
    chat: Chat, replies: Replies, sessions: Sessions
) -> None:
    async with replies.open() as reply:
        await reply.write("word " * 1500)
        await chat.wait_for(lambda seen: len(seen) == 2)
        await reply.finish("Short after all.")

    assert texts(chat) == ["Short after all."]
    assert await sessions.outgoing(ANNA, 1) == [chat.visible[0].message_id]


async def test_an_empty_answer_is_a_sentence(chat: Chat, replies: Replies) -> None:
    async with replies.open() as reply:
        await reply.finish("  ")

    assert texts(chat) == [EMPTY]


async def test_after_a_crash_the_visible_message_becomes_the_answer(chat: Chat, replies: Replies) -> None:
    async with replies.open() as first:
        await first.write("Half an ans")
        await chat.wait_for(lambda seen: seen)

    async with replies.open() as second:
        await second.write("Another beginning")
        await chat.wait_for(lambda seen: seen[0].text == "Another beginning")
        await second.finish("The whole answer.")

    assert texts(chat) == ["The whole answer."]


async def test_an_answer_that_was_delivered_can_be_delivered_again_without_a_trace(
    chat: Chat, replies: Replies
) -> None:
    answer = "**One** answer. " + "word " * 1500
    for _ in range(2):
        async with replies.open() as reply:
            await reply.finish(answer)

    assert len(chat.visible) == 2
    assert not any(message.earlier for message in chat.visible)


async def test_a_preview_that_the_person_deleted_does_not_take_the_answer_with_it(
    tg: FakeTelegram, chat: Chat, replies: Replies
) -> None:
    async with replies.open() as reply:
        await reply.write("Soon gone")
        [message] = await chat.wait_for(lambda seen: seen)
        message.deleted = True
        await reply.finish("Still here.")

    assert texts(chat) == ["Still here."]


@pytest.mark.parametrize("fault", [hang(applied=True), hang(applied=False), reset(applied=True), reset()])
async def test_an_unanswered_send_of_the_whole_answer_ends_with_one_message(
    tg: FakeTelegram, chat: Chat, replies: Replies, sessions: Sessions, fault: Fault
) -> None:
    replies.question_id = (await chat.send("What?")).message_id
    tg.fail("sendMessage", fault)

    async with replies.open() as reply:
        await reply.finish("**Once**.")

    assert texts(chat) == ["Once."]
    assert await sessions.outgoing(ANNA, 1) == [chat.visible[0].message_id]


@pytest.mark.parametrize("applied", [True, False])
async def test_an_unanswered_preview_becomes_the_answer(
    tg: FakeTelegram, chat: Chat, replies: Replies, applied: bool
) -> None:
    replies.question_id = (await chat.send("What?")).message_id
    tg.fail("sendMessage", hang(applied=applied))

    async with replies.open() as reply:
        await reply.write("Beginning")
        await tg.wait_call("sendMessage")
        await reply.finish("Beginning and end.")

    assert texts(chat) == ["Beginning and end."]


@pytest.mark.parametrize("fault", [hang(applied=False), reset(), bad_gateway()])
async def test_an_answer_is_sent_until_it_has_arrived(
    tg: FakeTelegram, chat: Chat, replies: Replies, sessions: Sessions, fault: Fault
) -> None:
    tg.fail("sendMessage", fault, times=3)

    async with replies.open() as reply:
        await reply.finish("At last.")

    assert texts(chat) == ["At last."]
    assert await sessions.outgoing(ANNA, 1) == [chat.visible[0].message_id]


async def test_a_message_that_a_killed_process_was_sending_becomes_the_answer(
    tg: FakeTelegram, chat: Chat, replies: Replies, bot: Bot, sessions: Sessions
) -> None:
    replies.question_id = (await chat.send("What?")).message_id
    await chat.send("Something else")
    await sessions.record_outgoing(ANNA, 1, 0, on_its_way(replies.question_id))
    await Gate(bot).send(Outgoing(ANNA, Part("Half an ans")))

    async with replies.open() as reply:
        await reply.finish("The whole answer.")

    assert texts(chat) == ["The whole answer."]


async def test_what_may_have_arrived_is_not_looked_for_before_the_answer_is_complete(
    tg: FakeTelegram, chat: Chat, replies: Replies, sessions: Sessions
) -> None:
    replies.question_id = (await chat.send("What?")).message_id
    await sessions.record_outgoing(ANNA, 1, 0, on_its_way(replies.question_id))

    async with replies.open() as reply:
        await reply.write("The")
        await tg.wait_call("sendChatAction", count=3)
        assert not tg.calls_of("editMessageText", "sendMessage")
        await reply.finish("The whole answer.")

    assert texts(chat) == ["The whole answer."]


async def test_the_answer_to_another_question_is_not_taken_for_a_message_that_was_being_sent(
    tg: FakeTelegram, chat: Chat, replies: Replies, bot: Bot, sessions: Sessions
) -> None:
    replies.question_id = (await chat.send("What?")).message_id
    other = await sessions.begin_turn(question(f"{CHANNEL}:7"), timedelta(minutes=5))
    answer = await Gate(bot).send(Outgoing(ANNA, Part("Another answer.")))
    await sessions.record_outgoing(ANNA, other.message.id, 0, answer)
    await sessions.record_outgoing(ANNA, 1, 0, on_its_way(replies.question_id))

    async with replies.open() as reply:
        await reply.finish("The whole answer.")

    assert texts(chat) == ["Another answer.", "The whole answer."]


async def test_the_answer_to_a_command_is_not_taken_for_a_message_that_was_being_sent(
    tg: FakeTelegram, chat: Chat, replies: Replies, bot: Bot, sessions: Sessions, notices: Notices
) -> None:
    replies.question_id = (await chat.send("What?")).message_id
    for number in range(10):
        await Gate(bot, keep=notices.keep).tell(Outgoing(ANNA, Part(f"Help {number}")))
    await sessions.record_outgoing(ANNA, 1, 0, on_its_way(replies.question_id))
    await Gate(bot).send(Outgoing(ANNA, Part("Half an ans")))

    async with replies.open() as reply:
        await reply.finish("The whole answer.")

    assert texts(chat) == [*(f"Help {number}" for number in range(10)), "The whole answer."]


async def test_messages_of_other_chats_do_not_hide_a_message_that_was_being_sent(
    tg: FakeTelegram, chat: Chat, replies: Replies, bot: Bot, sessions: Sessions
) -> None:
    replies.question_id = (await chat.send("What?")).message_id
    await sessions.record_outgoing(ANNA, 1, 0, on_its_way(replies.question_id))
    boris = tg.private_chat(BORIS)
    for number in range(10):
        asked = await boris.send("What?")
        incoming = Incoming(BORIS, Author(BORIS, "B."), "?", NOON, f"{CHANNEL}:{asked.message_id}")
        turn = await sessions.begin_turn(incoming, timedelta(minutes=5))
        answer = await Gate(bot).send(Outgoing(BORIS, Part(f"Answer {number}")))
        await sessions.record_outgoing(BORIS, turn.message.id, 0, answer)
    await Gate(bot).send(Outgoing(ANNA, Part("Half an ans")))

    async with replies.open() as reply:
        await reply.finish("The whole answer.")

    assert texts(chat) == ["The whole answer."]


async def test_a_message_that_a_killed_process_never_sent_is_sent(
    tg: FakeTelegram, chat: Chat, replies: Replies, sessions: Sessions
) -> None:
    replies.question_id = (await chat.send("What?")).message_id
    await chat.send("Something else")
    await sessions.record_outgoing(ANNA, 1, 0, on_its_way(replies.question_id))

    async with replies.open() as reply:
        await reply.finish("The whole answer.")

    assert texts(chat) == ["The whole answer."]


async def test_flood_control_in_the_middle_costs_previews_and_not_the_answer(
    tg: FakeTelegram, chat: Chat, replies: Replies
) -> None:
    async with replies.open() as reply:
        await reply.write("One")
        await chat.wait_for(lambda seen: seen)
        tg.fail("editMessageText", too_many_requests(1))
        for number in range(20):
            await reply.write(f"One {number}")
            await asyncio.sleep(0)
        await tg.wait_call("editMessageText")
        await reply.finish("The end.")

    assert texts(chat) == ["The end."]


async def test_typing_is_shown_until_the_answer_is_there_whatever_happens_to_it(
    tg: FakeTelegram, chat: Chat, replies: Replies
) -> None:
    tg.fail("sendChatAction", server_error())
    tg.fail("sendChatAction", slow(0.3))

    async with replies.open():
        await tg.wait_call("sendChatAction", count=4)

    calls = len(tg.calls_of("sendChatAction"))
    async with replies.open() as reply:
        await reply.finish("Done.")
    assert len(tg.calls_of("sendChatAction")) <= calls + 1


async def test_a_hanging_sign_of_typing_does_not_delay_the_answer(
    tg: FakeTelegram, chat: Chat, replies: Replies
) -> None:
    tg.fail("sendChatAction", hang(), times=None)

    async with replies.open() as reply:
        await tg.wait_call("sendChatAction")
        await asyncio.wait_for(reply.finish("At once."), timeout=0.8)

    assert texts(chat) == ["At once."]


async def test_a_late_preview_never_overwrites_the_answer(
    tg: FakeTelegram, chat: Chat, replies: Replies
) -> None:
    async with replies.open() as reply:
        await reply.write("One")
        await chat.wait_for(lambda seen: seen)
        tg.fail("editMessageText", slow(0.5))
        await reply.write("One two")
        await tg.wait_call("editMessageText")
        await reply.finish("One two three.")

    await asyncio.wait_for(tg.wait_call("editMessageText", count=2), 5)
    assert texts(chat) == ["One two three."]


async def test_a_person_who_blocked_the_bot_ends_the_turn(
    tg: FakeTelegram, chat: Chat, replies: Replies
) -> None:
    tg.fail("sendMessage", forbidden(), times=None)

    async with replies.open() as reply:
        await reply.write("Hello")
        with pytest.raises(ChatBlocked):
            await reply.finish("Hello.")

    assert texts(chat) == []


async def test_telegram_refuses_nothing(tg: FakeTelegram, chat: Chat, replies: Replies) -> None:
    answer = (
        "# T\n\n> q\n\n```py\nx\n```\n\n| a | b |\n|---|---|\n| <x> | 2 |\n\n"
        "- **b `c`** [l](https://e.org) \ud800\x00"
    )

    async with replies.open() as reply:
        for length in range(1, len(answer), 7):
            await reply.write(answer[:length])
            await asyncio.sleep(0.01)
        await reply.finish(answer)

    assert not tg.refusals
