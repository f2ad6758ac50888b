"""The stand-in for the Bot API keeps the promises, and the limits, of Telegram."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.fakes.telegram import (
    Chat,
    FakeTelegram,
    Fault,
    RateLimit,
    bad_gateway,
    bad_request,
    conflict,
    forbidden,
    hang,
    reset,
    server_error,
    slow,
    too_many_requests,
    unauthorized,
    units,
)

ANNA = 1001


class Bot:
    """A bot as a few raw calls."""

    def __init__(self, tg: FakeTelegram, session: aiohttp.ClientSession) -> None:
        self._tg = tg
        self._session = session

    async def call(self, method: str, **params: Any) -> Any:
        """Call with form fields, nested ones as JSON, and return the result or the description."""
        data = {name: _field(value) for name, value in params.items()}
        url = f"{self._tg.url}/bot{self._tg.token}/{method}"
        async with self._session.post(url, data=data) as response:
            body = await response.json()
        assert body["ok"] == (response.status == 200)
        return body["result"] if body["ok"] else f"{body['error_code']} {body['description']}"

    async def send(self, text: str, **params: Any) -> Any:
        return await self.call("sendMessage", chat_id=ANNA, text=text, **params)

    async def updates(self, offset: int = 0, **params: Any) -> list[int]:
        """Poll once and return the ids that came."""
        found = await self.call("getUpdates", offset=offset, **params)
        return [update["update_id"] for update in found]


def _field(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@pytest.fixture
async def tg() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as server:
        yield server


@pytest.fixture
async def bot(tg: FakeTelegram) -> AsyncIterator[Bot]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(5)) as session:
        yield Bot(tg, session)


@pytest.fixture
def anna(tg: FakeTelegram) -> Chat:
    return tg.private_chat(ANNA, "Anna", "ru")


# Updates


async def test_updates_come_again_until_a_higher_offset_confirms_them(
    tg: FakeTelegram, bot: Bot, anna: Chat
) -> None:
    first, second = [await anna.send(words) for words in ("one", "two")]
    ids = [first.update_id, second.update_id]

    assert await bot.updates() == ids
    assert await bot.updates() == ids
    assert await bot.updates(offset=ids[1]) == ids[1:]
    assert await bot.updates(offset=ids[1] + 1) == []
    assert tg.updates.pending == []


async def test_a_negative_offset_keeps_only_the_last_updates(bot: Bot, anna: Chat) -> None:
    ids = [(await anna.send(words)).update_id for words in "abc"]

    assert await bot.updates(offset=-1) == ids[2:]
    assert await bot.updates() == ids[2:]


async def test_a_limit_cuts_the_batch(bot: Bot, anna: Chat) -> None:
    ids = [(await anna.send(words)).update_id for words in "abc"]

    assert await bot.updates(limit=2) == ids[:2]


async def test_a_long_poll_ends_with_the_first_update_or_with_its_time(
    tg: FakeTelegram, bot: Bot, anna: Chat
) -> None:
    async with asyncio.TaskGroup() as group:
        poll = group.create_task(bot.updates(timeout=30))
        await tg.wait_polling()
        message = await anna.send("hello")

    assert poll.result() == [message.update_id]
    assert await bot.updates(offset=message.update_id + 1, timeout=1) == []


async def test_only_kinds_that_were_asked_for_are_queued(tg: FakeTelegram, bot: Bot, anna: Chat) -> None:
    await bot.updates(allowed_updates=["message"])
    await anna.block()
    message = await anna.send("hello")

    assert await bot.updates() == [message.update_id]


async def test_a_second_poller_throws_the_first_one_out(tg: FakeTelegram, bot: Bot, anna: Chat) -> None:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(bot.call("getUpdates", timeout=30))
        await tg.wait_polling()
        second = group.create_task(bot.call("getUpdates", timeout=30))
        await tg.wait_polling(1)
        await anna.send("hello")

    assert first.result().startswith("409 Conflict: terminated by other getUpdates request")
    assert len(second.result()) == 1


async def test_polling_beside_a_webhook_is_a_conflict(bot: Bot) -> None:
    await bot.call("setWebhook", url="https://example.org/hook")

    assert (await bot.call("getUpdates")).startswith("409 Conflict: can't use getUpdates")
    assert (await bot.call("getWebhookInfo"))["url"] == "https://example.org/hook"
    await bot.call("deleteWebhook")
    assert await bot.call("getUpdates") == []


async def test_a_poller_that_dies_in_a_long_poll_leaves_no_trace(
    tg: FakeTelegram, bot: Bot, anna: Chat
) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await bot.updates(timeout=30)
    message = await anna.send("hello")

    assert await bot.updates() == [message.update_id]


async def test_a_confirmed_update_can_be_delivered_once_more(bot: Bot, anna: Chat) -> None:
    message = await anna.send("hello")
    await bot.updates(offset=message.update_id + 1)

    anna.redeliver(message.update_id)

    assert await bot.updates(offset=message.update_id + 1) == [message.update_id]
    assert await bot.updates(offset=message.update_id + 1) == []


async def test_ids_may_jump_down_and_an_old_offset_then_loses_updates(
    tg: FakeTelegram, bot: Bot, anna: Chat
) -> None:
    first = await anna.send("hello")
    await bot.updates(offset=first.update_id + 1)
    tg.updates.jump(5_000)
    second = await anna.send("a week later")

    assert second.update_id == 5_000
    assert await bot.updates() == [5_000]
    assert await bot.updates(offset=first.update_id + 1) == []


async def test_any_update_can_be_queued_raw(tg: FakeTelegram, bot: Bot) -> None:
    number = tg.push_raw({"message": {"date": "not a date"}})

    assert await bot.call("getUpdates") == [{"update_id": number, "message": {"date": "not a date"}}]


async def test_a_command_carries_its_entity_and_the_sender_a_language(bot: Bot, anna: Chat) -> None:
    await anna.send("/memory search Бублик")

    message = (await bot.call("getUpdates"))[0]["message"]
    assert message["entities"] == [{"type": "bot_command", "offset": 0, "length": 7}]
    assert (message["from"]["language_code"], message["chat"]["type"]) == ("ru", "private")


# Messages as the person sees them


async def test_the_person_sees_what_is_there_now(bot: Bot, anna: Chat) -> None:
    question = await anna.send("What is the time?")
    sent = await bot.send("It is")
    gone = await bot.send("Wait")
    await bot.call("editMessageText", chat_id=ANNA, message_id=sent["message_id"], text="It is noon")
    await bot.call("deleteMessage", chat_id=ANNA, message_id=gone["message_id"])

    answer = await anna.answer_after(question, containing="noon")

    assert [message.text for message in anna.visible] == ["It is noon"]
    assert answer.earlier == ["It is"]
    assert anna.transcript() == "Anna: What is the time?\nbot: It is noon"


async def test_waiting_in_vain_says_what_was_seen(bot: Bot, anna: Chat) -> None:
    await bot.send("Something else")

    with pytest.raises(TimeoutError, match="Something else"):
        await anna.wait_for(lambda messages: len(messages) > 1, timeout=0.05)


async def test_an_answer_that_grows_can_be_waited_for(bot: Bot, anna: Chat) -> None:
    question = await anna.send("Go on")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(anna.answer_after(question, quiet=0.1))
        sent = await bot.send("A")
        await bot.call("editMessageText", chat_id=ANNA, message_id=sent["message_id"], text="A whole")

    assert waiting.result().text == "A whole"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "message text is empty"),
        (" \n ", "message text is empty"),
        ("x" * 4097, "message is too long"),
        ("😀" * 2049, "message is too long"),
    ],
)
async def test_texts_have_their_limits(tg: FakeTelegram, bot: Bot, anna: Chat, text: str, words: str) -> None:
    assert await bot.send(text) == f"400 Bad Request: {words}"
    assert [refusal.description for refusal in tg.refusals] == [f"Bad Request: {words}"]


async def test_the_longest_text_is_accepted_and_trimmed(tg: FakeTelegram, bot: Bot, anna: Chat) -> None:
    bold = {"type": "bold", "offset": 2, "length": 4096}

    await bot.send("\n " + "😀" * 2048 + " ", entities=[bold])

    assert units(anna.visible[0].text) == 4096
    assert anna.visible[0].entities == ({"type": "bold", "offset": 0, "length": 4096},)
    assert tg.refusals == []


def bold(offset: int, length: int, kind: str = "bold", **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.parametrize(
    ("entities", "words"),
    [
        ([bold(0, 8)], "ends after the end"),
        ([bold(-1, 2)], "can't parse entities"),
        ([bold(0, 0)], "can't parse entities"),
        ([bold(1, 1)], "middle of a UTF-16 symbol"),
        ([bold(0, 3, "heading")], "unsupported type"),
        ([bold(0, 3, "text_link")], "needs url"),
        ([bold(0, 4), bold(2, 4, "italic")], "overlap"),
        ([bold(0, 4, "pre"), bold(2, 1)], "nothing can be inside"),
        ([bold(0, 6, "blockquote"), bold(2, 1, "blockquote")], "can't be nested"),
        ({"type": "bold"}, "can't parse entities"),
    ],
)
async def test_entities_must_fit_the_text(bot: Bot, anna: Chat, entities: Any, words: str) -> None:
    answer = await bot.send("😀 text", entities=entities)

    assert answer.startswith("400 Bad Request: ")
    assert words in answer


async def test_good_entities_are_kept(tg: FakeTelegram, bot: Bot, anna: Chat) -> None:
    entities = [bold(0, 7), bold(3, 4, "code"), bold(0, 2, "italic")]
    await bot.send("😀 text", entities=entities)

    assert [entity["type"] for entity in anna.visible[0].entities] == ["bold", "italic", "code"]
    assert tg.refusals == []


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("HTML", "<b>bold"),
        ("HTML", "<b><i>bold</b></i>"),
        ("HTML", "a < b"),
        ("HTML", "<h1>no</h1>"),
        ("MarkdownV2", "*bold"),
        ("MarkdownV2", "Done."),
        ("MarkdownV2", "*_crossed*_"),
    ],
)
async def test_unbalanced_markup_is_refused(bot: Bot, anna: Chat, mode: str, text: str) -> None:
    assert "can't parse entities" in await bot.send(text, parse_mode=mode)


async def test_balanced_markup_is_shown_as_text(bot: Bot, anna: Chat) -> None:
    await bot.send('<b>a &lt; b</b> <a href="https://example.org">c</a>', parse_mode="HTML")
    await bot.send(r"*bold* _and_ `a.b` [link](https://example.org) end\.", parse_mode="MarkdownV2")

    assert [message.text for message in anna.visible] == ["a < b c", "bold and a.b link end."]


async def test_parameters_may_come_as_json_but_not_with_half_a_character(
    tg: FakeTelegram, anna: Chat
) -> None:
    async with aiohttp.ClientSession() as session:
        for words, status in (("Бублик", 200), ("half \ud83d", 400)):
            sent = {"chat_id": ANNA, "text": words, "entities": [bold(0, 3)]}
            url = f"{tg.url}/bot{tg.token}/sendMessage"
            async with session.post(url, json=sent) as response:
                assert response.status == status

    assert [message.text for message in anna.visible] == ["Бублик"]
    assert tg.refusals[0].description == "Bad Request: strings must be encoded in UTF-8"


async def test_edits_are_refused_as_by_telegram(bot: Bot, anna: Chat) -> None:
    question = await anna.send("mine")
    sent = (await bot.send("text"))["message_id"]

    async def edit(message_id: int, text: str) -> Any:
        return await bot.call("editMessageText", chat_id=ANNA, message_id=message_id, text=text)

    assert "message is not modified" in await edit(sent, "text ")
    assert "message to edit not found" in await edit(sent + 100, "new")
    assert "message can't be edited" in await edit(question.message_id, "new")
    await bot.call("deleteMessage", chat_id=ANNA, message_id=sent)
    assert "message to edit not found" in await edit(sent, "new")
    assert "not found" in await bot.call("deleteMessage", chat_id=ANNA, message_id=sent)


async def test_a_reply_to_a_missing_message_is_refused_unless_allowed(bot: Bot, anna: Chat) -> None:
    missing = {"message_id": 999_999}
    question = await anna.send("mine")

    assert "message to be replied not found" in await bot.send("a", reply_parameters=missing)
    await bot.send("b", reply_parameters={**missing, "allow_sending_without_reply": True})
    await bot.send("c", reply_parameters={"message_id": question.message_id})

    assert [message.reply_to for message in anna.visible] == [0, question.message_id]


async def test_unknown_chats_threads_methods_and_tokens_are_refused(
    tg: FakeTelegram, bot: Bot, anna: Chat
) -> None:
    assert await bot.call("sendMessage", chat_id=5, text="a") == "400 Bad Request: chat not found"
    assert await bot.send("a", message_thread_id=7) == "400 Bad Request: message thread not found"
    assert await bot.call("sendTelepathy") == "404 Not Found: method not found"
    assert await bot.call("sendChatAction", chat_id=ANNA, action="sleeping") != "ok"
    assert len(tg.refusals) == 4
    tg.token = "1:another"
    async with aiohttp.ClientSession() as session, session.get(f"{tg.url}/bot2:wrong/getMe") as response:
        assert await response.json() == {"ok": False, "error_code": 401, "description": "Unauthorized"}


async def test_a_person_who_has_blocked_the_bot_gets_nothing(tg: FakeTelegram, bot: Bot, anna: Chat) -> None:
    await anna.block()

    assert await bot.send("a") == "403 Forbidden: bot was blocked by the user"
    changed = (await bot.call("getUpdates"))[0]["my_chat_member"]
    assert changed["new_chat_member"]["status"] == "kicked"
    await anna.unblock()
    assert (await bot.send("a"))["text"] == "a"
    assert tg.refusals == []


# Buttons


def keyboard(data: str) -> dict[str, Any]:
    return {"inline_keyboard": [[{"text": "Undo", "callback_data": data}]]}


async def test_a_pressed_button_is_answered_once_and_in_time(bot: Bot, anna: Chat, tg: FakeTelegram) -> None:
    sent = await bot.send("Forgotten.", reply_markup=keyboard("undo:1"))
    query = await anna.press(anna.visible[0], "Undo")
    pressed = (await bot.call("getUpdates"))[0]["callback_query"]

    assert (pressed["data"], pressed["message"]["message_id"]) == ("undo:1", sent["message_id"])
    assert await bot.call("answerCallbackQuery", callback_query_id=pressed["id"], text="Back") is True
    assert await anna.wait_query(query) == "Back"
    again = await bot.call("answerCallbackQuery", callback_query_id=pressed["id"])
    assert "query is too old" in again


async def test_a_late_answer_to_a_button_is_refused() -> None:
    now = [1000.0]
    async with (
        FakeTelegram(now=lambda: now[0]) as tg,
        aiohttp.ClientSession() as session,
    ):
        bot, anna = Bot(tg, session), tg.private_chat(ANNA)
        await bot.send("Forgotten.", reply_markup=keyboard("undo"))
        query = await anna.press(anna.visible[0], "undo")
        now[0] += 16

        answer = await bot.call("answerCallbackQuery", callback_query_id=query.query_id)

    assert "query is too old" in answer


async def test_an_old_button_comes_without_its_message(bot: Bot, anna: Chat) -> None:
    await bot.send("Forgotten.", reply_markup=keyboard("undo"))
    await anna.press(anna.visible[0], "Undo", old=True)

    message = (await bot.call("getUpdates"))[0]["callback_query"]["message"]

    assert (message["date"], "text" in message) == (0, False)


@pytest.mark.parametrize("data", ["", "x" * 65, "я" * 33])
async def test_the_data_of_a_button_is_limited_in_bytes(bot: Bot, anna: Chat, data: str) -> None:
    assert await bot.send("a", reply_markup=keyboard(data)) == "400 Bad Request: BUTTON_DATA_INVALID"


async def test_buttons_go_when_an_edit_does_not_repeat_them(bot: Bot, anna: Chat) -> None:
    sent = await bot.send("a", reply_markup=keyboard("x"))
    place = {"chat_id": ANNA, "message_id": sent["message_id"]}
    assert anna.visible[0].labels == ["Undo"]

    await bot.call("editMessageReplyMarkup", **place)

    assert anna.visible[0].labels == []
    assert "message is not modified" in await bot.call("editMessageReplyMarkup", **place)
    with pytest.raises(LookupError):
        await anna.press(anna.visible[0], "Undo")


# Files, commands, typing


async def test_a_file_of_the_bot_reaches_the_person(tg: FakeTelegram, bot: Bot, anna: Chat) -> None:
    form = aiohttp.FormData({"chat_id": str(ANNA), "document": "attach://f1", "caption": "Your data"})
    form.add_field("f1", b"{}", filename="export.json")
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{tg.url}/bot{tg.token}/sendDocument", data=form) as response,
    ):
        assert response.status == 200

    shown = anna.visible[0]
    assert shown.file is not None
    assert (shown.file.name, shown.file.data, shown.text) == ("export.json", b"{}", "Your data")


async def test_captions_are_limited(bot: Bot, anna: Chat) -> None:
    sent = await anna.send_photo(b"\xff\xd8\xff")
    again = {"chat_id": ANNA, "photo": sent.file.file_id if sent.file else ""}

    assert "caption is too long" in await bot.call("sendPhoto", caption="x" * 1025, **again)
    assert (await bot.call("sendPhoto", caption="x" * 1024, **again))["photo"]


async def test_a_file_of_a_person_can_be_fetched(tg: FakeTelegram, bot: Bot, anna: Chat) -> None:
    await anna.send_document("notes.txt", b"Remember the milk", "Here")
    message = (await bot.call("getUpdates"))[0]["message"]

    file = await bot.call("getFile", file_id=message["document"]["file_id"])
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{tg.url}/file/bot{tg.token}/{file['file_path']}") as response,
    ):
        data = await response.read()

    assert (message["caption"], data) == ("Here", b"Remember the milk")
    assert "wrong file_id" in await bot.call("getFile", file_id="none")


async def test_commands_are_kept_by_scope_and_language(tg: FakeTelegram, bot: Bot) -> None:
    commands = [{"command": "memory", "description": "What I know"}]
    assert await bot.call("setMyCommands", commands=commands, language_code="ru") is True

    assert await bot.call("getMyCommands", language_code="ru") == commands
    assert await bot.call("getMyCommands") == []
    wrong = [{"command": "Memory", "description": "x"}]
    assert "BOT_COMMAND_INVALID" in await bot.call("setMyCommands", commands=wrong)


async def test_typing_is_counted(bot: Bot, anna: Chat) -> None:
    await bot.call("sendChatAction", chat_id=ANNA, action="typing")

    assert anna.typing == 1


async def test_the_bot_can_introduce_itself(bot: Bot, anna: Chat) -> None:
    assert (await bot.call("getMe"))["username"] == "mnemogram_test_bot"
    assert (await bot.call("getChat", chat_id=ANNA))["first_name"] == "Anna"
    assert await bot.call("setMyDescription", description="I remember.") is True
    assert "too long" in await bot.call("setMyShortDescription", short_description="x" * 121)


async def test_a_group_has_members_and_topics(tg: FakeTelegram, bot: Bot, anna: Chat) -> None:
    group = tg.group(-100500, anna, threads=frozenset({7}))
    await group.send("hello", thread=7)

    message = (await bot.call("getUpdates"))[0]["message"]
    await bot.call("sendMessage", chat_id=-100500, text="hi", message_thread_id=7)

    assert (message["chat"]["id"], message["message_thread_id"]) == (-100500, 7)
    assert group.visible[0].thread_id == 7
    assert anna.visible == []


# Faults


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (too_many_requests(3), 429),
        (forbidden(), 403),
        (conflict(), 409),
        (unauthorized(), 401),
        (bad_request("something"), 400),
        (server_error(), 500),
        (server_error(504), 504),
        (bad_gateway(), 502),
    ],
)
async def test_a_planned_refusal_comes_once_and_is_no_fault_of_the_bot(
    tg: FakeTelegram, bot: Bot, anna: Chat, fault: Fault, status: int
) -> None:
    tg.fail("sendMessage", fault)

    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{tg.url}/bot{tg.token}/sendMessage", data={"chat_id": ANNA, "text": "a"}) as response,
    ):
        text = await response.text()

    assert response.status == status
    assert ("retry_after" in text) == (status == 429)
    assert (tg.refusals, anna.visible) == ([], [])
    assert (await bot.send("a"))["text"] == "a"
    assert [call.status for call in tg.calls_of("sendMessage", chat=anna)] == [status, 200]


@pytest.mark.parametrize("applied", [False, True])
async def test_a_connection_breaks_before_or_after_the_message_is_there(
    tg: FakeTelegram, bot: Bot, anna: Chat, *, applied: bool
) -> None:
    tg.fail("sendMessage", reset(applied=applied))

    with pytest.raises(aiohttp.ClientError):
        await bot.send("a")

    assert len(anna.visible) == applied


async def test_a_message_can_be_there_although_the_response_never_comes(
    tg: FakeTelegram, bot: Bot, anna: Chat
) -> None:
    tg.fail("sendMessage", hang(), when=lambda call: call.params["text"] == "a")

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await bot.send("a")

    assert [message.text for message in anna.visible] == ["a"]
    assert (await bot.send("b"))["text"] == "b"


async def test_a_slow_response_comes_all_the_same(tg: FakeTelegram, bot: Bot, anna: Chat) -> None:
    tg.fail("*", slow(0.05))

    assert (await bot.send("a"))["text"] == "a"


async def test_a_chat_takes_only_so_many_messages_a_second(bot: Bot, tg: FakeTelegram, anna: Chat) -> None:
    tg.limit = RateLimit(seconds=60, burst=2)

    answers = [await bot.send("a") for _ in range(3)]

    assert answers[2].startswith("429 Too Many Requests: retry after ")
    assert (tg.throttled, tg.refusals) == (1, [])


async def test_everything_fails_while_telegram_is_paused(tg: FakeTelegram, bot: Bot, anna: Chat) -> None:
    async with asyncio.TaskGroup() as group:
        poll = group.create_task(_status(tg, "getUpdates", timeout=30))
        await tg.wait_polling()
        tg.pause()
    assert poll.result() == await _status(tg, "getMe") == 502

    tg.resume()

    assert (await bot.send("a"))["text"] == "a"


async def _status(tg: FakeTelegram, method: str, **params: Any) -> int:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{tg.url}/bot{tg.token}/{method}", data=params) as response,
    ):
        return response.status


async def test_a_server_that_was_down_knows_everything_when_it_comes_back(
    tg: FakeTelegram, bot: Bot, anna: Chat
) -> None:
    message = await anna.send("hello")
    await tg.go_down()
    with pytest.raises(aiohttp.ClientConnectionError):
        await bot.send("a")

    await tg.come_back()

    assert await bot.updates() == [message.update_id]


async def test_aiogram_understands_it(tg: FakeTelegram, anna: Chat) -> None:
    from aiogram import Bot as AiogramBot
    from aiogram.client.session.aiohttp import AiohttpSession
    from aiogram.client.telegram import TelegramAPIServer
    from aiogram.types import BufferedInputFile, InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity

    await anna.send("/start")
    await anna.send_photo(b"\xff\xd8\xff", "Look")
    await anna.block()
    await anna.unblock()
    markup = InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="Undo", callback_data="u")]])
    session = AiohttpSession(api=TelegramAPIServer.from_base(tg.url))
    async with AiogramBot(tg.token, session=session) as bot:
        me = await bot.me()
        sent = await bot.send_message(
            ANNA,
            "😀 hello",
            entities=[MessageEntity(type="bold", offset=3, length=5)],
            reply_markup=markup,
        )
        await bot.send_document(ANNA, BufferedInputFile(b"{}", "export.json"), caption="Your data")
        await bot.get_chat(ANNA)
        query = await anna.press(anna.visible[0], "Undo")
        updates = await bot.get_updates(allowed_updates=["message", "callback_query"])
        await bot.answer_callback_query(query.query_id)

    assert me.id == int(tg.token.split(":")[0])
    assert sent.entities is not None
    assert [update.event_type for update in updates] == [
        "message",
        "message",
        "my_chat_member",
        "my_chat_member",
        "callback_query",
    ]
    assert anna.transcript().splitlines()[2:] == ["bot: 😀 hello [Undo]", "bot: Your data <export.json>"]
    assert tg.refusals == []
