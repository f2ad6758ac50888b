"""Only named people are served, in their own chats; what could be somebody else's chat reaches nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from memory.types import Author
from tests.fakes.model import ScriptedModel, says
from tests.fakes.telegram import FakeTelegram
from tests.telegram_app import (
    ANNA,
    BORIS,
    CHANNEL,
    STRANGER,
    TelegramApp,
    config_for,
    running,
    telegram_app,
)

pytest_plugins = ("tests.telegram_fixtures",)


@pytest.fixture
async def tg() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as fake:
        yield fake


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(*(says(f"Answer {number}.") for number in range(1, 6)))


@pytest.mark.parametrize("user", [ANNA, BORIS])
async def test_admins_and_users_are_answered(tg: FakeTelegram, app: TelegramApp, user: int) -> None:
    chat = tg.private_chat(user)
    async with running(app):
        await chat.answer_after(await chat.send("Hello"), containing="Answer 1.")


async def test_with_users_all_everybody_is_answered(
    tg: FakeTelegram, tmp_path: Path, model: ScriptedModel
) -> None:
    config = config_for(tg, access={"users": "all"})
    chat = tg.private_chat(STRANGER)
    async with telegram_app(config, tmp_path, model) as app, running(app):
        await chat.answer_after(await chat.send("Hello"), containing="Answer 1.")


async def test_a_stranger_is_told_their_number_once_an_hour(
    tg: FakeTelegram, app: TelegramApp, model: ScriptedModel
) -> None:
    chat, anna = tg.private_chat(STRANGER, language_code="ru"), tg.private_chat(ANNA)
    async with running(app):
        told = await chat.answer_after(await chat.send("Пустите"))
        assert str(STRANGER) in told.text
        assert "Telegram ID" in told.text
        await tg.wait_confirmed((await chat.send("Пустите!")).update_id)
        await anna.answer_after(await anna.send("/help"))
        assert len(chat.visible) == 1

        app.clock.advance(hours=2)
        again = await chat.answer_after(await chat.send("Ну пустите"))

    assert again.text == told.text
    assert not model.requests
    assert not await app.sessions.recent(STRANGER)


async def test_a_name_opens_no_door(tg: FakeTelegram, app: TelegramApp, model: ScriptedModel) -> None:
    chat = tg.private_chat(STRANGER, first_name="Anna", username=str(ANNA))
    async with running(app):
        await chat.answer_after(await chat.send("It is me"), containing=str(STRANGER))

    assert not model.requests


@pytest.mark.parametrize(
    "foreign",
    [
        {"business_connection_id": "b1"},
        {"guest_query_id": "g1"},
        {"sender_chat": {"id": -100, "type": "channel", "title": "News"}},
        {"from": {"id": ANNA, "is_bot": True, "first_name": "Anna"}},
        {"from": {"id": BORIS, "is_bot": False, "first_name": "Boris"}},
        {"chat": {"id": ANNA, "type": "group", "title": "Friends"}},
        {"chat": {"id": ANNA, "type": "channel", "title": "News"}},
    ],
)
async def test_what_could_be_another_chat_with_the_same_number_is_dropped(
    tg: FakeTelegram, app: TelegramApp, model: ScriptedModel, foreign: dict[str, Any]
) -> None:
    chat = tg.private_chat(ANNA)
    async with running(app):
        await chat.send("/memory", **foreign)
        await chat.send("What do you know about me?", **foreign)
        help_asked = await chat.send("/help")
        await chat.answer_after(help_asked)

    assert len(chat.visible) == 1
    assert not model.requests


async def test_groups_hear_nothing(tg: FakeTelegram, app: TelegramApp, model: ScriptedModel) -> None:
    anna = tg.private_chat(ANNA)
    group = tg.group(-1001, anna)
    async with running(app):
        await group.send("Hello bot")
        await group.send("/help")
        await group.send("Hello", author={"id": STRANGER, "is_bot": False, "first_name": "Eve"})
        await anna.answer_after(await anna.send("/help"))

    assert not group.visible
    assert not model.requests


async def test_a_stranger_cannot_press_a_button(tg: FakeTelegram, app: TelegramApp) -> None:
    anna, eve = tg.private_chat(ANNA), tg.private_chat(STRANGER)
    async with running(app):
        shown = await eve.answer_after(await eve.send("Hi"))
        shown.buttons = [[{"text": "Forget", "callback_data": "fgt:yes:1"}]]
        query = await eve.press(shown, "Forget")
        assert str(STRANGER) in await eve.wait_query(query)

    assert not anna.visible


async def test_blocking_and_coming_back_are_noticed(tg: FakeTelegram, app: TelegramApp) -> None:
    chat = tg.private_chat(ANNA)
    async with running(app):
        await chat.answer_after(await chat.send("/help"))
        await chat.block()
        await chat.unblock()
        await chat.answer_after(await chat.send("/help"))

    assert not tg.refusals


async def test_the_name_and_number_of_the_person_go_with_the_message(
    tg: FakeTelegram, app: TelegramApp, model: ScriptedModel
) -> None:
    chat = tg.private_chat(ANNA, first_name="Anna", last_name="K.")
    async with running(app):
        await chat.answer_after(await chat.send("Hello"), containing="Answer 1.")

    stored = await app.sessions.message_by_source(ANNA, f"{CHANNEL}:1")
    assert stored is not None
    assert Author(stored.speaker_id or 0, stored.speaker) == Author(ANNA, "Anna K.")
