"""The queues of each chat: its updates one after another, different chats side by side."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from handlers.lane import backoff

log = logging.getLogger(__name__)

Start: TypeAlias = Callable[[Coroutine[Any, Any, Any], str], asyncio.Task[Any]]
"""Runs work beside the caller, as `Background.start` does."""

TURNS_AT_ONCE = 32
"""How many chats are answered side by side; the others wait, so that a crowd does not slow everybody down."""

_STOP = re.compile(r"/stop(@\w+)?(\s|$)", re.IGNORECASE)


class Track(StrEnum):
    """What does not wait for what. Updates of one track of one chat are handled one after another."""

    TURN = "turn"
    BUTTON = "button"  # must be answered within seconds, also while an answer is written
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Work:
    """An update that waits in the inbox under `item_id`; `data` is what Telegram sent."""

    item_id: int
    chat_id: int
    data: Mapping[str, Any] = field(repr=False)

    @property
    def track(self) -> Track:
        """Which of the chat's queues this waits in."""
        message = self.data.get("message")
        text = message.get("text") if isinstance(message, dict) else None
        if isinstance(text, str) and _STOP.match(text):
            return Track.STOP
        return Track.BUTTON if "callback_query" in self.data else Track.TURN


Place: TypeAlias = tuple[int, Track]


class Queues:
    """Hands each update to `handle`, which must not raise and says whether the update is dealt with.

    One that is not is tried again after a while, and those behind it wait.
    """

    def __init__(
        self,
        handle: Callable[[Work], Awaitable[bool]],
        start: Start,
        *,
        turns_at_once: int = TURNS_AT_ONCE,
        pause_seconds: Callable[[int], float] = backoff,
    ) -> None:
        """`pause_seconds` says how long to wait after so many failures in a row."""
        self._handle = handle
        self._start = start
        self._pause_seconds = pause_seconds
        self._turns = asyncio.Semaphore(turns_at_once)
        self._waiting: defaultdict[Place, deque[Work]] = defaultdict(deque)
        self._workers: dict[Place, asyncio.Task[Any]] = {}
        self._closing = asyncio.Event()

    def put(self, work: Work) -> None:
        """Take an update; after `drain` has begun it is left to the inbox, which a restart reads."""
        if self._closing.is_set():
            return
        place = (work.chat_id, work.track)
        self._waiting[place].append(work)
        if place not in self._workers:
            self._workers[place] = self._start(self._serve(place), "chat queue")

    def is_busy(self, chat_id: int) -> bool:
        """Tell whether a turn of this chat is being worked on or waits."""
        return (chat_id, Track.TURN) in self._workers

    async def drain(self, seconds: float) -> None:
        """Let what is being worked on end within `seconds`, then cancel it; what waits stays in the inbox."""
        self._closing.set()
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

    async def _serve(self, place: Place) -> None:
        queue = self._waiting[place]
        try:
            while queue:
                await self._finish(queue.popleft())
        finally:
            del self._workers[place]
            del self._waiting[place]

    async def _finish(self, work: Work) -> None:
        failures = 0
        while not await self._attempt(work):
            await self._pause(self._pause_seconds(failures))
            failures += 1

    async def _attempt(self, work: Work) -> bool:
        """Tell whether nothing is left to be done here: it is dealt with, or it is for the next start."""
        async with self._turns if work.track is Track.TURN else nullcontext():
            return self._closing.is_set() or await self._handle(work)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()
