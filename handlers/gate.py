"""The one way out to Telegram: each chat's messages in order, at a pace it allows, not lost and not twice."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

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

from handlers.connection import CALL_SECONDS
from handlers.lane import ALL_BURST, ALL_PER_SECOND, Bucket, Lane, backoff
from handlers.refusals import ChatBlocked, MessageGone, Unconfirmed, says, simpler, was_refused
from handlers.requests import Call, Outgoing, edit_text, send_text
from handlers.split import Part

log = logging.getLogger(__name__)

COSMETIC_SECONDS = 10
"""How long typing, a callback's answer or an intermediate edit may take."""

Keep: TypeAlias = Callable[[int, int], Awaitable[None]]
"""Gets a chat and the id of a message in it."""

_MANY_LANES = 2000
_SEEN = 2000


class Gate:
    """Sends, edits and shows typing.

    A call that matters waits for its turn and is repeated until it succeeds or can never succeed. A
    cosmetic one is tried at most once, and not at all where it would take the place of one that matters.
    """

    def __init__(
        self,
        call: Call,
        *,
        keep: Keep | None = None,
        call_seconds: int = CALL_SECONDS,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`keep` notes for ever what `tell` has sent."""
        self._call = call
        self._keep = keep
        self._call_seconds = call_seconds
        self._now = now
        self._sleep = sleep
        self._lanes: dict[int, Lane] = {}
        self._all = Bucket(now(), ALL_PER_SECOND, ALL_BURST)
        self._seen: deque[int] = deque(maxlen=_SEEN)
        self.newest = 0
        """The highest id of a message seen so far: Telegram numbers those of all private chats in one row."""

    async def send(self, out: Outgoing) -> int:
        """Send a message and return its id.

        Raises ChatBlocked, and Unconfirmed when it is unknown whether the message has arrived.
        """
        return self._sent(await self._deliver(out, send_text, repeatable=False))

    async def tell(self, out: Outgoing) -> int:
        """Send what had better come twice than not at all, and return its id. Raises ChatBlocked."""
        message_id = self._sent(await self._deliver(out, send_text, repeatable=True))
        if self._keep:
            await self._keep(out.chat_id, message_id)
        return message_id

    async def edit(self, out: Outgoing, message_id: int) -> None:
        """Put a new content in place of a message's. Raises ChatBlocked and MessageGone."""
        await self._deliver(out, lambda shape: edit_text(shape, message_id), repeatable=True)

    async def claim(self, out: Outgoing, message_id: int) -> None:
        """Edit a message that nobody has confirmed, if it is there.

        Raises ChatBlocked, and MessageGone also where another message has got this id.
        """

        def shape(out: Outgoing) -> TelegramMethod[Any]:
            # Looked up as late as this, because another message to this chat may have been waited for.
            if message_id in self._seen:
                raise MessageGone
            return edit_text(out, message_id)

        await self._deliver(out, shape, repeatable=True)

    async def try_send(self, out: Outgoing) -> int | None:
        """Send a cosmetic message: its id, or ``None`` when it was shed. Raises Unconfirmed."""
        result = await self._attempt(out.chat_id, send_text(out))
        return None if result is None else self._sent(result)

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
        except (TelegramBadRequest, MessageGone):
            log.info("a message could not be deleted", extra={"chat": chat_id})

    async def typing(self, chat_id: int, thread_id: int | None = None) -> None:
        """Show for five seconds that an answer is being written. Never fails and delays nothing else."""
        lane = self._lane(chat_id)
        if lane.blocked or lane.flooded_until > self._now() or not self._all.has_spare(self._now()):
            return
        self._all.take(self._now())
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

    def saw(self, message_id: int) -> None:
        """Take note of a message of a private chat, whoever wrote it."""
        self.newest = max(self.newest, message_id)
        self._seen.append(message_id)

    def slowness(self, chat_id: int) -> int:
        """By which factor cosmetic traffic should slow down after Telegram said that it is too much."""
        return 1 << min(self._lane(chat_id).floods, 3)

    def block(self, chat_id: int) -> None:
        """Send nothing more there: the person has blocked the bot."""
        self._lane(chat_id).blocked = True

    def unblock(self, chat_id: int) -> None:
        """The person has written or started the bot again."""
        self._lane(chat_id).blocked = False

    def _sent(self, result: Any) -> int:
        message_id = int(result["message_id"])
        self.saw(message_id)
        return message_id

    async def _deliver(
        self, out: Outgoing, shape: Callable[[Outgoing], TelegramMethod[Any]], *, repeatable: bool
    ) -> Any:
        lane = self._lane(out.chat_id)
        faults = 0
        async with lane.lock:
            while True:
                await self._wait_for_turn(lane, out.chat_id)
                newest = self.newest
                try:
                    result = await self._timed(lane, shape(out), self._call_seconds)
                except TelegramBadRequest as error:
                    if (rest := simpler(out, error)) is None:
                        return None
                    out = rest
                except (TelegramServerError, TelegramNetworkError) as error:
                    if not repeatable and not was_refused(error):
                        raise Unconfirmed(newest) from None
                    await self._after_fault(error, faults)
                    faults += 1
                except (TelegramRetryAfter, TelegramForbiddenError) as error:
                    self._note(lane, out.chat_id, error)
                else:
                    lane.floods = 0
                    return result

    async def _wait_for_turn(self, lane: Lane, chat_id: int) -> None:
        while not lane.blocked and (pause := self._pause(lane)) > 0:
            await self._sleep(pause)
        if lane.blocked:
            raise ChatBlocked(chat_id)
        self._take(lane)

    def _pause(self, lane: Lane) -> float:
        now = self._now()
        return max(lane.pause(now), self._all.pause(now))

    def _take(self, lane: Lane) -> None:
        lane.bucket.take(self._now())
        self._all.take(self._now())

    async def _after_fault(self, error: Exception, faults: int) -> None:
        log.warning(
            "Telegram fails, trying again", extra={"error": type(error).__name__, "faults": faults + 1}
        )
        await self._sleep(backoff(faults))

    async def _attempt(self, chat_id: int, method: Any) -> Any:
        """Make a cosmetic call; ``None`` when it was shed, refused or failed. Raises Unconfirmed."""
        lane = self._lane(chat_id)
        if lane.blocked or lane.lock.locked() or not self._has_spare(lane):
            return None
        async with lane.lock:
            self._take(lane)
            newest = self.newest
            try:
                return await self._timed(lane, method, min(COSMETIC_SECONDS, self._call_seconds))
            except TelegramBadRequest as error:
                return says(error, "message is not modified") or None
            except TelegramNetworkError as error:
                if not was_refused(error):
                    raise Unconfirmed(newest) from None
                return None
            except AiogramError as error:
                self._note(lane, chat_id, error)
                return None

    def _has_spare(self, lane: Lane) -> bool:
        now = self._now()
        return lane.has_spare(now) and self._all.has_spare(now)

    async def _timed(self, lane: Lane, method: TelegramMethod[Any], seconds: int) -> Any:
        try:
            return await self._call(method, request_timeout=seconds)
        finally:
            lane.bucket.landed(self._now())

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
        return self._lanes.setdefault(chat_id, Lane(Bucket(self._now())))
