"""What it means when Telegram refuses a message, and what of the message may be left out instead."""

from __future__ import annotations

import logging
from dataclasses import replace

from aiogram.exceptions import TelegramBadRequest, TelegramServerError
from aiohttp import ClientConnectorError, ConnectionTimeoutError

from handlers.requests import Outgoing
from memory.errors import MnemogramError

log = logging.getLogger(__name__)

_NOTHING_TO_EDIT = (
    "message to edit not found",
    "message can't be edited",
    "message_id_invalid",
    "no text in the message to edit",
)


class ChatBlocked(MnemogramError):
    """The person has blocked the bot, or their account is gone: nothing can be sent there."""

    def __init__(self, chat_id: int) -> None:
        super().__init__(
            f"Chat {chat_id} does not take messages from the bot; its person must start it again."
        )
        self.chat_id = chat_id


class MessageGone(Exception):
    """The message to be edited does not exist any more, or is not the one that was looked for."""


class Unconfirmed(Exception):
    """A message was sent and no answer came: it may or may not be in the chat, so it is not sent again.

    If it is there, its id is above `after`.
    """

    def __init__(self, after: int) -> None:
        super().__init__(after)
        self.after = after


def was_refused(error: Exception) -> bool:
    """Tell whether a failed call has surely not been carried out."""
    never_sent = isinstance(error.__cause__, ClientConnectorError | ConnectionTimeoutError)
    return isinstance(error, TelegramServerError) or never_sent


def simpler(out: Outgoing, error: TelegramBadRequest) -> Outgoing | None:
    """Return the message without what Telegram refused; ``None`` when it is shown already."""
    if says(error, "message is not modified"):
        return None
    if says(error, *_NOTHING_TO_EDIT):
        raise MessageGone from None
    if says(error, "chat not found", "peer_id_invalid", "user is deactivated"):
        raise ChatBlocked(out.chat_id) from None
    if out.thread_id and says(error, "thread", "topic"):
        return replace(out, thread_id=None)
    if out.part.entities:
        log.warning("formats were refused, sending plain text", extra={"chat": out.chat_id})
        return replace(out, part=replace(out.part, entities=()))
    raise error


def says(error: TelegramBadRequest, *phrases: str) -> bool:
    # Telegram tells these cases apart by nothing but words.
    return any(phrase in error.message.lower() for phrase in phrases)
