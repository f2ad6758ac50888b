"""A person in their private chat: talking, commands, and what a stop, a fault or a crash leaves."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiogram import Router
from aiogram.dispatcher.event.handler import CallableObject

from bot.notices import Notices
from handlers import run_telegram
from handlers.gate import Gate
from handlers.run import build_router, resources
from memory.errors import ConfigError
from memory.types import Origin
from tests.fakes.model import ScriptedModel, hangs, says
from tests.fakes.telegram import Chat, FakeTelegram
from tests.telegram_app import (
    ANNA,
    BORIS,
    CHANNEL,
    FAST,
    TelegramApp,
    bot_for,
    config_for,
    remember,
    running,
    script,
    telegram_app,
)

pytest_plugins = ("tests.telegram_fixtures",)


def words_of(chat: Chat) -> str:
    return "\n".join(message.text for message in chat.visible)


async def test_a_message_is_answered_and_stored(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    script(model, says("**Hello**, Anna!"))
    async with running(app):
        answer = await chat.answer_after(await chat.send("Hi there"), containing="Hello, Anna!")

    assert [entity["type"] for entity in answer.entities] == ["bold"]
    assert model.requests[0].turn.text == "Hi there"
    assert model.requests[0].turn.speaker == "Anna"
    [session] = await app.sessions.recent(ANNA)
    assert session.thread_id == 0


async def test_messages_that_came_before_the_start_are_answered_in_order(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    script(model, says("First."), says("Second."), says("Third."))
    for number in (1, 2, 3):
        await chat.send(f"Question {number}")

    async with running(app):
        await chat.wait_for(lambda seen: seen and seen[-1].text == "Third.")

    assert [message.text for message in chat.visible] == ["First.", "Second.", "Third."]
    assert [request.turn.text for request in model.requests] == ["Question 1", "Question 2", "Question 3"]


async def test_an_update_that_comes_twice_is_answered_once(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    script(model, says("Once."))
    async with running(app):
        message = await chat.send("Hello")
        await chat.answer_after(message, containing="Once.")
        await tg.wait_confirmed(message.update_id)
        chat.redeliver(message.update_id)
        await chat.answer_after(await chat.send("/help"))

    assert words_of(chat).count("Once.") == 1


async def test_an_update_that_nobody_can_decode_does_not_stop_the_next(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    script(model, says("Still here."))
    tg.push_raw({"message": {"message_id": "?", "chat": {"id": ANNA}, "text": "broken"}})
    async with running(app):
        await chat.answer_after(await chat.send("Hello"), containing="Still here.")


async def test_a_forwarded_message_is_nothing_the_person_said(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    script(model, says("I see."))
    origin = {"type": "hidden_user", "date": 0, "sender_user_name": "Eve"}
    async with running(app):
        await chat.answer_after(await chat.send("I am a doctor", forward_origin=origin), containing="I see.")

    stored = await app.sessions.message_by_source(ANNA, f"{CHANNEL}:1")
    assert stored is not None
    assert stored.origin is Origin.FORWARDED


async def test_the_words_under_a_picture_are_taken_as_text_and_a_bare_one_is_refused_politely(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    script(model, says("A caption."))
    async with running(app):
        await chat.answer_after(await chat.send_photo(b"jpeg", "Look at this"), containing="A caption.")
        await chat.answer_after(await chat.send_photo(b"jpeg"), containing="only text")

    assert model.requests[0].turn.text == "Look at this"


async def test_an_album_without_words_is_refused_once(tg: FakeTelegram, chat: Chat, app: TelegramApp) -> None:
    photo = [{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}]
    async with running(app):
        for _ in range(3):
            await chat.send("", media_group_id="album", photo=photo)
        await chat.answer_after(await chat.send("/help"), containing="/memory")

    assert words_of(chat).count("only text") == 1


async def test_a_command_that_does_not_exist_is_not_asked_of_the_model(
    chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    async with running(app):
        await chat.answer_after(await chat.send("/frobnicate now"), containing="/help")

    assert not model.requests


@pytest.mark.parametrize("command", ["/start", "/start ref_42", "/Help", "/help"])
async def test_start_and_help_say_what_the_bot_can_do(chat: Chat, app: TelegramApp, command: str) -> None:
    async with running(app):
        await chat.answer_after(
            await chat.send(command), containing="/help" if "start" in command else "/new"
        )


async def test_the_bot_speaks_the_language_of_the_person(tg: FakeTelegram, app: TelegramApp) -> None:
    chat = tg.private_chat(BORIS, language_code="ru")
    async with running(app):
        await chat.answer_after(await chat.send("/help"), containing="что я помню")


async def test_the_menu_of_commands_is_set_in_both_languages(tg: FakeTelegram, app: TelegramApp) -> None:
    async with running(app):
        await tg.wait_call("setMyCommands", count=2)
        await tg.world.changed.until(lambda: len(tg.world.commands) == 2, 5)

    menus = {language: commands for (_, language), commands in tg.world.commands.items()}
    assert [command["command"] for command in menus[""]] == [
        "memory",
        "forget",
        "undo",
        "new",
        "stop",
        "help",
    ]
    assert "что я помню" in menus["ru"][0]["description"]


async def test_new_begins_a_new_session(chat: Chat, app: TelegramApp, model: ScriptedModel) -> None:
    script(model, says("One."), says("Two."))
    async with running(app):
        await chat.answer_after(await chat.send("/new"), containing="already")
        await chat.answer_after(await chat.send("Hello"), containing="One.")
        await chat.answer_after(await chat.send("/new"), containing="A new conversation")
        await chat.answer_after(await chat.send("Hello again"), containing="Two.")

    assert len(await app.sessions.recent(ANNA)) == 2
    assert not model.requests[1].history


async def test_stop_ends_the_answer_within_a_second_and_keeps_what_was_written(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    script(model, hangs("Once upon a time", asyncio.Event().wait), says("Next."))
    async with running(app):
        question = await chat.send("Tell me a story")
        await chat.answer_after(question, containing="Once upon a time")
        await chat.send("/stop")
        [answer] = await chat.wait_for(lambda seen: "⏹" in seen[0].text, timeout=1.5)
        await chat.answer_after(await chat.send("Go on"), containing="Next.")

    assert answer.text.startswith("Once upon a time")
    stored = await app.sessions.message_by_source(ANNA, "answer:1")
    assert stored is not None
    assert stored.delivered


async def test_stop_sent_right_after_the_question_stops_it_too(
    chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    script(model, hangs("Once", asyncio.Event().wait))
    await chat.send("Tell me a story")
    await chat.send("/stop")
    async with running(app):
        await chat.wait_for(lambda seen: seen and "⏹" in seen[0].text)


async def test_stop_with_nothing_to_stop_says_so(chat: Chat, app: TelegramApp) -> None:
    async with running(app):
        await chat.answer_after(await chat.send("/stop"), containing="not writing")


async def test_admin_gives_numbers_to_admins_only(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    script(model, says("Hello."))
    await remember(app, "My dog is called Biscuit")
    boris = tg.private_chat(BORIS)
    async with running(app):
        await chat.answer_after(await chat.send("Hi"), containing="Hello.")
        report = await chat.answer_after(await chat.send("/admin"), containing="Memories: 1")
        await boris.answer_after(await boris.send("/admin"), containing="do not know this command")

    assert "Chats: 1" in report.text
    assert "Tokens: 150 sent" in report.text


async def test_a_turn_cut_off_by_a_stop_is_answered_once_after_the_restart(
    tg: FakeTelegram, chat: Chat, tmp_path: Path, model: ScriptedModel
) -> None:
    config = config_for(tg)
    config = config.model_copy(
        update={"telegram": config.telegram.model_copy(update={"drain_seconds": 0.05})}
    )
    script(model, hangs("Half an ans", asyncio.Event().wait), says("The whole answer."))
    async with telegram_app(config, tmp_path, model) as app, running(app):
        await chat.answer_after(await chat.send("Question"), containing="Half")

    async with telegram_app(config, tmp_path, model) as app, running(app):
        await chat.wait_for(lambda seen: seen[0].text == "The whole answer.")

    assert len(chat.visible) == 1


async def test_a_stop_lets_a_running_answer_end(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    go_on = asyncio.Event()
    script(model, hangs("The whole answer.", go_on.wait))
    async with running(app) as stop:
        await chat.answer_after(await chat.send("Question"), containing="whole")
        await chat.send("A later question")
        stop.set()
        go_on.set()

    stored = await app.sessions.message_by_source(ANNA, "answer:1")
    assert stored is not None
    assert stored.delivered


async def test_two_bots_on_one_data_directory_answer_their_own_first_messages(
    tg: FakeTelegram, chat: Chat, tmp_path: Path, model: ScriptedModel
) -> None:
    script(model, says("From the first."), says("From the second."))
    async with telegram_app(config_for(tg), tmp_path, model) as app, running(app):
        await chat.answer_after(await chat.send("Hello"), containing="From the first.")

    async with FakeTelegram(token="43:another-bot") as another:
        other = another.private_chat(ANNA)
        async with telegram_app(config_for(another), tmp_path, model) as app, running(app):
            await other.answer_after(await other.send("Hello"), containing="From the second.")

    assert [message.message_id for message in (*chat.messages, *other.messages)] == [1, 2, 1, 2]


async def test_a_wrong_token_ends_the_run_with_a_sentence(
    tg: FakeTelegram, tmp_path: Path, model: ScriptedModel
) -> None:
    wrong = config_for(tg, telegram={"token": "42:wrong", "api_base": tg.url})
    async with telegram_app(wrong, tmp_path, model) as app:
        with pytest.raises(ConfigError, match="BotFather"):
            await run_telegram(app, asyncio.Event())


async def test_every_parameter_of_every_handler_exists(tg: FakeTelegram, app: TelegramApp) -> None:
    bot = bot_for(tg)
    notices = Notices(app.database, CHANNEL)
    known = {*resources(app, Gate(bot), notices, FAST), "queues", "person", "command", "callback_data", "bot"}

    for handler in handlers_of(build_router()):
        _event, *others = inspect.signature(handler.callback).parameters.values()
        missing = {other.name for other in others if other.name not in known}
        assert not missing, f"{handler.callback.__name__} asks for {missing}"

    await bot.session.close()


def handlers_of(router: Router) -> Iterator[CallableObject]:
    for below in router.chain_tail:
        for observer in below.observers.values():
            yield from observer.handlers
