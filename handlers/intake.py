"""What happens to one update: counted, decoded, handled, and marked in the inbox."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Any

from aiogram import Bot, Dispatcher
from aiogram.exceptions import TelegramUnauthorizedError
from aiogram.types import Update

from bot.inbox import Attempt, Inbox, InboxItem, RawUpdate
from bot.metrics import Metrics
from handlers.errors import GIVEN_UP
from handlers.markup import sayable
from handlers.queues import Work
from memory.errors import StorageError

log = logging.getLogger(__name__)


class _Stage(Enum):
    """How far this process has come with an update, so that a new attempt goes on from there."""

    BEGUN = auto()
    HANDLED = auto()  # only the inbox does not know it yet


class Intake:
    """Does the work of the queues. Afterwards the inbox knows what has become of each update."""

    def __init__(self, bot: Bot, dispatcher: Dispatcher, inbox: Inbox, metrics: Metrics) -> None:
        self._bot = bot
        self._dispatcher = dispatcher
        self._inbox = inbox
        self._metrics = metrics
        self._stages: dict[int, _Stage] = {}

    async def handle(self, work: Work) -> bool:
        """Deal with one update; false when nothing can be stored now and it is to be tried again.

        Never raises but when cancelled, which leaves the update for the restart.
        """
        try:
            await self._go_on(work)
        except asyncio.CancelledError:
            await self._put_back(work)
            raise
        except StorageError as error:
            self._failed(work, error)
            await self._put_back(work)
            return False
        self._stages.pop(work.item_id, None)
        return True

    async def _go_on(self, work: Work) -> None:
        """Do what is still to be done. Raises StorageError."""
        try:
            if work.item_id in self._stages or await self._begin(work):
                await self._process(work)
        except StorageError:
            raise
        except TelegramUnauthorizedError as error:
            self._failed(work, error)  # and left to the next start, with a token that is good
        except Exception as error:  # noqa: BLE001  a named boundary: one update never stops the others
            self._failed(work, error)
            await self._inbox.failed(work.item_id, type(error).__name__)

    async def _begin(self, work: Work) -> bool:
        attempt = await self._inbox.started(work.item_id)
        if attempt is Attempt.BEGUN:
            self._stages[work.item_id] = _Stage.BEGUN
        elif attempt is Attempt.GIVEN_UP:
            await self._feed(work, given_up=True)
        return attempt is Attempt.BEGUN

    async def _process(self, work: Work) -> None:
        if self._stages[work.item_id] is _Stage.BEGUN:
            await self._feed(work, given_up=False)
            self._stages[work.item_id] = _Stage.HANDLED
        await self._inbox.done(work.item_id)

    async def _feed(self, work: Work, *, given_up: bool) -> None:
        update = Update.model_validate(work.data, context={"bot": self._bot})
        await self._dispatcher.feed_update(self._bot, update, **{GIVEN_UP: given_up})

    async def _put_back(self, work: Work) -> None:
        """Let an attempt that came to no end not count, unless that cannot be stored either."""
        if self._stages.get(work.item_id) is not _Stage.BEGUN:
            return
        try:
            await self._inbox.released(work.item_id)
        except StorageError as error:
            self._failed(work, error)
        else:
            del self._stages[work.item_id]

    def _failed(self, work: Work, error: Exception) -> None:
        self._metrics.failed("update", error)
        log.error(
            "an update could not be handled",
            extra={"item": work.item_id, "chat": work.chat_id, "error": type(error).__name__},
        )


async def receive(inbox: Inbox, updates: Iterable[object]) -> list[Work]:
    """Write updates into the inbox and return those that were not known yet, in their order."""
    raw = [_raw(update) for update in updates if isinstance(update, dict) and is_numbered(update)]
    return [_work(item) for item in await inbox.put(raw)]


def is_numbered(update: object) -> bool:
    """Tell whether this can be an update at all; anything else cannot even be confirmed."""
    return isinstance(update, dict) and isinstance(update.get("update_id"), int)


async def waiting(inbox: Inbox) -> list[Work]:
    """Return what the inbox holds from before, the oldest first."""
    return [_work(item) for item in await inbox.pending()]


def _raw(update: Mapping[str, Any]) -> RawUpdate:
    # Half of a surrogate pair, which JSON can hold, would make the whole update unreadable.
    return RawUpdate(update["update_id"], _chat_of(update), sayable(json.dumps(update, ensure_ascii=False)))


def _work(item: InboxItem) -> Work:
    return Work(item.id, item.chat_id, json.loads(item.payload))


def _chat_of(update: Mapping[str, Any]) -> int:
    """Return the chat of an update that nobody has decoded yet; 0 where it has none."""
    for event in update.values():
        if isinstance(event, dict):
            within = event.get("message") if isinstance(event.get("message"), dict) else event
            chat = within.get("chat") if isinstance(within, dict) else None
            if isinstance(chat, dict) and isinstance(chat.get("id"), int):
                return int(chat["id"])
    return 0
