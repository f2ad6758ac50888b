"""What a person hears when something breaks while an update is handled, and what becomes of the update."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiogram.exceptions import TelegramBadRequest
from aiogram.methods import GetMe

from bot.inbox import MAX_STARTS, Inbox, RawUpdate
from bot.ports import Reply
from memory.errors import StorageError
from memory.types import Incoming
from tests.fakes.model import ScriptedModel, says
from tests.fakes.telegram import Chat, FakeTelegram, Message, forbidden, too_many_requests
from tests.fakes.telegram.server import TOKEN
from tests.telegram_app import (
    STRANGER,
    TelegramApp,
    running,
    script,
)

pytest_plugins = ("tests.telegram_fixtures",)

BOT = int(TOKEN.partition(":")[0])


@pytest.fixture
async def tg() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as fake:
        yield fake


class Breaking:
    """Stands in for the conversation: shows a beginning where there is one, then fails."""

    def __init__(self, error: Exception, chat: Chat, beginning: str = "") -> None:
        self.error = error
        self.chat = chat
        self.beginning = beginning
        self.tried = 0

    async def answer(self, incoming: Incoming, reply: Reply) -> None:
        self.tried += 1
        if self.beginning:
            await reply.write(self.beginning)
            await self.chat.wait_for(lambda seen: seen and seen[-1].text == self.beginning)
        raise self.error


def texts(chat: Chat) -> list[str]:
    return [message.text for message in chat.visible]


async def test_a_fault_in_a_handler_is_one_polite_sentence(
    chat: Chat, app: TelegramApp, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(app.conversation, "answer", Breaking(RuntimeError("secret words"), chat).answer)
    with caplog.at_level(logging.DEBUG, logger="handlers"):
        async with running(app):
            await chat.answer_after(await chat.send("Hello"), containing="That did not work")
            await chat.answer_after(await chat.send("/help"), containing="/memory")

    assert len(chat.visible) == 2
    assert not any("secret words" in record.getMessage() for record in caplog.records)


async def test_what_telegram_refuses_is_not_met_with_silence(
    chat: Chat, app: TelegramApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = TelegramBadRequest(method=GetMe(), message="Bad Request: something new")
    monkeypatch.setattr(app.conversation, "answer", Breaking(refusal, chat).answer)
    async with running(app):
        await chat.answer_after(await chat.send("Hello"), containing="That did not work")


async def test_the_apology_stands_below_a_half_written_answer_whatever_telegram_says_first(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sorry(call: Any) -> bool:
        return "did not work" in call.params["text"]

    tg.fail("sendMessage", too_many_requests(1), when=sorry)
    monkeypatch.setattr(app.conversation, "answer", Breaking(RuntimeError(), chat, "Half an ans").answer)
    async with running(app):
        await chat.answer_after(await chat.send("Hello"), containing="That did not work")

    assert texts(chat)[0] == "Half an ans"
    assert len(texts(chat)) == 2


async def test_to_a_person_who_blocked_the_bot_no_apology_is_sent(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    script(model, says("Hello."), says("Welcome back."))
    tg.fail("sendMessage", forbidden())
    async with running(app):
        said = await chat.send("Hello")
        await tg.wait_call("sendMessage")
        await tg.wait_confirmed(said.update_id)
        await chat.answer_after(await chat.send("I am back"), containing="Welcome back.")

    assert texts(chat) == ["Welcome back."]


async def test_what_cannot_be_stored_now_is_answered_as_soon_as_it_can_and_in_order(
    chat: Chat, app: TelegramApp, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Breaking(StorageError("The disk is full."), chat)
    script(model, says("First."), says("Second."))
    async with running(app):
        with monkeypatch.context() as patch:
            patch.setattr(app.conversation, "answer", full.answer)
            await chat.answer_after(await chat.send("One"), containing="cannot store")
            await chat.send("Two")
            async with asyncio.timeout(10):
                while full.tried < 2:
                    await asyncio.sleep(0.01)
        await chat.wait_for(lambda seen: seen[-1].text == "Second.")

    assert [text.partition(".")[0] for text in texts(chat)] == [
        "I cannot store anything at the moment",
        "First",
        "Second",
    ]


async def test_what_could_not_be_stored_until_the_stop_is_answered_after_the_restart(
    chat: Chat, app: TelegramApp, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Breaking(StorageError("The disk is full."), chat)
    for _ in range(MAX_STARTS + 1):
        with monkeypatch.context() as patch:
            patch.setattr(app.conversation, "answer", full.answer)
            tried = full.tried
            async with running(app):
                if not tried:
                    await chat.send("Hello")
                async with asyncio.timeout(10):
                    while full.tried == tried:
                        await asyncio.sleep(0.01)

    script(model, says("Here I am."))
    async with running(app):
        await chat.wait_for(lambda seen: seen[-1].text == "Here I am.")


async def test_a_command_is_done_once_when_only_its_end_cannot_be_stored(
    chat: Chat, app: TelegramApp, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Inbox.done
    failures = [StorageError("The disk is full.")]

    async def failing_once(inbox: Inbox, item_id: int) -> None:
        if failures:
            raise failures.pop()
        await done(inbox, item_id)

    script(model, says("Hello."))
    async with running(app):
        await chat.answer_after(await chat.send("Hello"), containing="Hello.")
        monkeypatch.setattr(Inbox, "done", failing_once)
        await chat.answer_after(await chat.send("/new"), containing="A new conversation")
        await chat.answer_after(await chat.send("/help"), containing="/memory")

    assert len(texts(chat)) == 3
    assert not await inbox_of(app).pending()


async def test_a_command_that_a_killed_process_has_answered_is_answered_again_and_overwrites_nothing(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut_off(*_: object) -> None:
        raise StorageError("The process was killed.")

    script(model, says("An answer."))
    with monkeypatch.context() as patch:
        async with running(app):
            await chat.answer_after(await chat.send("Hello"), containing="An answer.")
            async with asyncio.timeout(10):
                while await inbox_of(app).pending():
                    await asyncio.sleep(0.01)
            patch.setattr(Inbox, "done", cut_off)
            await chat.answer_after(await chat.send("/help"), containing="/memory")

    async with running(app):
        await chat.wait_for(lambda seen: len(seen) == 3)

    assert texts(chat)[0] == "An answer."
    assert texts(chat)[1] == texts(chat)[2]
    assert not tg.calls_of("editMessageText")


async def test_an_update_that_keeps_killing_the_program_is_given_up_with_a_sentence(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    stranger = tg.private_chat(STRANGER)
    await begun_too_often(tg, app, await chat.send("Deadly"))
    await begun_too_often(tg, app, await stranger.send("Deadly"))
    await begun_too_often(tg, app, await tg.group(-1001, chat).send("Deadly"))
    async with running(app):
        await chat.wait_for(lambda seen: seen)
        await chat.answer_after(await chat.send("/help"), containing="/memory")

    assert "have given up on it" in texts(chat)[0]
    assert len(texts(chat)) == 2
    assert not model.requests
    assert not tg.calls_of("sendMessage", chat=tg.group(-1001, chat))
    assert not any("given up" in text for text in texts(stranger))


async def begun_too_often(tg: FakeTelegram, app: TelegramApp, message: Message) -> None:
    """Leave the update of a message in the inbox as processes do that are killed by it."""
    update = tg.updates.all[message.update_id]
    inbox = inbox_of(app)
    [item] = await inbox.put([RawUpdate(message.update_id, message.chat_id, json.dumps(update))])
    for _ in range(MAX_STARTS):
        await inbox.started(item.id)


def inbox_of(app: TelegramApp) -> Inbox:
    return Inbox(app.database, app.clock, BOT)
