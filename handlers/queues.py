"""The queues of each chat: its updates one after another, different chats side by side."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

log = logging.getLogger(__name__)

Start: TypeAlias = Callable[[Coroutine[Any, Any, Any], str], asyncio.Task[Any]]
"""Runs work beside the caller, as `Background.start` does."""

_STOP = re.compile(r"/stop(@\w+)?(\s|$)", re.IGNORECASE)


class Lane(StrEnum):
    """What does not wait for what. Updates of one lane of one chat are handled one after another."""

    TURN = "turn"
    BUTTON = "button"  # must be answered within seconds, also while an answer is written
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Job:
    """An update that waits in the inbox under `item_id`; `data` is what Telegram sent.

    `resumed` says that an earlier process began to work on it, and may have answered.
    """

    item_id: int
    chat_id: int
    data: Mapping[str, Any] = field(repr=False)
    resumed: bool = False

    @property
    def lane(self) -> Lane:
        """Which of the chat's queues this waits in."""
        message = self.data.get("message")
        text = message.get("text") if isinstance(message, dict) else None
        if isinstance(text, str) and _STOP.match(text):
            return Lane.STOP
        return Lane.BUTTON if "callback_query" in self.data else Lane.TURN


Place: TypeAlias = tuple[int, Lane]


class Queues:
    """Hands each update to `handle`, which must not raise."""

    def __init__(self, handle: Callable[[Job], Awaitable[None]], start: Start) -> None:
        self._handle = handle
        self._start = start
        self._waiting: defaultdict[Place, deque[Job]] = defaultdict(deque)
        self._workers: dict[Place, asyncio.Task[Any]] = {}
        self._open = True

    def put(self, job: Job) -> None:
        """Take an update; after `drain` has begun it is left to the inbox, which a restart reads."""
        if not self._open:
            return
        place = (job.chat_id, job.lane)
        self._waiting[place].append(job)
        if place not in self._workers:
            self._workers[place] = self._start(self._work(place), "chat queue")

    def is_busy(self, chat_id: int) -> bool:
        """Tell whether a turn of this chat is being worked on or waits."""
        return (chat_id, Lane.TURN) in self._workers

    async def drain(self, seconds: float) -> None:
        """Let what is being worked on end within `seconds`, then cancel it; what waits stays in the inbox."""
        self._open = False
        for queue in self._waiting.values():
            queue.clear()
        running = set(self._workers.values())
        if not running:
            return
        log.info("waiting for the running turns", extra={"running": len(running)})
        _, late = await asyncio.wait(running, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            log.warning("turns were interrupted and resume after the restart", extra={"turns": len(late)})
            await asyncio.wait(late)

    async def _work(self, place: Place) -> None:
        queue = self._waiting[place]
        try:
            while queue:
                await self._handle(queue.popleft())
        finally:
            del self._workers[place]
            del self._waiting[place]
