"""The boundary of a handler: whatever fails, the person gets one sentence and the log a class."""

from __future__ import annotations

import logging

from aiogram import Router
from aiogram.exceptions import AiogramError, TelegramUnauthorizedError
from aiogram.types import ErrorEvent

from bot.metrics import Metrics
from bot.texts import text
from handlers.access import Person
from handlers.gate import Gate
from handlers.markup import plain
from handlers.refusals import ChatBlocked
from handlers.requests import Outgoing
from memory.errors import StorageError

log = logging.getLogger(__name__)

LEFT_FOR_LATER = (StorageError, TelegramUnauthorizedError)
"""What makes it useless to go on now: the update stays in the inbox for the next start."""


async def apologise(event: ErrorEvent, gate: Gate, metrics: Metrics, person: Person | None = None) -> None:
    """Say that it did not work. Raises the errors after which the update is to be tried again."""
    error = event.exception
    if isinstance(error, ChatBlocked):
        log.info("the person has blocked the bot", extra={"chat": error.chat_id})
        return
    if isinstance(error, LEFT_FOR_LATER):
        if person is not None and isinstance(error, StorageError):
            await _tell(gate, person, "errors-storage")
        raise error
    metrics.failed("handler", error)
    log.error("a handler failed", exc_info=error, extra={"update": event.update.update_id})
    if person is not None and not isinstance(error, AiogramError):
        await _tell(gate, person, "errors-sorry")


async def _tell(gate: Gate, person: Person, key: str) -> None:
    [part] = plain(text(key, person.language))
    await gate.try_send(Outgoing(person.chat_id, part, person.thread_id))


def router() -> Router:
    """Return the handler of errors, which every other router falls back to."""
    errors = Router(name="errors")
    errors.error.register(apologise)
    return errors
