"""What a message carries besides its own words: files, and the words that it replies to."""

from __future__ import annotations

from typing import Any

from aiogram.enums import ContentType
from aiogram.types import (
    Chat,
    Message,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUnion,
    MessageOriginUser,
)

from memory.types import Attachment

QUOTED_CHARS = 500
"""So much of what is replied to goes with the reply."""

ASSISTANT = "assistant"
"""The speaker of what the bot itself has said."""


def attachments(message: Message) -> tuple[Attachment, ...]:
    """Return the file that came with a message; of a picture the largest form."""
    kind = ContentType(message.content_type).value
    file: Any = message.photo[-1] if message.photo else getattr(message, kind, None)
    if not hasattr(file, "file_id"):
        return ()
    name = getattr(file, "file_name", None) or ""
    return (Attachment(kind=kind, file_id=file.file_id, name=name, size=file.file_size),)


def quoted(message: Message, bot_id: int) -> str:
    """Return who said what a message replies to, and its words, shortened; empty where there are none."""
    replied, external = message.reply_to_message, message.external_reply
    words = message.quote.text if message.quote else _words(replied)
    if not words.strip():
        return ""
    speaker = _speaker(replied, bot_id) if replied else _origin(external.origin) if external else ""
    said = f"{speaker}: {words}" if speaker else words
    return said if len(said) <= QUOTED_CHARS else said[: QUOTED_CHARS - 1] + "…"


def _words(message: Message | None) -> str:
    return (message.text or message.caption or "") if message else ""


def _speaker(message: Message, bot_id: int) -> str:
    if message.forward_origin:
        return _origin(message.forward_origin)
    if message.from_user and message.from_user.id == bot_id:
        return ASSISTANT
    return message.from_user.full_name if message.from_user else ""


def _origin(origin: MessageOriginUnion) -> str:
    """Return the name of whoever wrote a message that was forwarded or stands in another chat."""
    match origin:
        case MessageOriginUser():
            return origin.sender_user.full_name
        case MessageOriginHiddenUser():
            return origin.sender_user_name
        case MessageOriginChat():
            return _title(origin.sender_chat)
        case MessageOriginChannel():
            return _title(origin.chat)


def _title(chat: Chat) -> str:
    return chat.title or chat.full_name or ""
