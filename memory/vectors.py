"""The vector index and the follower that keeps it like SQL; search never depends on either being well."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import socket
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from memory.chroma_homes import EmbeddedHome, ServerHome
from memory.database import Database
from memory.errors import IndexDamaged, IndexUnavailable
from memory.index_copies import Copy, IndexCopies, IndexHome
from memory.ports import Clock, Embedder, IndexEntry, Purpose
from memory.types import MemoryType, Vector
from memory.vector_rows import Change
from memory.vector_rows import VectorRows as VectorRows

log = logging.getLogger(__name__)

BATCH = 64
EMBED_BATCH = 32
NEAREST_SECONDS = 5.0
POLL_SECONDS = 2.0
PAUSE_SECONDS = 600.0
"""The longest pause between two tries to bring a broken index back."""

COMPACT_SHARE = 50
"""Rebuilding to get rid of erased vectors takes at most the fiftieth part of the time."""


class IndexState(StrEnum):
    """How the index is. Search scans the vectors in SQL for whatever the index cannot answer."""

    STARTING = "starting"  # is being opened
    FOLLOWING = "following"  # some changes are not in it yet
    READY = "ready"  # holds all that SQL holds
    BROKEN = "broken"  # cannot be used now; it is tried again, or built anew
    OFF = "off"  # this process has no index


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a comparison of index and SQL found, in memories of all chats."""

    memories: int  # active in SQL
    entries: int  # in the index
    missing: int  # should be in the index and are not
    extra: int  # are in the index and should not be
    unembedded: int  # have no vector of the present model yet
    behind: int  # changes that the index has not followed yet

    @property
    def ok(self) -> bool:
        return not (self.missing or self.extra or self.unembedded or self.behind)


