"""Telegram in and out. What is heavy to import is imported when it is used."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handlers.polling import PollingHealth
    from handlers.run import App


async def run_telegram(app: App, stop: asyncio.Event, health: PollingHealth | None = None) -> None:
    """Serve the configured bot until `stop` is set; see `handlers.run.run`. Raises ConfigError."""
    from handlers.run import run

    await run(app, stop, health)
