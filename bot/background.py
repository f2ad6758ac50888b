"""The one place that starts background tasks, so that closing can wait for all of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class Background:
    """Tasks that outlive the call that started them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run `work` beside the caller; a failure is logged by class, never raised."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self, drain_seconds: float = 0) -> None:
        """Wait up to `drain_seconds` for the running tasks, then cancel what is left."""
        if self._tasks and drain_seconds:
            await asyncio.wait(set(self._tasks), timeout=drain_seconds)
        for task in set(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            failure = {"task": task.get_name(), "error": type(error).__name__}
            log.error("a background task failed", extra=failure)
