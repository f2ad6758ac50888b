"""Everything that goes out to Telegram: in order, at its pace, not lost and not twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiogram import Bot

from bot.config import Telegram
from handlers.connection import open_bot
from handlers.gate import Gate
from handlers.lane import ALL_BURST, ALL_PER_SECOND
from handlers.refusals import ChatBlocked, MessageGone, Unconfirmed
from handlers.requests import Outgoing
from handlers.split import Entity, Part
from tests.fakes.telegram import (
    Chat,
    FakeTelegram,
    Fault,
    RateLimit,
    bad_gateway,
    bad_request,
    forbidden,
    hang,
    reset,
    server_error,
    slow,
    too_many_requests,
)

CHAT = 5


class Time:
    """A monotonic clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.at = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
        await asyncio.sleep(0)


@pytest.fixture
async def tg() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as fake:
        yield fake


@pytest.fixture
def chat(tg: FakeTelegram) -> Chat:
    return tg.private_chat(CHAT)


@pytest.fixture
async def bot(tg: FakeTelegram) -> AsyncIterator[Bot]:
    bot = open_bot(Telegram.model_validate({"token": tg.token, "api_base": tg.url}))
    yield bot
    await bot.session.close()


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def gate(bot: Bot, time: Time) -> Gate:
    return Gate(bot, call_seconds=1, now=time.now, sleep=time.sleep)


def out(text: str, *entities: Entity) -> Outgoing:
    return Outgoing(CHAT, Part(text, entities))


def texts(chat: Chat) -> list[str]:
    return [message.text for message in chat.visible]


async def test_a_message_is_sent_with_its_formats_and_without_a_link_preview(
    tg: FakeTelegram, chat: Chat, gate: Gate
) -> None:
    number = await gate.send(out("so bold https://e.org", Entity("bold", 3, 4)))

    [message] = chat.visible
    assert (message.message_id, message.text) == (number, "so bold https://e.org")
    assert [dict(entity) for entity in message.entities] == [{"type": "bold", "offset": 3, "length": 4}]
    [call] = tg.calls_of("sendMessage")
    assert '"is_disabled": true' in call.params["link_preview_options"]


async def test_flood_control_is_waited_for_and_the_text_is_not_lost(
    tg: FakeTelegram, chat: Chat, gate: Gate, time: Time
) -> None:
    tg.fail("sendMessage", too_many_requests(20), times=2)

    await gate.send(out("the answer"))

    assert texts(chat) == ["the answer"]
    assert sum(time.slept) >= 40


async def test_while_telegram_says_wait_cosmetic_calls_are_shed(
    tg: FakeTelegram, chat: Chat, gate: Gate, time: Time
) -> None:
    number = await gate.send(out("one"))
    tg.fail("editMessageText", too_many_requests(30))
    assert not await gate.try_edit(out("two"), number)
    calls = len(tg.calls)

    assert not await gate.try_edit(out("three"), number)
    assert await gate.try_send(out("four")) is None
    await gate.typing(CHAT)

    assert len(tg.calls) == calls
    assert gate.slowness(CHAT) > 1
    await gate.edit(out("final"), number)
    assert texts(chat) == ["final"]
    assert sum(time.slept) >= 30
    assert gate.slowness(CHAT) == 1


async def test_a_chat_gets_a_few_messages_at_once_and_then_about_one_a_second(
    bot: Bot, tg: FakeTelegram, chat: Chat, gate: Gate, time: Time
) -> None:
    for number in range(8):
        await gate.send(out(f"{number}"))

    assert texts(chat) == [str(number) for number in range(8)]
    assert time.at - 1000 == pytest.approx(5, abs=0.1)


async def test_intermediate_edits_leave_room_for_the_final_text(chat: Chat, gate: Gate, time: Time) -> None:
    number = await gate.send(out("0"))
    for step in range(10):
        await gate.try_edit(out(f"preview {step}"), number)

    await gate.edit(out("final"), number)

    assert texts(chat) == ["final"]
    assert not time.slept


async def test_real_limits_of_telegram_are_never_hit(tg: FakeTelegram, chat: Chat, bot: Bot) -> None:
    tg.limit = RateLimit(seconds=1, burst=3)
    gate = Gate(bot)

    for number in range(5):
        await gate.send(out(f"{number}"))

    assert (tg.throttled, texts(chat)) == (0, ["0", "1", "2", "3", "4"])


