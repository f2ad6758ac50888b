"""Waiting for a change without sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


class Signal:
    """Wakes everybody who waits when something has changed."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def send(self) -> None:
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self) -> None:
        """Return at the next change."""
        await self._event.wait()

    async def until(self, check: Callable[[], Found], timeout: float) -> Found:  # noqa: ASYNC109
        """Return what `check` gives as soon as it is true. Raises TimeoutError."""
        async with asyncio.timeout(timeout):
            while not (found := check()):
                await self.wait()
            return found

    async def quiet(self, seconds: float) -> None:
        """Return when nothing has changed for so long."""
        while True:
            try:
                async with asyncio.timeout(seconds):
                    await self.wait()
            except TimeoutError:
                return
