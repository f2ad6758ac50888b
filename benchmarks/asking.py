"""Asking chats of one data directory in a process of its own, as a bot that was just started."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.filling import questions
from benchmarks.own_set import load
from benchmarks.own_values import ASKER
from benchmarks.talking import config_in
from benchmarks.timing import Spread, TimedModel, resident_mb
from bot.app import App, open_app
from memory.bundled_model import BundledModel
from memory.embeddings import CachedEmbedder
from memory.ports import Purpose
from memory.types import Query

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """Some chats of the same size in one directory of so many memories.

    With `indexed` the process owns the directory and uses Chroma; without, vectors come from SQL alone.
    """

    directory: Path
    memories: int
    chat_size: int
    chats: tuple[int, ...]
    indexed: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """How long the questions of one place took.

    `rest_ms` is each search without the work of the encoder. The two of `cpu` are what the processors worked,
    which other programs disturb less: all of the process for a search, and the encoder's part of it.
    `first_ms` are the first questions to each chat. The memory is that of the whole process, before any
    question and after the last one.
    """

    memories: int
    chat_size: int
    indexed: bool
    questions: int
    embedding_ms: Spread
    search_ms: Spread
    rest_ms: Spread
    cpu_ms: Spread
    encoder_cpu_ms: Spread
    first_ms: Spread
    empty_mb: float | None
    warm_mb: float | None


@dataclass(frozen=True, slots=True)
class _Took:
    """One search, in milliseconds."""

    whole: float
    rest: float
    cpu: float
    encoder_cpu: float


class Asker:
    """Asks an app one question after another, none of them again before all have been asked."""

    def __init__(self, app: App, model: TimedModel) -> None:
        self._app = app
        self._model = model
        self._questions: Iterator[str] = cycle(questions(load()))

    @property
    def encoder_seconds(self) -> float:
        """How long the encoder has worked so far, whatever for."""
        return self._model.seconds

    async def embed(self) -> float:
        """Return the milliseconds of embedding a question."""
        question = next(self._questions)
        started = time.perf_counter()
        await self._app.embedder.embed([question], Purpose.QUERY)
        return 1_000 * (time.perf_counter() - started)

    async def search(self, chat_id: int) -> _Took:
        """Ask as the conversation does at each turn."""
        settings = self._app.config.memory
        query = Query(
            chat_id,
            next(self._questions),
            k=settings.recall_k,
            asker=ASKER["en"],
            neighbours=settings.neighbours,
            tokens=settings.recall_tokens,
        )
        began = self._clocks()
        await self._app.memory.search(query)
        whole, cpu, encoder, its_cpu = 1_000 * (self._clocks() - began)
        return _Took(whole, whole - encoder, cpu, its_cpu)

    def _clocks(self) -> NDArray[np.float64]:
        model = self._model
        return np.array([time.perf_counter(), time.process_time(), model.seconds, model.cpu_seconds])


@asynccontextmanager
async def asker_in(directory: Path, *, indexed: bool) -> AsyncIterator[tuple[App, Asker]]:
    """Open the program on a directory, with the bundled model, loaded, and no cache for questions."""
    model = TimedModel(BundledModel())
    embedder = CachedEmbedder(model, query_cache=0)
    try:
        await embedder.embed(["warm up"], Purpose.QUERY)
        async with open_app(config_in(directory), owner=indexed, embedder=embedder) as app:
            await app.index.sync()
            yield app, Asker(app, model)
    finally:
        await embedder.close()


async def index(directory: Path) -> None:
    """Bring Chroma up to what SQL holds."""
    async with asker_in(directory, indexed=True):
        pass


async def ask(place: Place, count: int) -> Asked:
    """Ask each chat once, then all of them in turn `count` times, and as often embed a question alone."""
    async with asker_in(place.directory, indexed=place.indexed) as (_, asker):
        empty = resident_mb()
        first = [(await asker.search(chat_id)).whole for chat_id in place.chats]
        embedding, took = list[float](), list[_Took]()
        for _, chat_id in zip(range(count), cycle(place.chats), strict=False):
            embedding.append(await asker.embed())
            took.append(await asker.search(chat_id))
        return Asked(
            place.memories,
            place.chat_size,
            place.indexed,
            count,
            Spread.of(embedding),
            Spread.of([each.whole for each in took]),
            Spread.of([each.rest for each in took]),
            Spread.of([each.cpu for each in took]),
            Spread.of([each.encoder_cpu for each in took]),
            Spread.of(first),
            empty,
            resident_mb(),
        )


def apart(work: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do the work in a fresh process, whose memory nothing else has touched."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        return pool.submit(_run, partial(work, *args, **kwargs)).result()


def _run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return asyncio.run(work())
