"""The bot in Telegram: puts its parts together, fetches and answers until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from aiogram import Bot, Dispatcher, Router

from bot.background import Background
from bot.config import Config
from bot.conversation import Conversation
from bot.inbox import Inbox
from bot.metrics import Metrics
from bot.notices import Notices
from handlers import admin, chat, errors, forget_commands, memory_commands, session_commands
from handlers.access import AccessMiddleware
from handlers.commands import publish
from handlers.connection import open_bot
from handlers.gate import Gate
from handlers.intake import Intake, waiting
from handlers.keyboards import Shelf
from handlers.once import Once
from handlers.polling import Poller, PollingHealth, sign_in
from handlers.queues import Queues
from handlers.reply import Pace
from handlers.sent import channel_of
from memory.errors import ConfigError
from memory.ports import Clock
from memory.service import MemoryService
from memory.sessions import Sessions

if TYPE_CHECKING:
    from memory.database import Database

log = logging.getLogger(__name__)

ALLOWED_UPDATES = ("message", "callback_query", "my_chat_member")
"""What there are handlers for. Without the last one the bot would never learn that it was blocked."""


class App(Protocol):
    """What Telegram needs of `bot.app.App`."""

    @property
    def config(self) -> Config: ...
    @property
    def database(self) -> Database: ...
    @property
    def memory(self) -> MemoryService: ...
    @property
    def sessions(self) -> Sessions: ...
    @property
    def conversation(self) -> Conversation: ...
    @property
    def background(self) -> Background: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def metrics(self) -> Metrics: ...


@dataclass(frozen=True, slots=True)
class Telegram:
    """The parts that serve one bot."""

    bot: Bot
    gate: Gate
    queues: Queues
    dispatcher: Dispatcher
    intake: Intake
    inbox: Inbox
    notices: Notices


async def run(
    app: App, stop: asyncio.Event, health: PollingHealth | None = None, pace: Pace | None = None
) -> None:
    """Serve the bot until `stop` is set, then let running turns end within telegram.drain_seconds.

    Raises ConfigError when Telegram refuses the token, at the start or later.
    """
    async with connected(app.config) as bot:
        telegram = assemble(app, bot, pace or Pace())
        work = _serve(app, telegram, health or PollingHealth(app.clock))
        serving = app.background.start(_until_refused(work), "telegram")
        stopping = app.background.start(stop.wait(), "stop")
        try:
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            serving.cancel()
            await asyncio.wait({serving, stopping})
            await telegram.queues.drain(app.config.telegram.drain_seconds)
        if not serving.cancelled() and (refusal := serving.result()):
            raise refusal


def assemble(app: App, bot: Bot, pace: Pace) -> Telegram:
    """Return the parts, wired; nothing runs yet."""
    notices = Notices(app.database, channel_of(bot.id))
    gate = Gate(bot, keep=notices.keep)
    inbox = Inbox(app.database, app.clock, bot.id)
    dispatcher = Dispatcher(disable_fsm=True, **resources(app, gate, notices, pace))
    dispatcher.update.outer_middleware(AccessMiddleware(app.config.access, gate, app.clock))
    dispatcher.update.outer_middleware(errors.LastWords(gate))
    dispatcher.include_router(build_router())
    intake = Intake(bot, dispatcher, inbox, app.metrics)
    queues = Queues(intake.handle, app.background.start)
    dispatcher["queues"] = queues
    return Telegram(bot, gate, queues, dispatcher, intake, inbox, notices)


def resources(app: App, gate: Gate, notices: Notices, pace: Pace) -> dict[str, Any]:
    """Return what handlers take by name. The `person` comes from access, the `queues` from `assemble`."""
    return {
        "gate": gate,
        "notices": notices,
        "pace": pace,
        "shelf": Shelf(),
        "once": Once(),
        "config": app.config,
        "database": app.database,
        "memory": app.memory,
        "sessions": app.sessions,
        "conversation": app.conversation,
        "background": app.background,
        "metrics": app.metrics,
    }


def build_router() -> Router:
    """Return all handlers in the order in which they are asked."""
    root = Router(name="telegram")
    root.include_routers(
        errors.router(),
        session_commands.router(),
        memory_commands.router(),
        forget_commands.router(),
        admin.router(),
        chat.router(),
        memory_commands.stale_router(),
    )
    return root


@asynccontextmanager
async def connected(config: Config) -> AsyncIterator[Bot]:
    """Open the bot's connection and close it at the end. Raises ConfigError."""
    bot = open_bot(config.telegram)
    try:
        yield bot
    finally:
        await bot.session.close()


async def _until_refused(work: Coroutine[Any, Any, None]) -> ConfigError | None:
    """Return the refusal that ends the work: whoever runs it tells it, so it is no failure of a task."""
    try:
        await work
    except ConfigError as refusal:
        return refusal
    return None


async def _serve(app: App, telegram: Telegram, health: PollingHealth) -> None:
    """Sign in, take up what the last run has left, then fetch for ever."""
    app.metrics.polling_age.set_function(health.age_seconds)
    me = await sign_in(telegram.bot)
    health.answered()
    log.info("signed in to Telegram", extra={"bot": me.id, "username": me.username})
    app.background.start(publish(telegram.bot), "menu")
    telegram.gate.saw(await telegram.notices.newest())
    for work in await waiting(telegram.inbox):
        telegram.queues.put(work)
    poller = Poller(telegram.bot, telegram.inbox, telegram.queues.put, health, ALLOWED_UPDATES)
    await poller.run()
