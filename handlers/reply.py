"""The answer to one message: shown while it is written, then in its final form in the same place."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

from handlers.gate import Gate
from handlers.markup import preview, render
from handlers.refusals import MessageGone, Unconfirmed
from handlers.requests import Outgoing
from handlers.sent import SentParts, on_its_way
from handlers.split import Part

log = logging.getLogger(__name__)

Start: TypeAlias = Callable[[Coroutine[Any, Any, Any], str], asyncio.Task[Any]]
"""Runs work beside the caller, as `Background.start` does."""

PROBES = 6
"""How many ids are tried to find a message that nobody has confirmed; other chats may have got the first."""

LAST_WORDS_SECONDS = 2.0
"""How long a call that is on its way may still take when a turn is cut off."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: before the first text, between two edits, between two signs of typing."""

    first: float = 0.7
    every: float = 1.2
    typing: float = 4.0


@dataclass(slots=True)
class _Shown:
    """One message. `id` is unknown while nobody has confirmed it, `part` after a failed edit.

    An unknown id is above `after`.
    """

    id: int | None
    part: Part | None = None
    after: int = 0


class TelegramReply:
    """The `Reply` of Telegram; a context manager that shows typing for as long as it is open."""

    def __init__(
        self,
        gate: Gate,
        sent: SentParts,
        start: Start,
        *,
        chat_id: int,
        question_id: int,
        empty: str,
        thread_id: int | None = None,
        pace: Pace | None = None,
    ) -> None:
        """`question_id` is Telegram's id of the question; `empty` is said when there is nothing to say."""
        self._gate = gate
        self._sent = sent
        self._start = start
        self._chat_id = chat_id
        self._question_id = question_id
        self._empty = empty
        self._thread_id = thread_id
        self._pace = pace or Pace()
        self._latest = ""
        self._messages: list[_Shown] | None = None
        self._ending = asyncio.Event()
        self._typing: asyncio.Task[Any] | None = None
        self._painting: asyncio.Task[Any] | None = None

    async def __aenter__(self) -> Self:
        self._typing = self._start(self._keep_typing(), "typing")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        if self._typing is not None:
            self._typing.cancel()
        if self._painting is not None:
            # What is being sent should be known by its id, or a restart could not go on in its place.
            await asyncio.wait({self._painting}, timeout=LAST_WORDS_SECONDS)
            self._painting.cancel()

    async def write(self, text: str) -> None:
        """Take the answer so far; it is shown at the chat's own pace, beside whoever writes."""
        self._latest = text
        if self._painting is None and not self._ending.is_set():
            self._painting = self._start(self._paint(), "preview")

    async def note(self, text: str) -> None:
        """Nothing but the typing sign, which is shown anyway: a message that vanishes again is noise."""

    async def finish(self, text: str) -> None:
        """Show the final answer in place of the preview. Raises ChatBlocked."""
        self._ending.set()
        if self._typing is not None:
            self._typing.cancel()
        if self._painting is not None:
            # An edit that is on its way must not arrive after the final one.
            await asyncio.wait({self._painting})
        parts = render(text, self._empty)
        for number, part in enumerate(parts):
            await self._show(number, part)
        await self._take_back(len(parts))

    async def _show(self, number: int, part: Part) -> None:
        """Bring message number `number` into its final form, and do not rest before it is."""
        messages = await self._known()
        while number >= len(messages) or not await self._rewrite(messages[number], number, part):
            if await self._post(number, part, self._gate.send):
                return
            log.warning("it is unknown whether an answer has arrived", extra={"chat": self._chat_id})

    async def _rewrite(self, shown: _Shown, number: int, part: Part) -> bool:
        """Put the final form in place of what is shown; false when there is no such message."""
        if shown.id is None:
            return await self._find(shown, number, part)
        if shown.part == part:
            return True
        try:
            await self._gate.edit(self._outgoing(part), shown.id)
        except MessageGone:
            return False
        shown.part = part
        return True

    async def _find(self, shown: _Shown, number: int, part: Part) -> bool:
        """Look for a message that may have arrived, by editing what would be it; false when it has not."""
        messages = await self._known()
        before = messages[number - 1].id if number else self._question_id
        for candidate in await self._sent.free(max(before or 0, shown.after), PROBES):
            try:
                await self._gate.claim(self._outgoing(part), candidate)
            except MessageGone:
                continue
            shown.id, shown.part = candidate, part
            await self._sent.record(number, candidate)
            return True
        return False

    async def _paint(self) -> None:
        """Show what is written so far, again and again until the end."""
        await self._pause(self._pace.first)
        while not self._ending.is_set():
            for number, part in enumerate(preview(self._latest)):
                if self._ending.is_set() or not await self._sketch(number, part):
                    break
            await self._pause(self._pace.every * self._gate.slowness(self._chat_id))

    async def _sketch(self, number: int, part: Part) -> bool:
        """Try to show one part of the preview; false when this is not possible now.

        What may have arrived is not looked for: a preview is not worth the risk of hitting something else.
        """
        messages = await self._known()
        if number == len(messages):
            return await self._post(number, part, self._gate.try_send)
        shown = messages[number]
        if shown.id is None or shown.part == part:
            return shown.id is not None
        shown.part = None
        if not await self._gate.try_edit(self._outgoing(part), shown.id):
            return False
        shown.part = part
        return True

    async def _post(
        self, number: int, part: Part, send: Callable[[Outgoing], Coroutine[Any, Any, int | None]]
    ) -> bool:
        """Send a message; false when it was shed, or when nobody has confirmed it."""
        messages = await self._known()
        await self._sent.record(number, on_its_way(max(self._gate.newest, self._question_id)))
        try:
            platform_id = await send(self._outgoing(part))
        except Unconfirmed as unknown:
            messages[number : number + 1] = [_Shown(None, after=unknown.after)]
            return False
        if platform_id is None:
            await self._sent.clear(number)
            return False
        messages[number : number + 1] = [_Shown(platform_id, part)]
        await self._sent.record(number, platform_id)
        return True

    async def _take_back(self, kept: int) -> None:
        """Remove the messages beyond the final answer's, which an earlier text had needed."""
        surplus = (await self._known())[kept:]
        for shown in surplus:
            if shown.id is not None:
                await self._gate.delete(self._chat_id, shown.id)
        if surplus:
            await self._sent.clear(kept)

    async def _known(self) -> list[_Shown]:
        if self._messages is None:
            self._messages = [
                _Shown(platform_id) if platform_id > 0 else _Shown(None, after=-platform_id)
                for platform_id in await self._sent.load()
            ]
        return self._messages

    def _outgoing(self, part: Part) -> Outgoing:
        return Outgoing(self._chat_id, part, self._thread_id)

    async def _keep_typing(self) -> None:
        while True:
            await self._gate.typing(self._chat_id, self._thread_id)
            await asyncio.sleep(self._pace.typing)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not beyond the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ending.wait()
