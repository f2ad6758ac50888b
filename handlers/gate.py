"""The one way out to Telegram: each chat's messages in order, at a pace it allows, not lost and not twice."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from aiogram.enums import ChatAction
from aiogram.exceptions import (
    AiogramError,
    TelegramBadRequest,
    TelegramForbiddenError,
    TelegramNetworkError,
    TelegramRetryAfter,
    TelegramServerError,
)
from aiogram.methods import AnswerCallbackQuery, DeleteMessage, SendChatAction, TelegramMethod

from handlers.lane import Lane
from handlers.refusals import ChatBlocked, Unconfirmed, says, simpler, was_refused
from handlers.requests import Outgoing, edit_text, send_text
from handlers.session import CALL_SECONDS
from handlers.split import Part

log = logging.getLogger(__name__)

COSMETIC_SECONDS = 10
"""How long typing, a callback's answer or an intermediate edit may take."""

MAX_SERVER_FAULTS = 20
"""How often a call is tried again that Telegram itself fails at; over ten minutes."""

_LONGEST_PAUSE = 30.0
_MANY_LANES = 2000


class Call(Protocol):
    """Carries out one method of the Bot API, as `aiogram.Bot` does."""

    async def __call__(self, method: Any, request_timeout: int | None = None) -> Any: ...


