"""What happens to one update: counted, decoded, handled, and marked in the inbox."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any

from aiogram import Bot, Dispatcher
from aiogram.types import Update
from pydantic import ValidationError

from bot.inbox import Inbox, InboxItem, RawUpdate
from bot.metrics import Metrics
from handlers.errors import LEFT_FOR_LATER
from handlers.markup import sayable
from handlers.queues import Job
from memory.errors import StorageError

log = logging.getLogger(__name__)


class Intake:
    """Works on the jobs of the queues. Afterwards the inbox knows what has become of each."""

    def __init__(self, bot: Bot, dispatcher: Dispatcher, inbox: Inbox, metrics: Metrics) -> None:
        self._bot = bot
        self._dispatcher = dispatcher
        self._inbox = inbox
        self._metrics = metrics

    async def handle(self, job: Job) -> None:
        """Deal with one update; never raises but when cancelled, which leaves the update for the restart."""
        try:
            if await self._inbox.started(job.item_id):
                await self._process(job)
        except asyncio.CancelledError:
            await self._inbox.released(job.item_id)
            raise
        except LEFT_FOR_LATER as error:
            self._failed(job, error)
        except Exception as error:  # noqa: BLE001  a named boundary: one update never stops the others
            self._failed(job, error)
            await self._give_up(job, error)

    async def _process(self, job: Job) -> None:
        try:
            update = Update.model_validate(job.data, context={"bot": self._bot})
        except ValidationError as error:
            await self._inbox.failed(job.item_id, type(error).__name__)
            return
        await self._dispatcher.feed_update(self._bot, update, resumed=job.resumed)
        await self._inbox.done(job.item_id)

    async def _give_up(self, job: Job, error: Exception) -> None:
        try:
            await self._inbox.failed(job.item_id, type(error).__name__)
        except StorageError as storage:
            self._failed(job, storage)

    def _failed(self, job: Job, error: Exception) -> None:
        self._metrics.failed("update", error)
        log.error(
            "an update could not be handled",
            extra={"item": job.item_id, "chat": job.chat_id, "error": type(error).__name__},
        )


async def receive(inbox: Inbox, updates: Iterable[object]) -> list[Job]:
    """Write updates into the inbox and return those that were not known yet, in their order."""
    raw = [_raw(update) for update in updates if isinstance(update, dict) and is_numbered(update)]
    return [_job(item) for item in await inbox.put(raw)]


def is_numbered(update: object) -> bool:
    """Tell whether this can be an update at all; anything else cannot even be confirmed."""
    return isinstance(update, dict) and isinstance(update.get("update_id"), int)


async def waiting(inbox: Inbox) -> list[Job]:
    """Return what the inbox holds from before, the oldest first."""
    return [_job(item) for item in await inbox.pending()]


def _raw(update: Mapping[str, Any]) -> RawUpdate:
    # Half of a surrogate pair, which JSON can hold, would make the whole update unreadable.
    return RawUpdate(update["update_id"], _chat_of(update), sayable(json.dumps(update, ensure_ascii=False)))


def _job(item: InboxItem) -> Job:
    return Job(item.id, item.chat_id, json.loads(item.payload), resumed=item.attempts > 0)


def _chat_of(update: Mapping[str, Any]) -> int:
    """Return the chat of an update that nobody has decoded yet; 0 where it has none."""
    for event in update.values():
        if isinstance(event, dict):
            within = event.get("message") if isinstance(event.get("message"), dict) else event
            chat = within.get("chat") if isinstance(within, dict) else None
            if isinstance(chat, dict) and isinstance(chat.get("id"), int):
                return int(chat["id"])
    return 0
