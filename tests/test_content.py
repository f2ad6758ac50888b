"""What comes with a message besides its words: files the bot cannot see yet, and what is replied to."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.content import QUOTED_CHARS
from tests.fakes.model import ScriptedModel, says
from tests.fakes.telegram import Chat
from tests.telegram_app import ANNA, TelegramApp, running

pytest_plugins = ("tests.telegram_fixtures",)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(*(says(f"Answer {number}.") for number in range(1, 6)))


async def test_the_model_hears_of_a_file_that_came_with_the_words(
    chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    async with running(app):
        await chat.send_photo(b"jpeg", "What is this?")
        await chat.send_document("report.pdf", b"pdf", "And this?")
        await chat.answer_after(await chat.send("And now?"), containing="Answer 3.")

    assert [request.turn.attachments for request in model.requests] == [("photo",), ("report.pdf",), ()]


async def test_the_other_pictures_of_an_album_with_words_are_not_refused(
    chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    photo = [{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}]
    async with running(app):
        await chat.send("", media_group_id="album", photo=photo, caption="Look")
        await chat.send("", media_group_id="album", photo=photo)
        await chat.answer_after(await chat.send("And now?"), containing="Answer 2.")

    assert [message.text for message in chat.visible] == ["Answer 1.", "Answer 2."]


async def test_what_a_message_replies_to_goes_with_it(
    chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    async with running(app):
        question = await chat.send("My dog is called Biscuit")
        answer = await chat.answer_after(question, containing="Answer 1.")
        await chat.send("Is that so?", reply_to=question.message_id)
        await chat.send("Why?", reply_to=answer.message_id)
        await chat.answer_after(await chat.send("And now?"), containing="Answer 4.")

    assert [request.turn.quoted for request in model.requests] == [
        "",
        "Anna: My dog is called Biscuit",
        "assistant: Answer 1.",
        "",
    ]


async def test_of_a_long_message_only_the_quoted_words_go_with_the_reply(
    chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    async with running(app):
        question = await chat.send("My dog is called Biscuit and my cat Muffin")
        await chat.send("Why?", reply_to=question.message_id, quote={"text": "my cat Muffin", "position": 29})
        await chat.answer_after(await chat.send("And now?"), containing="Answer 3.")

    assert model.requests[1].turn.quoted == "Anna: my cat Muffin"


USER = {"id": 7, "is_bot": False, "first_name": "Eve", "last_name": "K."}
CHANNEL_CHAT = {"id": -1007, "type": "channel", "title": "News"}


@pytest.mark.parametrize(
    ("origin", "speaker"),
    [
        ({"type": "user", "date": 0, "sender_user": USER}, "Eve K."),
        ({"type": "hidden_user", "date": 0, "sender_user_name": "Somebody"}, "Somebody"),
        ({"type": "chat", "date": 0, "sender_chat": CHANNEL_CHAT}, "News"),
        ({"type": "channel", "date": 0, "chat": CHANNEL_CHAT, "message_id": 5}, "News"),
    ],
)
async def test_words_from_elsewhere_are_quoted_under_the_name_of_who_wrote_them(
    chat: Chat, app: TelegramApp, model: ScriptedModel, origin: dict[str, Any], speaker: str
) -> None:
    quote = {"text": "It will rain", "position": 0}
    async with running(app):
        forwarded = await chat.send("It will snow", forward_origin=origin)
        await chat.send("Really?", external_reply={"origin": origin}, quote=quote)
        replied = {"message_id": forwarded.message_id, "date": 1, "text": "It will snow", "from": USER}
        replied |= {"chat": {"id": ANNA, "type": "private"}, "forward_origin": origin}
        await chat.answer_after(await chat.send("Really?", reply_to_message=replied), containing="Answer 3.")

    assert model.requests[1].turn.quoted == f"{speaker}: It will rain"
    assert model.requests[2].turn.quoted == f"{speaker}: It will snow"


async def test_a_long_quote_is_shortened(chat: Chat, app: TelegramApp, model: ScriptedModel) -> None:
    async with running(app):
        question = await chat.send("word " * 500)
        await chat.send("Why?", reply_to=question.message_id)
        await chat.answer_after(await chat.send("And now?"), containing="Answer 3.")

    assert len(model.requests[1].turn.quoted) == QUOTED_CHARS