class IndexSync:
    """Follows the changes in SQL, its own and those of other processes, and answers for the index.

    It first embeds what has no vector yet, then brings the index up to the same revision, and only then
    notes that revision: done again after a crash, each step changes nothing. A broken index is replaced by
    an empty one that follows from the beginning, and an index that holds erased vectors is as well: Chroma's
    files never shrink.
    """

    def __init__(
        self,
        rows: VectorRows,
        copies: IndexCopies | None,
        embedder: Embedder,
        clock: Clock,
        start: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[Any]],
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        """`start` runs a task in the background. Without `copies` vectors are made, but not indexed."""
        self._rows = rows
        self._copies = copies
        self._embedder = embedder
        self._clock = clock
        self._start = start
        self._poll_seconds = poll_seconds
        self._lock = asyncio.Lock()
        self._news = asyncio.Event()
        self._task: asyncio.Task[Any] | None = None
        self._copy: Copy | None = None
        self._sick = False
        self._embedded = 0  # up to this revision everything active has its vector
        self._last = 0  # the latest revision that was seen
        self._failures = 0
        self._compact_at: datetime | None = None

    @property
    def state(self) -> IndexState:
        if self._copies is None:
            return IndexState.OFF
        if self._copy is None or self._sick:
            return IndexState.BROKEN if self._failures or self._sick else IndexState.STARTING
        return IndexState.FOLLOWING if self.lag else IndexState.READY

    @property
    def lag(self) -> int:
        """How many revisions the index is behind, as far as is known."""
        return max(0, self._last - (self._copy.cursor if self._copy else 0))

    async def start(self) -> None:
        """Begin to follow in the background; whatever is wrong with the index is found and mended there."""
        self._task = self._start(self._follow(), "vector index")

    def kick(self) -> None:
        """Say that there are news; without it they are noticed a little later."""
        self._news.set()

    async def close(self) -> None:
        """Stop following and close the index, which keeps what it has."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        async with self._lock:
            await self._shut()

    async def nearest(
        self, chat_id: int, vector: Vector, types: Sequence[MemoryType], k: int
    ) -> list[tuple[int, float]]:
        """Return up to `k` memories of the chat with their cosine, best first.

        From the index, and by an exact scan for what it has not followed yet; from an exact scan alone while
        it cannot be used. Ids of memories forgotten a moment ago may be among them. Raises StorageError.
        """
        copy, model = self._copy, self._embedder.model_id
        if copy is None or self._sick:
            return await self._rows.scan(chat_id, model, vector, types, k)
        followed = copy.cursor  # before the question: what is followed meanwhile is scanned once more
        try:
            async with asyncio.timeout(NEAREST_SECONDS):
                hits = dict(await copy.index.nearest(chat_id, vector, types, k))
        except (IndexUnavailable, TimeoutError) as error:
            self._fell_ill(copy, error)
            return await self._rows.scan(chat_id, model, vector, types, k)
        hits |= dict(await self._rows.scan(chat_id, model, vector, types, k, followed))
        return sorted(hits.items(), key=lambda hit: -hit[1])[:k]

    async def sync(self) -> int:
        """Follow everything there is now; return how many changes were followed.

        Raises IndexUnavailable, EmbedderUnavailable, StorageError.
        """
        async with self._lock:
            return await self._catch_up(lambda _done, _total: None)

    async def rebuild(self, progress: Callable[[int, int], None] = lambda _done, _total: None) -> int:
        """Make the index anew from the vectors in SQL; return how many changes were followed.

        `progress` gets the changes done and their total. Raises what `sync` raises.
        """
        async with self._lock:
            await self._shut()
            if self._copies:
                await self._copies.condemn_all()
            return await self._catch_up(progress)

    async def compact(self) -> bool:
        """Make the index anew if it holds erased vectors; return whether it did. Raises as `sync` does."""
        async with self._lock:
            copy = await self._opened()
        if copy is None or not await self._rows.erased_after(copy.begun):
            return False
        await self.rebuild()
        return True

    async def check(self) -> IndexReport:
        """Compare the index with SQL. Raises IndexUnavailable, StorageError."""
        async with self._lock:
            copy = await self._opened()
            held = await copy.index.ids() if copy else set()
            active = await self._rows.active(self._embedder.model_id)
            due = {id_ for id_, (revision, _) in active.items() if copy and revision <= copy.cursor}
            return IndexReport(
                memories=len(active),
                entries=len(held),
                missing=len(due - held),
                extra=len(held - active.keys()),
                unembedded=sum(not embedded for _, embedded in active.values()),
                behind=await self._rows.waiting(copy.cursor) if copy else 0,
            )

    async def _follow(self) -> None:
        while True:
            pause = await self._tick()
            if self._failures:
                await asyncio.sleep(pause)  # news must not make a broken index be tried all the time
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), pause)
            self._news.clear()

    async def _tick(self) -> float:
        """Catch up, and return after how many seconds to look again."""
        try:
            await self.sync()
            if self._compact_at is None or self._clock.now() >= self._compact_at:
                began = self._clock.now()
                await self.compact()
                self._compact_at = self._clock.now() + COMPACT_SHARE * (self._clock.now() - began)
        except Exception as error:  # noqa: BLE001 — one failure must not end the following
            self._failures += 1
            log.warning("the vector index is behind", extra={"error": type(error).__name__})
            return min(PAUSE_SECONDS, 2.0**self._failures - 2)  # at once, then 2, 6, 14 seconds
        self._failures = 0
        return self._poll_seconds

    async def _catch_up(self, progress: Callable[[int, int], None]) -> int:
        copy, trouble = await self._opened_or_not()
        self._last = await self._rows.last_revision()
        total = await self._rows.waiting(copy.cursor) if copy else 0
        done = 0
        while True:
            await self._embed_some()
            while copy and (changes := await self._changes(copy)):
                await self._apply(copy, changes)
                done += len(changes)
                progress(min(done, total), total)
            if self._embedded >= self._last:
                break
        if trouble:
            raise trouble
        return done

    async def _opened_or_not(self) -> tuple[Copy | None, IndexUnavailable | None]:
        """The index, or what is wrong with it: vectors are made all the same, for the exact scan."""
        try:
            return await self._opened(), None
        except IndexUnavailable as trouble:
            return None, trouble

    async def _embed_some(self) -> None:
        """Make the vectors of a few memories that have none, and move `_embedded` on."""
        model = self._embedder.model_id
        bare = await self._rows.bare(model, self._embedded, EMBED_BATCH)
        if bare:
            made = await self._embedder.embed([text for _, text in bare], Purpose.PASSAGE)
            found = {
                change.memory_id: (change.chat_id, row) for (change, _), row in zip(bare, made, strict=True)
            }
            await self._rows.store(model, found)
        full = len(bare) == EMBED_BATCH
        self._embedded = bare[-1][0].revision if full else max(self._embedded, self._last)

    async def _changes(self, copy: Copy) -> list[Change]:
        changes = await self._rows.changes(copy.cursor, BATCH)
        return [change for change in changes if change.revision <= self._embedded]

    async def _apply(self, copy: Copy, changes: Sequence[Change]) -> None:
        active = {change.memory_id: change for change in changes if change.active}
        vectors = await self._rows.vectors(self._embedder.model_id, active)
        entries = [
            IndexEntry(id_, active[id_].chat_id, active[id_].type, vector) for id_, vector in vectors.items()
        ]
        try:
            await copy.index.upsert(entries)
            await copy.index.delete([change.memory_id for change in changes if not change.active])
        except IndexUnavailable as error:
            self._fell_ill(copy, error)
            raise
        copy.cursor = changes[-1].revision
        await self._rows.advance(copy.index_id, copy.cursor)

    def _fell_ill(self, copy: Copy, error: Exception) -> None:
        if copy is not self._copy or self._sick:
            return
        self._sick = True
        if isinstance(error, IndexDamaged) and self._copies:
            self._copies.condemn(copy)
        log.warning("searching without the vector index", extra={"error": type(error).__name__})
        self.kick()

    async def _opened(self) -> Copy | None:
        """The index in use, opened or made when there is none that is well."""
        if self._copies is None:
            return None
        if self._copy and not await self._copies.exists(self._copy):
            self._fell_ill(self._copy, IndexDamaged("The files of the vector index are gone."))
        if self._sick:
            await self._shut()
        if self._copy is None:
            self._copy = await self._copies.open()
        return self._copy

    async def _shut(self) -> None:
        copy, self._copy, self._sick = self._copy, None, False
        if copy:
            await copy.index.close()


def open_index(
    mode: Literal["embedded", "server", "off"],
    *,
    directory: Path,
    url: str,
    database: Database,
    embedder: Embedder,
    clock: Clock,
    start: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[Any]],
) -> IndexSync:
    """Put together what `vectors.mode` asks for; `start()` of the result begins to follow.

    "embedded" may be used only by the owner of `directory` (memory.lock); "off" is for everybody else.
    Raises ConfigError when "server" has no usable `url`.
    """
    home: IndexHome | None = None
    if mode == "embedded":
        home = EmbeddedHome(directory / "index", _embedded_kind(database, directory))
    elif mode == "server":
        home = ServerHome(url)
    rows = VectorRows(database)
    copies = IndexCopies(rows, home, embedder.model_id) if home else None
    return IndexSync(rows, copies, embedder, clock, start)


def _embedded_kind(database: Database, directory: Path) -> str:
    """Several replicas on one PostgreSQL each have an embedded index of their own."""
    if database.dialect == "sqlite":
        return "embedded"
    place = f"{socket.gethostname()}:{directory.resolve()}"
    return f"embedded-{hashlib.sha256(place.encode()).hexdigest()[:12]}"