async def test_an_unanswered_send_is_not_repeated(tg: FakeTelegram, chat: Chat, gate: Gate) -> None:
    tg.fail("sendMessage", hang(applied=True))

    with pytest.raises(Unconfirmed):
        await gate.send(out("once"))

    assert texts(chat) == ["once"]
    assert len(tg.calls_of("sendMessage")) == 1


async def test_a_send_whose_connection_breaks_is_not_repeated(
    tg: FakeTelegram, chat: Chat, gate: Gate
) -> None:
    tg.fail("sendMessage", reset(applied=True))

    with pytest.raises(Unconfirmed):
        await gate.send(out("once"))

    assert texts(chat) == ["once"]


async def test_an_unanswered_edit_is_repeated(tg: FakeTelegram, chat: Chat, gate: Gate) -> None:
    number = await gate.send(out("draft"))
    tg.fail("editMessageText", hang(applied=True))
    tg.fail("editMessageText", reset())

    await gate.edit(out("final"), number)

    assert texts(chat) == ["final"]


PAGES = ("<html>502 Bad Gateway</html>", "", '{"error": "busy"}', '{"ok": false}')


@pytest.mark.parametrize("page", PAGES)
async def test_a_gateways_page_says_nothing_about_the_call_so_a_send_is_not_repeated(
    tg: FakeTelegram, chat: Chat, gate: Gate, page: str
) -> None:
    tg.fail("sendMessage", bad_gateway(page, applied=True))

    with pytest.raises(Unconfirmed):
        await gate.send(out("once"))

    assert texts(chat) == ["once"]


@pytest.mark.parametrize("page", PAGES)
async def test_an_edit_is_repeated_after_a_gateways_page(
    tg: FakeTelegram, chat: Chat, gate: Gate, page: str
) -> None:
    number = await gate.send(out("draft"))
    tg.fail("editMessageText", bad_gateway(page), times=2)

    await gate.edit(out("final"), number)

    assert texts(chat) == ["final"]


@pytest.mark.parametrize("fault", [hang(applied=True), reset(), bad_gateway()])
async def test_what_had_better_come_twice_than_not_at_all_is_sent_again(
    tg: FakeTelegram, chat: Chat, gate: Gate, fault: Fault
) -> None:
    tg.fail("sendMessage", fault)

    number = await gate.tell(out("help"))

    assert set(texts(chat)) == {"help"}
    assert chat.visible[-1].message_id == number


async def test_what_was_told_is_noted(bot: Bot, chat: Chat) -> None:
    noted: list[tuple[int, int]] = []

    async def keep(chat_id: int, message_id: int) -> None:
        noted.append((chat_id, message_id))

    gate = Gate(bot, keep=keep)
    await gate.send(out("an answer"))
    number = await gate.tell(out("help"))

    assert noted == [(CHAT, number)]


@pytest.mark.parametrize("fault", [server_error(), server_error(503)])
async def test_a_send_that_telegram_failed_at_is_repeated_until_it_works(
    tg: FakeTelegram, chat: Chat, gate: Gate, fault: Fault
) -> None:
    tg.fail("sendMessage", fault, times=25)

    await gate.send(out("here"))

    assert texts(chat) == ["here"]


async def test_while_nothing_listens_a_send_waits_and_arrives_once(
    tg: FakeTelegram, chat: Chat, bot: Bot
) -> None:
    await tg.go_down()

    async def come_back(seconds: float) -> None:
        await tg.come_back()

    await Gate(bot, sleep=come_back).send(out("late"))

    assert texts(chat) == ["late"]


async def test_refused_formats_are_left_out(tg: FakeTelegram, chat: Chat, gate: Gate) -> None:
    tg.fail("sendMessage", bad_request("can't parse entities: ENTITY_BOUNDS_INVALID"))

    await gate.send(out("so bold", Entity("bold", 3, 4)))

    [message] = chat.visible
    assert (message.text, message.entities) == ("so bold", ())


async def test_a_missing_topic_is_left_out(tg: FakeTelegram, chat: Chat, gate: Gate) -> None:
    await gate.send(Outgoing(CHAT, Part("hello"), thread_id=77))

    [message] = chat.visible
    assert (message.text, message.thread_id) == ("hello", 0)


async def test_a_message_that_says_it_already_counts_as_edited(chat: Chat, gate: Gate, time: Time) -> None:
    number = await gate.send(out("same"))

    await gate.edit(out("same"), number)

    time.at += 5
    assert await gate.try_edit(out("same"), number)


