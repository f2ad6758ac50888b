"""Updates are in the inbox before Telegram forgets them, each once, whatever goes wrong on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from aiogram import Bot

from bot.inbox import Inbox
from handlers.intake import waiting
from handlers.polling import Poller, PollingHealth, sign_in
from handlers.queues import Work
from handlers.run import ALLOWED_UPDATES
from memory.database import Database, open_database
from memory.errors import ConfigError
from tests.fakes.clock import FrozenClock
from tests.fakes.telegram import (
    Chat,
    FakeTelegram,
    Fault,
    bad_gateway,
    conflict,
    hang,
    reset,
    server_error,
    too_many_requests,
    unauthorized,
)
from tests.telegram_app import ANNA, bot_for

pytest_plugins = ("tests.telegram_fixtures",)


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
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
async def database(tmp_path: Path, clock: FrozenClock) -> AsyncIterator[Database]:
    database = await open_database(tmp_path, clock=clock)
    yield database
    await database.close()


@pytest.fixture
def inbox(database: Database, clock: FrozenClock, bot: Bot) -> Inbox:
    return Inbox(database, clock, bot.id)


@pytest.fixture
def health(clock: FrozenClock) -> PollingHealth:
    return PollingHealth(clock)


class Polls:
    """A poller and what it has handed on. It does not pause after faults."""

    def __init__(self, tg: FakeTelegram, bot: Bot, inbox: Inbox, health: PollingHealth) -> None:
        self.taken: list[str] = []
        self.pauses: list[float] = []
        self._tg = tg
        self._poller = Poller(
            bot, inbox, self._take, health, ALLOWED_UPDATES, poll_seconds=2, sleep=self._pause
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._poller.run())
            yield
            task.cancel()

    async def run(self) -> None:
        await asyncio.wait_for(self._poller.run(), timeout=20)

    async def until(self, *words: str) -> None:
        async with asyncio.timeout(20):
            while self.taken != list(words):
                await asyncio.sleep(0.01)

    def _take(self, work: Work) -> None:
        message = work.data.get("message")
        self.taken.append(message["text"] if isinstance(message, dict) else "?")

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def polls(tg: FakeTelegram, bot: Bot, inbox: Inbox, health: PollingHealth) -> Polls:
    return Polls(tg, bot, inbox, health)


async def test_updates_are_handed_on_in_order_and_confirmed(
    tg: FakeTelegram, chat: Chat, polls: Polls
) -> None:
    await chat.send("one")
    await chat.send("two")
    async with polls.running():
        await polls.until("one", "two")
        last = await chat.send("three")
        await polls.until("one", "two", "three")
        await tg.wait_confirmed(last.update_id)

    assert tg.updates.pending == []


async def test_nothing_is_confirmed_before_the_inbox_has_it(
    tg: FakeTelegram, chat: Chat, polls: Polls, database: Database, inbox: Inbox
) -> None:
    message = await chat.send("kept")
    async with polls.running():
        async with database.write():
            await tg.wait_polling(0)
            with suppress(TimeoutError):
                await tg.wait_confirmed(message.update_id, timeout=0.3)
            assert message.update_id in tg.updates.pending
        await polls.until("kept")
        await tg.wait_confirmed(message.update_id)

    assert [work.data["message"]["text"] for work in await waiting(inbox)] == ["kept"]


async def test_an_update_that_comes_twice_is_handed_on_once(
    tg: FakeTelegram, chat: Chat, polls: Polls
) -> None:
    async with polls.running():
        first = await chat.send("one")
        await polls.until("one")
        await tg.wait_confirmed(first.update_id)
        chat.redeliver(first.update_id)
        await chat.send("two")
        await polls.until("one", "two")


async def test_an_update_that_nobody_can_decode_does_not_stop_the_next(
    tg: FakeTelegram, chat: Chat, polls: Polls
) -> None:
    tg.push_raw({"message": {"message_id": "?", "chat": {"id": ANNA}, "text": "broken"}})
    tg.push_raw({"message": 5})
    await chat.send("fine")

    async with polls.running():
        await polls.until("broken", "?", "fine")
        await tg.wait_polling(1)

    assert tg.updates.pending == []


async def test_half_a_character_does_not_make_an_update_unreadable(
    tg: FakeTelegram, chat: Chat, polls: Polls
) -> None:
    await chat.send("one \ud83d two")

    async with polls.running():
        await polls.until("one \ufffd two")


async def test_after_a_quiet_week_lower_ids_are_seen(tg: FakeTelegram, chat: Chat, polls: Polls) -> None:
    async with polls.running():
        last = await chat.send("before")
        await polls.until("before")
        await tg.wait_confirmed(last.update_id)
        await tg.wait_polling(tg.updates.polls)
        tg.updates.jump(to=1000)
        await chat.send("after")
        await polls.until("before", "after")


@pytest.mark.parametrize(
    "fault", [server_error(), bad_gateway(), reset(), too_many_requests(3), conflict(), server_error(504)]
)
async def test_polling_goes_on_after_a_fault(
    tg: FakeTelegram, chat: Chat, polls: Polls, fault: Fault
) -> None:
    tg.fail("getUpdates", fault, times=3)
    await chat.send("at last")

    async with polls.running():
        await polls.until("at last")

    assert len(polls.pauses) == 3
    assert all(0 < pause <= 30 for pause in polls.pauses)


async def test_a_response_that_was_lost_loses_no_update(tg: FakeTelegram, chat: Chat, polls: Polls) -> None:
    tg.fail("getUpdates", reset(applied=True), times=2)
    await chat.send("one")

    async with polls.running():
        await polls.until("one")


async def test_a_revoked_token_ends_with_a_sentence(tg: FakeTelegram, polls: Polls) -> None:
    tg.fail("getUpdates", unauthorized())

    with pytest.raises(ConfigError, match="BotFather"):
        await polls.run()


async def test_a_second_poller_makes_the_bot_ill_until_it_is_gone(
    tg: FakeTelegram, chat: Chat, polls: Polls, health: PollingHealth
) -> None:
    assert not await health.check()
    tg.fail("getUpdates", conflict(), times=None)
    async with polls.running():
        async with asyncio.timeout(10):
            while health.conflict_at is None:
                await asyncio.sleep(0.01)
        assert not await health.check()

        tg.heal()
        await chat.send("better")
        await polls.until("better")
        assert await health.check()


async def test_a_bot_that_fetches_nothing_for_long_is_ill(health: PollingHealth, clock: FrozenClock) -> None:
    health.answered()
    assert await health.check()

    clock.advance(minutes=3)

    assert not await health.check()
    assert health.age_seconds() == 180


async def test_signing_in_waits_until_telegram_can_be_reached(tg: FakeTelegram, bot: Bot) -> None:
    await tg.go_down()
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            await tg.come_back()

    me = await sign_in(bot, sleep=pause)

    assert me.id == bot.id
    assert len(pauses) == 3


async def test_signing_in_takes_a_webhook_away_and_keeps_what_waits(
    tg: FakeTelegram, chat: Chat, bot: Bot
) -> None:
    tg.world.webhook = "https://e.org"
    waits = await chat.send("hello")

    await sign_in(bot)

    assert tg.world.webhook == ""
    assert waits.update_id in tg.updates.pending


@pytest.mark.parametrize("fault", [unauthorized(), server_error(404, "Not Found")])
async def test_a_wrong_token_is_a_sentence(tg: FakeTelegram, bot: Bot, fault: Fault) -> None:
    tg.fail("getMe", fault)

    with pytest.raises(ConfigError, match="BotFather"):
        await sign_in(bot)


async def test_signing_in_does_not_hang_with_telegram(tg: FakeTelegram, bot: Bot) -> None:
    tg.fail("getMe", hang())
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    bot.session.timeout = 1

    await sign_in(bot, sleep=pause)

    assert len(pauses) == 1
