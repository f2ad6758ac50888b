"""Fetches updates: nothing is confirmed to Telegram before the inbox has it, and nothing stops for long."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from aiogram import Bot
from aiogram.exceptions import (
    AiogramError,
    TelegramConflictError,
    TelegramNotFound,
    TelegramRetryAfter,
    TelegramUnauthorizedError,
)
from aiogram.methods import DeleteWebhook, GetMe, TelegramMethod
from aiogram.types import User

from bot.inbox import Inbox
from handlers.connection import CALL_SECONDS, REFUSED
from handlers.intake import is_numbered, receive
from handlers.lane import backoff
from handlers.queues import Work
from handlers.requests import RawUpdates
from memory.errors import ConfigError, StorageError
from memory.ports import Clock

log = logging.getLogger(__name__)

POLL_SECONDS = 25
"""How long Telegram holds a request open while there is nothing new."""

STALE_AFTER = timedelta(seconds=90)
"""A poller that has fetched nothing for so long is ill, whatever the reason."""

_CONFLICT_EVERY = timedelta(minutes=1)
_NOBODY_ELSE = "another program fetches the updates of this bot; stop it, or give this one a token of its own"

Result = TypeVar("Result")


@dataclass(slots=True)
class PollingHealth:
    """Whether updates come in; `check` is for the readiness of the process."""

    clock: Clock
    fresh_at: datetime | None = None
    conflict_at: datetime | None = None

    async def check(self) -> bool:
        """Tell whether Telegram has answered lately and nobody else takes this bot's updates."""
        return self.conflict_at is None and self.age_seconds() <= STALE_AFTER.total_seconds()

    def age_seconds(self) -> float:
        """How long ago Telegram answered; infinite when it never did."""
        return math.inf if self.fresh_at is None else (self.clock.now() - self.fresh_at).total_seconds()

    def answered(self) -> None:
        self.fresh_at, self.conflict_at = self.clock.now(), None

    def contested(self) -> None:
        """Somebody else fetches the same bot's updates; said once a minute."""
        now = self.clock.now()
        if self.conflict_at is None or now - self.conflict_at >= _CONFLICT_EVERY:
            log.error(_NOBODY_ELSE)
            self.conflict_at = now


class Poller:
    """Long polling of one bot."""

    def __init__(
        self,
        bot: Bot,
        inbox: Inbox,
        take: Callable[[Work], None],
        health: PollingHealth,
        allowed_updates: Sequence[str],
        *,
        poll_seconds: int = POLL_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`take` gets each update that was not known yet, after it has been stored."""
        self._bot = bot
        self._inbox = inbox
        self._take = take
        self._health = health
        self._allowed = list(allowed_updates)
        self._poll_seconds = poll_seconds
        self._sleep = sleep
        self._offset: int | None = None

    async def run(self) -> None:
        """Fetch until cancelled. Raises ConfigError when the token is no longer good."""
        faults = 0
        while True:
            try:
                await self._fetch()
                faults = 0
            except (TelegramUnauthorizedError, TelegramNotFound):
                raise ConfigError(REFUSED) from None
            except (AiogramError, StorageError) as error:
                await self._sleep(self._pause(error, faults))
                faults += 1

    async def _fetch(self) -> None:
        # The offset confirms what came last and is then left out again: after a quiet week Telegram counts on
        # from a random number, and an old offset above it would confirm, and so lose, what comes then.
        offset, self._offset = self._offset, None
        method = RawUpdates(offset=offset, timeout=self._poll_seconds, allowed_updates=self._allowed)
        try:
            updates = await self._bot(method, request_timeout=self._poll_seconds + CALL_SECONDS)
            news = await receive(self._inbox, updates)
        except BaseException:
            self._offset = offset
            raise
        self._health.answered()
        self._offset = _next_offset(updates)
        for work in news:
            self._take(work)

    def _pause(self, error: Exception, faults: int) -> float:
        """Note what is wrong and return how long to wait."""
        if isinstance(error, TelegramConflictError):
            self._health.contested()
        else:
            log.warning(
                "no updates, trying again", extra={"error": type(error).__name__, "faults": faults + 1}
            )
        if isinstance(error, TelegramRetryAfter):
            return error.retry_after
        return backoff(faults)


async def sign_in(bot: Bot, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> User:
    """Find out who the bot is, waiting for as long as Telegram cannot be reached.

    Long polling needs a bot without a webhook, so that one is taken away; no update is lost with it.
    Raises ConfigError when the token is refused.
    """
    me = await _insist(bot, GetMe(), sleep)
    await _insist(bot, DeleteWebhook(), sleep)
    return me


async def _insist(
    bot: Bot, method: TelegramMethod[Result], sleep: Callable[[float], Awaitable[None]]
) -> Result:
    faults = 0
    while True:
        try:
            return await bot(method)
        except (TelegramUnauthorizedError, TelegramNotFound):
            raise ConfigError(REFUSED) from None
        except AiogramError as error:
            log.warning(
                "Telegram cannot be reached, trying again",
                extra={"error": type(error).__name__, "faults": faults + 1},
            )
            await sleep(error.retry_after if isinstance(error, TelegramRetryAfter) else backoff(faults))
            faults += 1


def _next_offset(updates: Sequence[Any]) -> int | None:
    ids = [update["update_id"] for update in updates if is_numbered(update)]
    return max(ids) + 1 if ids else None
