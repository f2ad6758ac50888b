"""The methods that send, change and fetch, with the limits that Telegram enforces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fakes.telegram.account import Method
from tests.fakes.telegram.formatted import read_caption, read_text
from tests.fakes.telegram.keyboards import read_buttons
from tests.fakes.telegram.params import Params
from tests.fakes.telegram.refused import Refused
from tests.fakes.telegram.world import ChatState, Message, World

QUERY_SECONDS = 15.0
LARGEST_DOWNLOAD = 20 * 1024 * 1024
LARGEST_PHOTO = 10 * 1024 * 1024
GENERAL = 1
ACTIONS = {
    "choose_sticker",
    "find_location",
    "record_video",
    "record_video_note",
    "record_voice",
    "typing",
    "upload_document",
    "upload_photo",
    "upload_video",
    "upload_video_note",
    "upload_voice",
}


async def send_message(world: World, params: Params) -> Any:
    chat = _chat(world, params)
    shown = read_text(params)
    message = world.add(chat, world.bot, shown, **_place(chat, params), buttons=read_buttons(params))
    return world.as_json(message)


async def send_document(world: World, params: Params) -> Any:
    return await _send_file(world, params, "document")


async def send_photo(world: World, params: Params) -> Any:
    return await _send_file(world, params, "photo")


async def edit_message_text(world: World, params: Params) -> Any:
    message = _own_message(world, params, "edit")
    if message.file:
        raise Refused("there is no text in the message to edit")
    shown, buttons = read_text(params), read_buttons(params)
    _check_modified((shown.text, shown.entities, buttons), (message.text, message.entities, message.buttons))
    message.buttons = buttons
    world.change(message, shown)
    return world.as_json(message)


async def edit_message_reply_markup(world: World, params: Params) -> Any:
    message = _own_message(world, params, "edit")
    buttons = read_buttons(params)
    _check_modified(buttons, message.buttons)
    message.buttons = buttons
    world.changed.send()
    return world.as_json(message)


async def delete_message(world: World, params: Params) -> Any:
    chat = _chat(world, params)
    message = chat.messages.get(params.integer("message_id"))
    if message is None or message.deleted:
        raise Refused("message to delete not found")
    message.deleted = True
    world.changed.send()
    return True


async def send_chat_action(world: World, params: Params) -> Any:
    chat = _chat(world, params)
    if params.text("action") not in ACTIONS:
        raise Refused("wrong parameter action in request")
    thread = params.integer("message_thread_id")
    if thread not in {0, GENERAL} | chat.threads:
        raise Refused("message thread not found")
    chat.typing += 1
    world.changed.send()
    return True


async def answer_callback_query(world: World, params: Params) -> Any:
    query = world.queries.get(params.text("callback_query_id"))
    if query is None or query.answered is not None or world.now() - query.at > QUERY_SECONDS:
        raise Refused("query is too old and response timeout expired or query ID is invalid")
    if len(params.text("text")) > 200:
        raise Refused("MESSAGE_TOO_LONG")
    query.answered = {"text": params.text("text"), "show_alert": params.flag("show_alert")}
    world.changed.send()
    return True


async def get_file(world: World, params: Params) -> Any:
    file = world.files.get(params.text("file_id").removesuffix("-s"))
    if file is None:
        raise Refused("wrong file_id or the file is temporarily unavailable")
    if len(file.data) > LARGEST_DOWNLOAD:
        raise Refused("file is too big")
    unique = f"u-{file.file_id}"
    return {
        "file_id": file.file_id,
        "file_unique_id": unique,
        "file_size": len(file.data),
        "file_path": file.path,
    }


async def get_chat(world: World, params: Params) -> Any:
    full = {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": _no_gifts()}
    return {**_chat(world, params).info, **full}


async def leave_chat(world: World, params: Params) -> Any:
    del world.chats[_chat(world, params).info["id"]]
    return True


MESSAGE_METHODS: Mapping[str, Method] = {
    "answerCallbackQuery": answer_callback_query,
    "deleteMessage": delete_message,
    "editMessageReplyMarkup": edit_message_reply_markup,
    "editMessageText": edit_message_text,
    "getChat": get_chat,
    "getFile": get_file,
    "leaveChat": leave_chat,
    "sendChatAction": send_chat_action,
    "sendDocument": send_document,
    "sendMessage": send_message,
    "sendPhoto": send_photo,
}
LIMITED = {"editMessageReplyMarkup", "editMessageText", "sendDocument", "sendMessage", "sendPhoto"}
"""The methods that count against the rate limit of a chat."""


def _chat(world: World, params: Params) -> ChatState:
    if not params.text("chat_id"):
        raise Refused("chat_id is empty")
    return world.chat(params.integer("chat_id"))


async def _send_file(world: World, params: Params, kind: str) -> Any:
    chat = _chat(world, params)
    upload = params.upload(kind)
    known = world.files.get(params.text(kind).removesuffix("-s"))
    if upload and not upload.data:
        raise Refused("file must be non-empty")
    if upload and kind == "photo" and len(upload.data) > LARGEST_PHOTO:
        raise Refused("file is too big")
    if upload:
        known = world.store(upload.name, upload.data)
    if known is None:
        raise Refused(f"there is no {kind} in the request")
    place = _place(chat, params) | {"buttons": read_buttons(params)}
    message = world.add(chat, world.bot, read_caption(params), file=known, kind=kind, **place)
    return world.as_json(message)


def _place(chat: ChatState, params: Params) -> dict[str, Any]:
    """Return the thread of a new message and what it replies to."""
    thread = params.integer("message_thread_id")
    if thread and thread not in chat.threads:
        raise Refused("message thread not found")
    reply = params.json("reply_parameters") or {
        "message_id": params.integer("reply_to_message_id"),
        "allow_sending_without_reply": params.flag("allow_sending_without_reply"),
    }
    answered = chat.messages.get(int(reply["message_id"]))
    gone = answered is None or answered.deleted
    if reply["message_id"] and gone and not reply.get("allow_sending_without_reply"):
        raise Refused("message to be replied not found")
    return {"thread_id": thread, "reply_to": 0 if gone else int(reply["message_id"])}


def _own_message(world: World, params: Params, verb: str) -> Message:
    message = _chat(world, params).messages.get(params.integer("message_id"))
    if message is None or message.deleted:
        raise Refused(f"message to {verb} not found")
    if not message.from_bot:
        raise Refused(f"message can't be {verb}ed")
    return message


def _check_modified(new: object, old: object) -> None:
    if new == old:
        raise Refused(
            "message is not modified: specified new message content and reply markup are exactly the same "
            "as a current content and reply markup of the message"
        )


def _no_gifts() -> dict[str, bool]:
    kinds = (
        "unlimited_gifts",
        "limited_gifts",
        "unique_gifts",
        "premium_subscription",
        "gifts_from_channels",
    )
    return dict.fromkeys(kinds, False)