async def test_a_message_that_is_gone_cannot_be_edited(chat: Chat, gate: Gate) -> None:
    number = await gate.send(out("soon gone"))
    await gate.delete(CHAT, number)
    await gate.delete(CHAT, number)

    with pytest.raises(MessageGone):
        await gate.edit(out("new"), number)

    assert texts(chat) == []


async def test_to_a_person_who_blocked_the_bot_nothing_more_is_sent(
    tg: FakeTelegram, chat: Chat, gate: Gate
) -> None:
    tg.fail("sendMessage", forbidden())

    with pytest.raises(ChatBlocked):
        await gate.send(out("one"))
    with pytest.raises(ChatBlocked):
        await gate.send(out("two"))
    await gate.typing(CHAT)

    assert len(tg.calls) == 1
    gate.unblock(CHAT)
    await gate.send(out("three"))
    assert texts(chat) == ["three"]


async def test_a_message_that_may_have_arrived_is_edited_where_it_is_and_nothing_else(
    tg: FakeTelegram, chat: Chat, gate: Gate
) -> None:
    tg.fail("sendMessage", hang(applied=True))
    with pytest.raises(Unconfirmed) as unknown:
        await gate.send(out("half"))
    told = await gate.tell(out("help"))

    with pytest.raises(MessageGone):
        await gate.claim(out("whole"), told)
    await gate.claim(out("whole"), unknown.value.after + 1)

    assert texts(chat) == ["whole", "help"]


async def test_a_message_that_is_being_sent_is_not_edited_by_who_looks_for_another(
    tg: FakeTelegram, chat: Chat, gate: Gate
) -> None:
    tg.fail("sendMessage", slow(0.2))

    async with asyncio.TaskGroup() as group:
        told = group.create_task(gate.tell(out("help")))
        await tg.wait_call("sendMessage")
        [shown] = await chat.wait_for(lambda seen: seen)
        with pytest.raises(MessageGone):
            await gate.claim(out("whole"), shown.message_id)

    assert (await told, texts(chat)) == (shown.message_id, ["help"])


async def test_all_chats_together_get_as_many_messages_as_telegram_takes(
    tg: FakeTelegram, gate: Gate, time: Time
) -> None:
    for number in range(100, 200):
        tg.private_chat(number)
        await gate.send(Outgoing(number, Part("hello")))

    assert 100 / (time.at - 1000) == pytest.approx(ALL_PER_SECOND, rel=0.1)


async def test_when_all_chats_are_busy_only_what_matters_goes_out(
    tg: FakeTelegram, chat: Chat, gate: Gate
) -> None:
    for number in range(100, 100 + int(ALL_BURST) - 1):
        tg.private_chat(number)
        await gate.send(Outgoing(number, Part("hello")))

    assert await gate.try_send(out("preview")) is None
    await gate.typing(CHAT)
    await gate.send(out("answer"))

    assert (texts(chat), chat.typing) == (["answer"], 0)


async def test_chats_that_blocked_the_bot_are_not_kept_for_ever(gate: Gate) -> None:
    for number in range(5000):
        gate.block(number)

    assert len(gate._lanes) <= 2000


async def test_typing_never_fails(tg: FakeTelegram, chat: Chat, gate: Gate, time: Time) -> None:
    for fault in (server_error(), forbidden(), bad_gateway(), hang(), reset()):
        tg.fail("sendChatAction", fault)
        await gate.typing(CHAT)
        gate.unblock(CHAT)
        time.at += 1

    before = chat.typing
    await gate.typing(CHAT)

    assert chat.typing == before + 1


async def test_slow_typing_does_not_delay_a_message(tg: FakeTelegram, chat: Chat, gate: Gate) -> None:
    tg.fail("sendChatAction", hang())

    async with asyncio.TaskGroup() as group:
        group.create_task(gate.typing(CHAT))
        await tg.wait_call("sendChatAction")
        await asyncio.wait_for(gate.send(out("quick")), timeout=0.5)

    assert texts(chat) == ["quick"]


async def test_messages_to_one_chat_keep_their_order_and_do_not_hold_up_another(
    tg: FakeTelegram, chat: Chat, bot: Bot
) -> None:
    gate = Gate(bot)
    other = tg.private_chat(6)
    tg.fail("sendMessage", too_many_requests(1), when=lambda call: call.chat_id == CHAT)

    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(gate.send(out(f"{number}")))
        await asyncio.wait_for(gate.send(Outgoing(6, Part("elsewhere"))), timeout=0.9)

    assert texts(chat) == ["0", "1", "2"]
    assert texts(other) == ["elsewhere"]
