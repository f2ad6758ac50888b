"""The vector index in Chroma, and the thread that talks to it; only this module imports chromadb."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from memory.errors import IndexDamaged, IndexUnavailable
from memory.ports import IndexEntry
from memory.types import MemoryType, Vector

if TYPE_CHECKING:
    from chromadb import Collection as ChromaCollection
    from chromadb.api.client import Client as ChromaClient
    from chromadb.config import Settings

log = logging.getLogger(__name__)
T = TypeVar("T")

Client: TypeAlias = "ChromaClient"
Collection: TypeAlias = "ChromaCollection"

BATCH = 16
"""Chroma holds the interpreter's lock while it writes: about 20 ms for so many entries."""

_COSINE: Any = {"hnsw": {"space": "cosine"}}
# What a server says when the collection is not, or no longer, the one that we made.
_LOST = ("NotFoundError", "InvalidDimensionException", "InvalidArgumentError")


class Opened(NamedTuple):
    """A collection, how to close what it came from, and what is to be done whenever it was written to."""

    collection: Collection
    shut: Callable[[], None]
    written: Callable[[], None] = lambda: None


class ChromaIndex:
    """The `VectorIndex` in one collection; memory.chroma_homes opens it."""

    def __init__(self, thread: ChromaThread, opened: Opened) -> None:
        self._thread = thread
        self._collection, self._shut, self._written = opened

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        for start in range(0, len(entries), BATCH):
            await self._thread.run(self._upsert, entries[start : start + BATCH])

    async def delete(self, memory_ids: Sequence[int]) -> None:
        for start in range(0, len(memory_ids), BATCH):
            await self._thread.run(self._delete, memory_ids[start : start + BATCH])

    async def nearest(
        self, chat_id: int, vector: Vector, types: Sequence[MemoryType], k: int
    ) -> list[tuple[int, float]]:
        return await self._thread.run(self._nearest, chat_id, vector, types, k) if k > 0 else []

    async def ids(self) -> set[int]:
        return await self._thread.run(self._ids)

    async def close(self) -> None:
        """Close the files or the connection; a failure to do so is only logged."""
        try:
            await self._thread.run(self._shut)
        except IndexUnavailable:
            log.info("the vector index was not closed well")
        await self._thread.close()

    def _upsert(self, entries: Sequence[IndexEntry]) -> None:
        """Write what is new or different: writing known entries again makes Chroma's graph lose others."""
        keys = [str(entry.memory_id) for entry in entries]
        found: Any = self._collection.get(ids=keys, include=["embeddings", "metadatas"])
        known = dict(
            zip(found["ids"], zip(found["metadatas"], found["embeddings"], strict=True), strict=True)
        )
        news = [entry for entry in entries if not _same(entry, known.get(str(entry.memory_id)))]
        if news:
            self._collection.upsert(
                ids=[str(entry.memory_id) for entry in news],
                embeddings=np.stack([entry.vector for entry in news]),
                metadatas=[{"chat_id": entry.chat_id, "type": entry.type.value} for entry in news],
            )
            self._written()

    def _delete(self, memory_ids: Sequence[int]) -> None:
        known = self._collection.get(ids=[str(memory_id) for memory_id in memory_ids], include=[])["ids"]
        if known:
            self._collection.delete(ids=known)

    def _nearest(
        self, chat_id: int, vector: Vector, types: Sequence[MemoryType], k: int
    ) -> list[tuple[int, float]]:
        found: Any = self._collection.query(
            query_embeddings=vector.reshape(1, -1),
            n_results=k,
            where=_where(chat_id, types),
            include=["distances"],
        )
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(int(key), 1.0 - float(distance)) for key, distance in pairs]

    def _ids(self) -> set[int]:
        return {int(key) for key in self._collection.get(include=[])["ids"]}


