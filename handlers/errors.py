"""The boundary of a handler: whatever fails, the person gets one sentence and the log a class."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from aiogram import BaseMiddleware, Router
from aiogram.exceptions import TelegramUnauthorizedError
from aiogram.types import ErrorEvent, TelegramObject, Update

from bot.metrics import Metrics
from bot.texts import text
from handlers.access import Handler, Person
from handlers.gate import Gate
from handlers.once import Once
from handlers.refusals import ChatBlocked
from handlers.say import say
from memory.errors import StorageError

log = logging.getLogger(__name__)

GIVEN_UP = "given_up"
"""Stands beside an update that no handler may have any more."""


class LastWords(BaseMiddleware):
    """Tells the person that an update was given up, in place of its handler."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def __call__(self, handler: Handler, event: TelegramObject, data: dict[str, Any]) -> Any:
        assert isinstance(event, Update), "stands right behind the check of access"
        if not data.get(GIVEN_UP):
            return await handler(event, data)
        if event.message or event.callback_query:
            await _tell(self._gate, data["person"], "errors-given-up")
        return None


async def apologise(
    event: ErrorEvent, gate: Gate, metrics: Metrics, once: Once, person: Person | None = None
) -> None:
    """Say that it did not work. Raises the errors after which the update is to be tried again."""
    error, update_id = event.exception, event.update.update_id
    if isinstance(error, ChatBlocked):
        log.info("the person has blocked the bot", extra={"chat": error.chat_id})
        return
    if isinstance(error, TelegramUnauthorizedError):
        raise error
    if isinstance(error, StorageError):
        if person is not None and once.first("storage", update_id):
            await _tell(gate, person, "errors-storage")
        raise error
    metrics.failed("handler", error)
    log.error("a handler failed", exc_info=error, extra={"update": update_id})
    if person is not None:
        await _tell(gate, person, "errors-sorry")


async def _tell(gate: Gate, person: Person, key: str) -> None:
    with suppress(ChatBlocked):
        await say(gate, person, text(key, person.language))


def router() -> Router:
    """Return the handler of errors, which every other router falls back to."""
    errors = Router(name="errors")
    errors.error.register(apologise)
    return errors
