"""The way back after a forget: a button that outlives the process, and /undo for the last forget of all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from handlers.keyboards import Undo
from tests.fakes.model import ScriptedModel, says, wants
from tests.fakes.telegram import Chat, FakeTelegram, Message
from tests.telegram_app import ANNA, BORIS, TelegramApp, config_for, remember, running, script, telegram_app

pytest_plugins = ("tests.telegram_fixtures",)


async def forget(chat: Chat, what: str) -> Message:
    """Forget it, and return the message that tells so."""
    asked = await chat.answer_after(await chat.send(f"/forget {what}"))
    await chat.press(asked, "Forget")
    await chat.wait_for(lambda _: "Forgotten" in asked.text)
    return asked


async def test_an_undo_button_works_after_a_restart_for_any_number_of_memories(
    tg: FakeTelegram, chat: Chat, tmp_path: Path, model: ScriptedModel
) -> None:
    async with telegram_app(config_for(tg), tmp_path, model) as app:
        await remember(
            app, *(f"{'thing' if number % 2 else 'other'} number {number}" for number in range(80))
        )
        async with running(app):
            told = await forget(chat, "thing")
        assert await app.memory.count(ANNA) == 40

    async with telegram_app(config_for(tg), tmp_path, model) as app:
        async with running(app):
            await chat.press(told, "Bring back")
            await chat.wait_for(lambda _: "40 memories are back" in told.text)
        assert await app.memory.count(ANNA) == 80
    assert told.labels == []


async def test_a_button_brings_back_its_own_forget_and_not_the_last_one(chat: Chat, app: TelegramApp) -> None:
    await remember(app, "My dog is called Biscuit", "I live in Riga")
    async with running(app):
        first = await forget(chat, "dog")
        app.clock.advance(seconds=1)
        await forget(chat, "Riga")
        await chat.press(first, "Bring back")
        await chat.wait_for(lambda _: "1 memory is back" in first.text)

    assert [memory.text for memory in await app.memory.list(ANNA)] == ["My dog is called Biscuit"]


async def test_undo_brings_back_what_was_forgotten_last(chat: Chat, app: TelegramApp) -> None:
    await remember(app, "My dog is called Biscuit", "I live in Riga")
    await remember(app, "Another chat's", chat_id=BORIS)
    async with running(app):
        for what in ("dog", "Riga"):
            await forget(chat, what)
            app.clock.advance(seconds=1)
        await chat.answer_after(await chat.send("/undo"), containing="1 memory is back")
        assert [memory.text for memory in await app.memory.list(ANNA)] == ["I live in Riga"]
        await chat.answer_after(await chat.send("/UNDO"), containing="1 memory is back")
        await chat.answer_after(await chat.send("/undo"), containing="nothing to bring back")

    assert await app.memory.count(ANNA) == 2


async def test_undo_brings_back_what_the_model_has_forgotten(
    chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    [number] = await remember(app, "My dog is called Biscuit")
    script(model, wants("forget_memory", id=number), says("Gone."))
    async with running(app):
        await chat.answer_after(await chat.send("Forget my dog"), containing="/undo")
        assert await app.memory.count(ANNA) == 0
        await chat.answer_after(await chat.send("/undo"), containing="1 memory is back")

    assert await app.memory.count(ANNA) == 1


async def test_everything_can_be_forgotten_where_there_are_only_messages(
    chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    script(model, says("Hello."))
    async with running(app):
        await chat.answer_after(await chat.send("Hi there"), containing="Hello.")
        asked = await chat.answer_after(await chat.send("/forget all"), containing="no memories")
        assert asked.labels == ["Forget everything", "Keep"]
        await chat.press(asked, "Forget everything")
        await chat.wait_for(lambda _: "Forgotten: the text of 2 messages" in asked.text)
        await chat.press(asked, "Bring back")
        await chat.wait_for(lambda _: asked.text == "The text of 2 messages is back.")


async def test_where_there_is_nothing_to_forget_nothing_can_be_taken_back(
    chat: Chat, app: TelegramApp
) -> None:
    async with running(app):
        asked = await chat.answer_after(await chat.send("/forget all"))
        await chat.press(asked, "Forget everything")
        await chat.wait_for(lambda _: "nothing left to forget" in asked.text)
        assert asked.labels == []
        await chat.answer_after(await chat.send("/undo"), containing="nothing to bring back")


async def test_a_button_that_comes_too_late_says_so_and_changes_nothing(chat: Chat, app: TelegramApp) -> None:
    await remember(app, "My dog is called Biscuit")
    async with running(app):
        told = await forget(chat, "dog")
        before = told.text
        app.clock.advance(minutes=11)
        await app.memory.purge_due()
        query = await chat.press(told, "Bring back")
        assert "nothing to bring back" in await chat.wait_query(query)

    assert told.text == before


async def test_a_button_under_a_message_that_is_out_of_reach_brings_back_all_the_same(
    chat: Chat, app: TelegramApp
) -> None:
    await remember(app, "My dog is called Biscuit")
    async with running(app):
        told = await forget(chat, "dog")
        query = await chat.press(told, "Bring back", old=True)
        assert await chat.wait_query(query) == ""
        await chat.wait_for(lambda seen: seen[-1].text == "1 memory is back.")

    assert await app.memory.count(ANNA) == 1


async def test_of_two_buttons_that_are_pressed_at_once_the_first_counts(chat: Chat, app: TelegramApp) -> None:
    await remember(app, "My dog is called Biscuit")
    async with running(app):
        asked = await chat.answer_after(await chat.send("/forget dog"))
        await chat.press(asked, "Forget it")
        await chat.wait_query(await chat.press(asked, "Keep"))
        await chat.answer_after(await chat.send("/help"), containing="/memory")

    assert "Forgotten: 1 memory" in asked.text
    assert asked.labels == ["Bring back"]


@pytest.mark.parametrize(
    "moment", [datetime(2026, 3, 4, 12, 0, 0, 123456, UTC), datetime.max.replace(tzinfo=UTC)]
)
def test_a_button_names_a_moment_to_the_microsecond(moment: datetime) -> None:
    packed = Undo.of(moment).pack()

    assert len(packed.encode()) <= 64
    assert Undo.unpack(packed).purge_at - moment == timedelta(0)
