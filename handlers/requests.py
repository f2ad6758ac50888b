"""The requests that show a text: what goes out, in the words of the Bot API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from aiogram.methods import EditMessageText, SendMessage, TelegramMethod
from aiogram.types import InlineKeyboardMarkup, LinkPreviewOptions, MessageEntity

from handlers.split import Part

_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)


class Call(Protocol):
    """Carries out one method of the Bot API, as `aiogram.Bot` does."""

    async def __call__(self, method: Any, request_timeout: int | None = None) -> Any: ...


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message as it should appear."""

    chat_id: int
    part: Part
    thread_id: int | None = None
    keyboard: InlineKeyboardMarkup | None = None


# Only the id of what was sent is needed; decoding the whole message could fail after it has arrived.
class SendText(SendMessage):
    __returning__: ClassVar[Any] = dict[str, Any]


class EditText(EditMessageText):
    __returning__: ClassVar[Any] = Any


class RawUpdates(TelegramMethod[list[Any]]):
    """getUpdates without decoding, so that an update that cannot be decoded does not stop the others."""

    __returning__: ClassVar[Any] = list[Any]
    __api_method__: ClassVar[str] = "getUpdates"

    offset: int | None = None
    timeout: int = 0
    allowed_updates: list[str] | None = None


def send_text(out: Outgoing) -> SendText:
    return SendText(
        chat_id=out.chat_id,
        text=out.part.text,
        entities=_entities(out.part),
        parse_mode=None,
        link_preview_options=_NO_PREVIEW,
        message_thread_id=out.thread_id,
        reply_markup=out.keyboard,
    )


def edit_text(out: Outgoing, message_id: int) -> EditText:
    return EditText(
        chat_id=out.chat_id,
        message_id=message_id,
        text=out.part.text,
        entities=_entities(out.part),
        parse_mode=None,
        link_preview_options=_NO_PREVIEW,
        reply_markup=out.keyboard,
    )


def _entities(part: Part) -> list[MessageEntity] | None:
    return [
        MessageEntity(type=e.type, offset=e.offset, length=e.length, url=e.url, language=e.language)
        for e in part.entities
    ] or None
