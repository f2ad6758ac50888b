"""The composition root: the one place that names concrete adapters, for production and tests alike."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta

from bot.background import Background
from bot.config import Config
from bot.conversation import Conversation, TurnSettings
from bot.inbox import Inbox
from bot.jobs import Job, Jobs
from bot.loop import Limits
from bot.metrics import Metrics
from bot.offline import OfflineModel
from bot.ports import ChatModel
from bot.web import Check, WebServer
from memory.chat_copies import ChatCopies
from memory.database import Database, open_database
from memory.embeddings import CachedEmbedder, load_embedder
from memory.errors import EmbedderUnavailable, RerankerUnavailable
from memory.indexing import Indexing
from memory.leases import Leases
from memory.lock import DirectoryLock
from memory.memories import Memories
from memory.ports import Clock, Embedder, Purpose, RealClock, Reranker
from memory.reranker import CrossEncoderReranker, load_reranker
from memory.search import Search
from memory.service import MemoryService
from memory.sessions import Sessions
from memory.vectors import IndexSync, open_index

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class App:
    """Everything that is shared. `start` begins the work in the background; without it nothing ticks."""

    config: Config
    clock: Clock
    database: Database
    memory: MemoryService
    sessions: Sessions
    conversation: Conversation
    embedder: Embedder
    reranker: Reranker | None
    index: IndexSync
    jobs: Jobs
    background: Background
    metrics: Metrics
    checks: dict[str, Check] = field(default_factory=dict)
    """What must hold for the process to be ready; a messenger adds its own."""

    async def start(self) -> None:
        """Load the embedding model, let the index follow and the jobs tick, until the app is closed."""
        self.background.start(_warm(self.embedder, self.reranker), "models")
        await self.index.start()
        self.jobs.start(timedelta(seconds=self.config.jobs.tick_seconds))


@asynccontextmanager
async def open_app(
    config: Config,
    *,
    owner: bool = True,
    note: Callable[[str], None] = log.info,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    reranker: Reranker | None = None,
) -> AsyncIterator[App]:
    """Open everything, and close it in reverse.

    The `owner` of the data directory alone may use the embedded vector index; anybody else, such as a command
    beside a running bot, works on SQL. `note` gets sentences about long work, such as a download. The last
    four stand in for the production adapters. Raises ConfigError, StorageError, AlreadyRunning.
    """
    clock = clock or RealClock()
    async with AsyncExitStack() as stack:
        database = await _database(config, clock, stack, owner=owner)
        background, metrics = Background(), Metrics()
        stack.push_async_callback(background.close)
        embedder = embedder or await _embedder(config, note, metrics, stack)
        index = _index(config, database, embedder, clock, background, owner=owner)
        stack.push_async_callback(index.close)
        metrics.index_lag.set_function(lambda: index.lag)
        reranker = reranker or await _reranker(config, note, stack)
        memory = _memory(config, database, index, embedder, reranker, clock)
        sessions = Sessions(database, clock)
        offline = OfflineModel()
        conversation = Conversation(
            sessions,
            memory,
            model or await _claude(config, stack) or offline,
            offline,
            clock=clock,
            background=background,
            metrics=metrics,
            settings=_turn_settings(config),
        )
        indexing = Indexing(database, embedder, clock, changed=index.kick)
        work = _jobs(config, database, clock, sessions, memory, indexing)
        jobs = Jobs(database, Leases(database, clock), clock, metrics, work)
        stack.push_async_callback(jobs.stop, drain_seconds=5)
        yield App(
            config=config,
            clock=clock,
            database=database,
            memory=memory,
            sessions=sessions,
            conversation=conversation,
            embedder=embedder,
            reranker=reranker,
            index=index,
            jobs=jobs,
            background=background,
            metrics=metrics,
            checks={"database": lambda: _answers(database)},
        )


@asynccontextmanager
async def serve_web(app: App) -> AsyncIterator[None]:
    """Serve health and metrics on web.listen, if there is one. Raises ConfigError."""
    if not app.config.web.listen:
        yield
        return
    web = WebServer(app.config.web.listen, app.metrics, app.checks, refresh=lambda: _measure(app))
    await web.start()
    try:
        yield
    finally:
        await web.close()


async def _measure(app: App) -> None:
    """Bring up to date what is only counted when somebody looks."""
    backlog = await Inbox(app.database, app.clock, app.config.telegram.bot_id).backlog()
    waits = (app.clock.now() - backlog.oldest_at).total_seconds() if backlog.oldest_at else 0.0
    app.metrics.inbox_pending.set(backlog.pending)
    app.metrics.inbox_age.set(waits)


async def _database(config: Config, clock: Clock, stack: AsyncExitStack, *, owner: bool) -> Database:
    if owner:
        lock = DirectoryLock(config.storage.dir)
        lock.acquire()
        stack.callback(lock.release)
    url = config.storage.database_url.get_secret_value()
    database = await open_database(config.storage.dir, url, clock=clock)
    stack.push_async_callback(database.close)
    return database


def _memory(
    config: Config,
    database: Database,
    index: IndexSync,
    embedder: Embedder,
    reranker: Reranker | None,
    clock: Clock,
) -> MemoryService:
    memories = Memories(database, clock)
    copies = ChatCopies(database, lambda: embedder.model_id, limit_bytes=config.vectors.warm_mb * 2**20)
    search = Search(copies, memories, index.nearest, embedder, clock, reranker)
    return MemoryService(memories, search, embedder, clock, changed=index.kick, scrub=database.scrub)


async def _warm(embedder: Embedder, reranker: Reranker | None) -> None:
    """Let the first question not wait for the models; that one cannot be loaded is told where it is used."""
    with suppress(EmbedderUnavailable):
        await embedder.embed(["warm up"], Purpose.QUERY)
    if reranker:
        with suppress(RerankerUnavailable):
            await reranker.rerank("warm up", ["warm up"])


async def _embedder(
    config: Config, note: Callable[[str], None], metrics: Metrics, stack: AsyncExitStack
) -> CachedEmbedder:
    settings = config.embeddings
    embedder = await asyncio.to_thread(
        load_embedder, settings.model, query_cache=settings.query_cache, note=note
    )
    stack.push_async_callback(embedder.close)
    metrics.watch_embedder(lambda: (embedder.hits, embedder.misses))
    return embedder


async def _reranker(
    config: Config, note: Callable[[str], None], stack: AsyncExitStack
) -> CrossEncoderReranker | None:
    reranker = await asyncio.to_thread(load_reranker, config.memory.reranker, note)
    if reranker:
        stack.push_async_callback(reranker.close)
    return reranker


def _index(
    config: Config,
    database: Database,
    embedder: Embedder,
    clock: Clock,
    background: Background,
    *,
    owner: bool,
) -> IndexSync:
    return open_index(
        "off" if config.vectors.mode == "embedded" and not owner else config.vectors.mode,
        directory=config.storage.dir,
        url=config.vectors.url,
        database=database,
        embedder=embedder,
        clock=clock,
        start=background.start,
    )


async def _claude(config: Config, stack: AsyncExitStack) -> ChatModel | None:
    """Claude where it is configured; its library takes a second to import."""
    if not config.claude.is_configured:
        return None
    from bot.claude import ClaudeModel

    claude = ClaudeModel(config.claude)
    stack.push_async_callback(claude.close)
    return claude


def _turn_settings(config: Config) -> TurnSettings:
    claude = config.claude
    return TurnSettings(
        idle=timedelta(minutes=config.sessions.idle_minutes),
        undo=timedelta(minutes=config.memory.undo_minutes),
        zone=config.memory.zone,
        recall_k=config.memory.recall_k,
        recall_tokens=config.memory.recall_tokens,
        neighbours=config.memory.neighbours,
        context_tokens=claude.context_tokens,
        max_tokens=claude.max_tokens,
        history_messages=config.sessions.compress_every_n,
        limits=Limits(max_steps=claude.max_steps, turn_seconds=claude.turn_seconds),
    )


def _jobs(
    config: Config,
    database: Database,
    clock: Clock,
    sessions: Sessions,
    memory: MemoryService,
    indexing: Indexing,
) -> list[Job]:
    idle = timedelta(minutes=config.sessions.idle_minutes)

    async def purge() -> int:
        return (await memory.purge_due()).memories

    jobs = [
        Job("close idle sessions", lambda: sessions.close_idle(idle)),
        Job("purge forgotten memories", purge),
        Job("index finished conversations", indexing.index_closed),
    ]
    if bot_id := config.telegram.bot_id:
        inbox = Inbox(database, clock, bot_id)
        jobs.append(Job("prune the inbox", inbox.prune, every=timedelta(days=1)))
    return jobs


async def _answers(database: Database) -> bool:
    async with database.read() as conn:
        await conn.exec_driver_sql("SELECT 1")
    return True