class ChromaThread:
    """The one thread that talks to one Chroma, and the one place where its failures become ours.

    `failure` is what an unknown failure means: IndexDamaged for files, IndexUnavailable for a server.
    """

    def __init__(self, failure: type[IndexUnavailable]) -> None:
        self._failure = failure
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="chroma")

    async def open(self, connect: Callable[[threading.Event], Opened]) -> ChromaIndex:
        """Return the index that `connect` opens in this thread, which ends with it, or at once on failure.

        The event tells `connect` that nobody waits for it any more.
        """
        abandoned = threading.Event()
        future = self._pool.submit(self._translated, connect, abandoned)
        try:
            return ChromaIndex(self, await asyncio.wrap_future(future))
        except BaseException:
            abandoned.set()
            await asyncio.to_thread(self._abandon, future)
            raise

    async def run(self, work: Callable[..., T], *args: Any) -> T:
        try:
            future = self._pool.submit(self._translated, work, *args)
        except RuntimeError:
            raise IndexUnavailable("The vector index is closed; start the program again.") from None
        return await asyncio.wrap_future(future)

    async def close(self) -> None:
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    def _abandon(self, future: Future[Opened]) -> None:
        """Close what is opened in spite of everything: Chroma allows one client for one directory."""
        with suppress(IndexUnavailable, CancelledError):
            opened = future.result()
            self._pool.submit(self._translated, opened.shut).result()
        self._pool.shutdown()

    def _translated(self, work: Callable[..., T], *args: Any) -> T:
        try:
            return work(*args)
        except IndexUnavailable:
            raise
        except ImportError:
            raise IndexUnavailable(
                "Chroma cannot be loaded here; reinstall the package chromadb or set vectors.mode to server."
            ) from None
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 — a panic of the native part is no Exception
            log.warning("Chroma failed", extra={"error": type(error).__name__})
            raise self._ours(error) from None

    def _ours(self, error: BaseException) -> IndexUnavailable:
        if self._failure is IndexDamaged or type(error).__name__ in _LOST:
            return IndexDamaged("The vector index is broken and is built anew; search goes on without it.")
        return IndexUnavailable(
            "The Chroma server does not answer; check vectors.url and that the server runs."
        )


def embedded_client(path: Path) -> Client:
    """Return a client that alone uses the files in `path`."""
    import chromadb

    return cast("Client", chromadb.PersistentClient(path=str(path), settings=_settings()))


def server_client(host: str, port: int, headers: Mapping[str, str], *, ssl: bool, seconds: float) -> Client:
    """Return a client of a server, each of whose later answers may take so many seconds."""
    import chromadb

    client = cast(
        "Client",
        chromadb.HttpClient(host, port, ssl=ssl, headers=dict(headers), settings=_settings()),
    )
    for session in _sessions(client):
        session.timeout = seconds  # Chroma would wait for its server for ever and has no setting for it
    return client


def close(client: Client) -> None:
    """Let go of files or connections; the latter Chroma itself leaves open."""
    sessions = _sessions(client)
    client.close()
    for session in sessions:
        session.close()


def stored(client: Client, name: str) -> Opened:
    """Open a collection that must be there."""
    return _opened(client, lambda: client.get_collection(name, embedding_function=None))


def created(client: Client, name: str) -> Opened:
    """Open a collection that is made when it is not there."""
    return _opened(
        client,
        lambda: client.get_or_create_collection(name, embedding_function=None, configuration=_COSINE),
    )


def _opened(client: Client, find: Callable[[], Collection]) -> Opened:
    try:
        return Opened(find(), lambda: close(client))
    except BaseException:
        close(client)
        raise


def _sessions(client: Client) -> list[Any]:
    """The connections of a client of a server; its inner client for administration has its own."""
    clients = [client, getattr(client, "_admin_client", None)]
    sessions = [getattr(getattr(one, "_server", None), "_session", None) for one in clients]
    return [session for session in sessions if session is not None]


def _settings() -> Settings:
    """A fresh object for each client: Chroma writes into it. A foreign .env file is none of its business."""
    from chromadb.config import Settings

    options: dict[str, Any] = {"_env_file": None, "anonymized_telemetry": False}
    return Settings(**options)


def _where(chat_id: int, types: Sequence[MemoryType]) -> Any:
    """The only filter there is. Chroma takes none to mean everything, so a chat is always in it."""
    if not types:
        return {"chat_id": chat_id}
    return {"$and": [{"chat_id": chat_id}, {"type": {"$in": [one.value for one in types]}}]}


def _same(entry: IndexEntry, known: tuple[Mapping[str, Any], Any] | None) -> bool:
    if known is None:
        return False
    metadata, vector = known
    return dict(metadata) == {"chat_id": entry.chat_id, "type": entry.type.value} and np.allclose(
        vector, entry.vector, atol=1e-5
    )
