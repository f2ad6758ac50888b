"""How long the event loop stands still while there is work, and how others are answered meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

TICK_SECONDS = 0.001


class Ticker:
    """Looks every millisecond whether the event loop turns. `longest_ms` is the longest that it did not.

    `busy_ms` is the time that the loop's own thread worked in that gap: the rest of it the thread waited, for
    the interpreter's lock or for a processor.
    """

    def __init__(self) -> None:
        self.longest_ms = 0.0
        self.busy_ms = 0.0
        self._loop = asyncio.get_running_loop()
        self._seen = (time.perf_counter(), time.thread_time())
        self._next = self._loop.call_later(TICK_SECONDS, self._tick)

    def stop(self) -> None:
        self._next.cancel()
        self._look()

    def _tick(self) -> None:
        self._look()
        self._next = self._loop.call_later(TICK_SECONDS, self._tick)

    def _look(self) -> None:
        now, worked = time.perf_counter(), time.thread_time()
        gap = 1_000 * (now - self._seen[0] - TICK_SECONDS)
        if gap > self.longest_ms:
            self.longest_ms, self.busy_ms = gap, 1_000 * (worked - self._seen[1])
        self._seen = (now, worked)


@contextmanager
def ticking() -> Iterator[Ticker]:
    """Tick as long as the block runs, in its event loop."""
    ticker = Ticker()
    try:
        yield ticker
    finally:
        ticker.stop()


async def while_asking(work: Awaitable[T], ask: Callable[[], Awaitable[object]]) -> tuple[T, list[float]]:
    """Await the work while somebody asks one question after another; return the milliseconds of each as well.

    At least one question is asked. What either raises is raised.
    """
    took: list[float] = []
    done = asyncio.Event()

    async def asking() -> None:
        while not (done.is_set() and took):
            started = time.perf_counter()
            await ask()
            took.append(1_000 * (time.perf_counter() - started))

    async with asyncio.TaskGroup() as group:
        group.create_task(asking())
        result = await work
        done.set()
    return result, took
