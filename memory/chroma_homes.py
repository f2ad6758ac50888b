"""Where Chroma's indexes are: directories of our own, or collections on a server."""

from __future__ import annotations

import asyncio
import base64
import http.client
import shutil
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from urllib.parse import unquote, urlsplit

from memory.chroma import (
    ChromaIndex,
    ChromaThread,
    Client,
    Opened,
    close,
    created,
    embedded_client,
    server_client,
    stored,
)
from memory.errors import ConfigError, IndexDamaged, IndexLost, IndexUnavailable
from memory.graph_files import blank_unused
from memory.index_probe import COLLECTION, is_sound
from memory.seal import break_seal, seal

SERVER_SECONDS = 10.0
_OPENING = "opening"
_MAKING = "making"


class EmbeddedHome:
    """Indexes in directories of our own, one for each. Any failure of one means that it is damaged.

    Raises IndexDamaged, or IndexUnavailable where Chroma cannot run at all.
    """

    def __init__(self, directory: Path, kind: str = "embedded") -> None:
        self.kind = kind
        self._directory = directory

    async def open(self, name: str) -> ChromaIndex:
        """Open an index after making sure that it is sound: native code would not survive a broken one."""
        thread = ChromaThread(IndexDamaged)
        return await thread.open(lambda abandoned: _open(self._directory / name, abandoned))

    async def create(self, name: str) -> ChromaIndex:
        return await ChromaThread(IndexDamaged).open(lambda _: _create(self._directory / name))

    async def remove(self, name: str) -> None:
        """Delete the files of an index that is closed."""
        await asyncio.to_thread(shutil.rmtree, self._directory / name, ignore_errors=True)

    async def exists(self, name: str) -> bool:
        """Tell whether the files are still where they were put; cheap."""
        return await asyncio.to_thread((self._directory / name / "chroma.sqlite3").is_file)

    async def strays(self, known: Collection[str]) -> list[str]:
        """Return the names of what lies here beside the `known` indexes."""
        return await asyncio.to_thread(_beside, self._directory, known)


class ServerHome:
    """Indexes on a Chroma server, one collection for each.

    Raises IndexUnavailable, or IndexDamaged when the server answers but has not got the index.
    """

    def __init__(self, url: str) -> None:
        """`url` is http://host:port or https://user:password@host. Raises ConfigError."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                "vectors.url must be the address of a Chroma server, such as http://localhost:8000."
            )
        self._ssl = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port or (443 if self._ssl else 8000)
        login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        token = base64.b64encode(login.encode()).decode()
        self._headers = {"Authorization": f"Basic {token}"} if parts.username else {}
        self.kind = f"server {self._host}:{self._port}"

    async def open(self, name: str) -> ChromaIndex:
        return await self._connected(lambda _: stored(self._client(), name))

    async def create(self, name: str) -> ChromaIndex:
        return await self._connected(lambda _: created(self._client(), name))

    async def remove(self, name: str) -> None:
        thread = ChromaThread(IndexUnavailable)
        try:
            await thread.run(self._remove, name)
        except IndexDamaged:
            pass  # it is gone already
        finally:
            await thread.close()

    async def exists(self, name: str) -> bool:  # noqa: ARG002 — the next call to the server will tell
        return True

    async def strays(self, known: Collection[str]) -> list[str]:  # noqa: ARG002 — they may be another bot's
        return []

    async def _connected(self, connect: Callable[[threading.Event], Opened]) -> ChromaIndex:
        return await ChromaThread(IndexUnavailable).open(connect)

    def _remove(self, name: str) -> None:
        client = self._client()
        try:
            client.delete_collection(name)
        finally:
            close(client)

    def _client(self) -> Client:
        self._greet()
        return server_client(self._host, self._port, self._headers, ssl=self._ssl, seconds=SERVER_SECONDS)

    def _greet(self) -> None:
        """Ask with a timeout, which the client's own first questions have not got."""
        kind = http.client.HTTPSConnection if self._ssl else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=SERVER_SECONDS)
        try:
            connection.request("GET", "/api/v2/heartbeat", headers=self._headers)
            connection.getresponse().read()
        finally:
            connection.close()


def _create(path: Path) -> Opened:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700, parents=True)
    marker = path / _MAKING
    marker.touch()
    opened = created(embedded_client(path), COLLECTION)
    marker.unlink()
    return _sealing(path, opened)


def _open(path: Path, abandoned: threading.Event) -> Opened:
    """Open it unless the last closing or a look from a process of its own says that it is broken.

    The marker stays behind when this process dies while it opens, so that it does so only once.
    """
    marker = path / _OPENING
    if not path.is_dir() or (path / _MAKING).exists():
        raise IndexLost("There is no vector index yet; it is made now.")
    if marker.exists():
        raise IndexDamaged("The vector index could not be opened before; it is built anew.")
    if break_seal(path) is False or not is_sound(path, abandoned):
        raise IndexDamaged("The files of the vector index are damaged; it is built anew.")
    marker.touch()
    opened = stored(embedded_client(path), COLLECTION)
    opened.collection.get(limit=1, include=["embeddings"])  # loads the graph
    marker.unlink()
    return _sealing(path, opened)


def _sealing(path: Path, opened: Opened) -> Opened:
    """Seal the files when they are closed, and blank the graph's room as soon as the first entry made one."""
    blanked = blank_unused(path)

    def shut() -> None:
        opened.shut()
        if path.is_dir():
            seal(path)

    def written() -> None:
        nonlocal blanked
        blanked = blanked or blank_unused(path)

    return Opened(opened.collection, shut, written)


def _beside(directory: Path, known: Collection[str]) -> list[str]:
    if not directory.is_dir():
        return []
    return [path.name for path in directory.iterdir() if path.name not in known]