class Gate:
    """Sends, edits and shows typing.

    A call that matters waits for its turn and is repeated until it succeeds or can never succeed. A
    cosmetic one is tried at most once, and not at all where it would take the place of one that matters.
    """

    def __init__(
        self,
        call: Call,
        *,
        call_seconds: int = CALL_SECONDS,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._call = call
        self._call_seconds = call_seconds
        self._now = now
        self._sleep = sleep
        self._lanes: dict[int, Lane] = {}

    async def send(self, out: Outgoing) -> int:
        """Send a message and return its id.

        Raises ChatBlocked, and Unconfirmed when it is unknown whether the message has arrived.
        """
        result = await self._deliver(out, send_text, repeatable=False)
        return int(result["message_id"])

    async def edit(self, out: Outgoing, message_id: int) -> None:
        """Put a new content in place of a message's. Raises ChatBlocked and MessageGone."""
        await self._deliver(out, lambda shape: edit_text(shape, message_id), repeatable=True)

    async def try_send(self, out: Outgoing) -> int | None:
        """Send a cosmetic message: its id, or ``None`` when it was shed. Raises Unconfirmed."""
        result = await self._attempt(out.chat_id, send_text(out))
        return None if result is None else int(result["message_id"])

    async def try_edit(self, out: Outgoing, message_id: int) -> bool:
        """Make a cosmetic edit; false when it was shed or its outcome is unknown."""
        try:
            return await self._attempt(out.chat_id, edit_text(out, message_id)) is not None
        except Unconfirmed:
            return False

    async def delete(self, chat_id: int, message_id: int) -> None:
        """Take a message back, unless it is gone already or may not be deleted. Raises ChatBlocked."""
        method = DeleteMessage(chat_id=chat_id, message_id=message_id)
        try:
            await self._deliver(Outgoing(chat_id, Part("")), lambda _: method, repeatable=True)
        except TelegramBadRequest:
            log.info("a message could not be deleted", extra={"chat": chat_id})

    async def typing(self, chat_id: int, thread_id: int | None = None) -> None:
        """Show for five seconds that an answer is being written. Never fails and delays nothing else."""
        lane = self._lane(chat_id)
        if lane.blocked or lane.flooded_until > self._now():
            return
        method = SendChatAction(chat_id=chat_id, action=ChatAction.TYPING, message_thread_id=thread_id)
        try:
            await self._call(method, request_timeout=min(COSMETIC_SECONDS, self._call_seconds))
        except AiogramError as error:
            self._note(lane, chat_id, error)

    async def answer_callback(self, query_id: str, text: str = "", *, alert: bool = False) -> None:
        """Release a button that was pressed. Never fails: the button releases itself after a while."""
        method = AnswerCallbackQuery(callback_query_id=query_id, text=text or None, show_alert=alert or None)
        try:
            await self._call(method, request_timeout=min(COSMETIC_SECONDS, self._call_seconds))
        except AiogramError as error:
            log.info("a callback was not answered", extra={"error": type(error).__name__})

    def slowness(self, chat_id: int) -> int:
        """By which factor cosmetic traffic should slow down after Telegram said that it is too much."""
        return 1 << min(self._lane(chat_id).floods, 3)

    def block(self, chat_id: int) -> None:
        """Send nothing more there: the person has blocked the bot."""
        self._lane(chat_id).blocked = True

    def unblock(self, chat_id: int) -> None:
        """The person has written or started the bot again."""
        self._lane(chat_id).blocked = False

    async def _deliver(
        self, out: Outgoing, shape: Callable[[Outgoing], TelegramMethod[Any]], *, repeatable: bool
    ) -> Any:
        lane = self._lane(out.chat_id)
        faults = 0
        async with lane.lock:
            while True:
                await self._wait_for_turn(lane, out.chat_id)
                try:
                    result = await self._timed(lane, shape(out), self._call_seconds)
                except TelegramBadRequest as error:
                    if (rest := simpler(out, error)) is None:
                        return None
                    out = rest
                except (TelegramServerError, TelegramNetworkError) as error:
                    faults = await self._after_fault(error, faults, repeatable=repeatable)
                except (TelegramRetryAfter, TelegramForbiddenError) as error:
                    self._note(lane, out.chat_id, error)
                else:
                    lane.floods = 0
                    return result

    async def _wait_for_turn(self, lane: Lane, chat_id: int) -> None:
        while not lane.blocked and (pause := lane.pause(self._now())) > 0:
            await self._sleep(pause)
        if lane.blocked:
            raise ChatBlocked(chat_id)
        lane.take(self._now())

    async def _after_fault(self, error: Exception, faults: int, *, repeatable: bool) -> int:
        """Wait before the next attempt, where one may follow; return how many there were."""
        if not repeatable and not was_refused(error):
            raise Unconfirmed from None
        if isinstance(error, TelegramServerError) and faults >= MAX_SERVER_FAULTS:
            raise error
        log.warning(
            "Telegram fails, trying again", extra={"error": type(error).__name__, "faults": faults + 1}
        )
        await self._sleep(backoff(faults))
        return faults + 1

    async def _attempt(self, chat_id: int, method: Any) -> Any:
        """Make a cosmetic call; ``None`` when it was shed, refused or failed. Raises Unconfirmed."""
        lane = self._lane(chat_id)
        if lane.blocked or lane.lock.locked() or not lane.has_spare(self._now()):
            return None
        async with lane.lock:
            lane.take(self._now())
            try:
                return await self._timed(lane, method, min(COSMETIC_SECONDS, self._call_seconds))
            except TelegramBadRequest as error:
                return says(error, "message is not modified") or None
            except TelegramNetworkError as error:
                if not was_refused(error):
                    raise Unconfirmed from None
                return None
            except AiogramError as error:
                self._note(lane, chat_id, error)
                return None

    async def _timed(self, lane: Lane, method: TelegramMethod[Any], seconds: int) -> Any:
        try:
            return await self._call(method, request_timeout=seconds)
        finally:
            lane.landed(self._now())

    def _note(self, lane: Lane, chat_id: int, error: Exception) -> None:
        """Learn from a refusal how the chat's next calls have to be."""
        log.info("Telegram refuses", extra={"chat": chat_id, "error": type(error).__name__})
        if isinstance(error, TelegramRetryAfter):
            lane.flooded(self._now(), error.retry_after + random.random() / 2)  # noqa: S311
        elif isinstance(error, TelegramForbiddenError):
            lane.blocked = True

    def _lane(self, chat_id: int) -> Lane:
        if chat_id not in self._lanes and len(self._lanes) >= _MANY_LANES:
            now = self._now()
            self._lanes = {chat: lane for chat, lane in self._lanes.items() if not lane.idle(now)}
        return self._lanes.setdefault(chat_id, Lane(refilled_at=self._now()))


def backoff(faults: int) -> float:
    """Return how long to wait after so many faults in a row: one second, doubling, at most thirty."""
    return min(_LONGEST_PAUSE, 2.0 ** min(faults, 10)) * random.uniform(0.75, 1.0)  # noqa: S311
