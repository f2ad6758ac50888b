"""The parts of an app that Telegram needs, with a scripted model and a memory that goes by words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from aiogram import Bot

from bot.background import Background
from bot.config import Config, Telegram
from bot.conversation import Conversation, TurnSettings
from bot.loop import Limits
from bot.metrics import Metrics
from handlers.connection import open_bot
from handlers.polling import PollingHealth
from handlers.reply import Pace
from handlers.run import run
from handlers.sent import channel_of
from memory.chat_copies import ChatCopies
from memory.database import Database, open_database
from memory.errors import EmbedderUnavailable
from memory.memories import Memories
from memory.ports import Purpose
from memory.search import Search
from memory.service import MemoryService
from memory.sessions import Sessions
from memory.types import MemoryType, NewMemory, Origin, Vector
from tests.fakes.clock import FrozenClock
from tests.fakes.model import Line, ScriptedModel
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram.server import TOKEN
from tests.recall import not_asked

ANNA, BORIS, STRANGER = 101, 102, 666
CHANNEL = channel_of(int(TOKEN.partition(":")[0]))
FAST = Pace(first=0.01, every=0.02, typing=0.05)


class NoEmbedder:
    """Search then goes by words alone."""

    model_id = "none"
    dimensions = 1

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        raise EmbedderUnavailable("there is none in this test")


@dataclass
class TelegramApp:
    """What `handlers.run.App` asks for."""

    config: Config
    database: Database
    memory: MemoryService
    sessions: Sessions
    conversation: Conversation
    background: Background
    clock: FrozenClock
    metrics: Metrics
    model: ScriptedModel
    health: PollingHealth = field(init=False)

    def __post_init__(self) -> None:
        self.health = PollingHealth(self.clock)


def script(model: ScriptedModel, *lines: Line) -> None:
    """Let the model say these when it is asked next."""
    model._script.extend(lines)


async def remember(app: TelegramApp, *texts: str, chat_id: int = ANNA) -> list[int]:
    """Store facts that Anna has told, and return their ids."""
    news = [NewMemory(chat_id, text, MemoryType.FACT, Origin.PERSON, speaker="Anna") for text in texts]
    return [(await app.memory.remember(new)).memory.id for new in news]


def config_for(tg: FakeTelegram, **sections: Any) -> Config:
    telegram = {"token": tg.token, "api_base": tg.url, "drain_seconds": 5}
    access = {"admins": [ANNA], "users": [BORIS]}
    return Config.model_validate({"telegram": telegram, "access": access} | sections)


def bot_for(tg: FakeTelegram) -> Bot:
    return open_bot(Telegram.model_validate({"token": tg.token, "api_base": tg.url}))


@asynccontextmanager
async def telegram_app(config: Config, directory: Path, model: ScriptedModel) -> AsyncIterator[TelegramApp]:
    """Open the parts on the data in `directory`; closing them leaves the data."""
    clock = FrozenClock()
    database = await open_database(directory / "data", clock=clock)
    background = Background()
    memories, sessions, metrics = Memories(database, clock), Sessions(database, clock), Metrics()
    copies = ChatCopies(database, lambda: NoEmbedder.model_id, limit_bytes=2**20)
    search = Search(copies, memories, not_asked, NoEmbedder(), clock)
    memory = MemoryService(memories, search, NoEmbedder(), clock, changed=lambda: None, scrub=database.scrub)
    conversation = Conversation(
        sessions,
        memory,
        model,
        model,
        clock=clock,
        background=background,
        metrics=metrics,
        settings=_settings(config),
    )
    app = TelegramApp(config, database, memory, sessions, conversation, background, clock, metrics, model)
    try:
        yield app
    finally:
        await background.close()
        await database.close()


@asynccontextmanager
async def running(app: TelegramApp) -> AsyncIterator[asyncio.Event]:
    """Serve Telegram until the block ends or sets the event that it gets."""
    stop = asyncio.Event()
    serving = app.background.start(run(app, stop, app.health, FAST), "bot")
    try:
        yield stop
    finally:
        stop.set()
        await serving


def _settings(config: Config) -> TurnSettings:
    return TurnSettings(
        idle=timedelta(minutes=config.sessions.idle_minutes),
        undo=timedelta(minutes=config.memory.undo_minutes),
        zone=config.memory.zone,
        recall_k=0,
        recall_tokens=config.memory.recall_tokens,
        neighbours=config.memory.neighbours,
        history_messages=20,
        context_tokens=20_000,
        max_tokens=1000,
        limits=Limits(),
    )
