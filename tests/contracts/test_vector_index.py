"""What every vector index does: the list of the tests, Chroma in files, and Chroma on a server."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest

from memory.chroma_homes import EmbeddedHome, ServerHome
from memory.errors import ConfigError, IndexDamaged, IndexUnavailable
from memory.index_copies import OpenIndex
from memory.ports import IndexEntry
from memory.types import MemoryType, Vector
from tests.fakes.vectors import ListIndex

CHAT, GROUP = 7, -1_001_234_567_890
START_SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", "/api/v2/heartbeat")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real Chroma server that stands on a free port of this machine."""
    program = Path(sys.executable).with_name("chroma")
    if not (program.exists() or shutil.which("chroma")):
        pytest.skip("the chroma program is not installed")
    port = free_port()
    process = subprocess.Popen(
        [
            program,
            "run",
            "--path",
            tmp_path_factory.mktemp("chroma"),
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ],
        env=os.environ | {"ANONYMIZED_TELEMETRY": "False"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.skip("the Chroma server does not start here")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(params=["list", "embedded", "server"])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OpenIndex]:
    opened: OpenIndex
    match request.param:
        case "list":
            opened = ListIndex()
        case "embedded":
            opened = await EmbeddedHome(tmp_path).create("memories-1")
        case _:
            home = ServerHome(request.getfixturevalue("server"))
            await home.remove("memories-1")
            opened = await home.create("memories-1")
    yield opened
    await opened.close()


def direction(seed: int, dimensions: int = 16) -> Vector:
    vector = np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)
    normal: Vector = vector / np.linalg.norm(vector)
    return normal


def entry(
    memory_id: int, chat_id: int = CHAT, type_: MemoryType = MemoryType.FACT, vector: Vector | None = None
) -> IndexEntry:
    return IndexEntry(memory_id, chat_id, type_, direction(memory_id) if vector is None else vector)


async def found(index: OpenIndex, chat_id: int, of: int, *types: MemoryType, k: int = 10) -> list[int]:
    return [memory_id for memory_id, _ in await index.nearest(chat_id, direction(of), types, k)]


async def test_an_empty_index_finds_nothing(index: OpenIndex) -> None:
    assert await found(index, CHAT, of=1) == []
    assert await index.ids() == set()


async def test_the_nearest_come_first_with_their_cosine(index: OpenIndex) -> None:
    await index.upsert([entry(number) for number in range(1, 21)])

    hits = await index.nearest(CHAT, direction(5), (), 20)

    truth = sorted(((float(direction(n) @ direction(5)), n) for n in range(1, 21)), reverse=True)
    assert [memory_id for memory_id, _ in hits] == [number for _, number in truth]
    assert [cosine for _, cosine in hits] == pytest.approx([cosine for cosine, _ in truth], abs=1e-4)


async def test_a_search_stays_in_its_chat(index: OpenIndex) -> None:
    await index.upsert([entry(1, CHAT), entry(2, GROUP), entry(3, CHAT)])

    assert set(await found(index, CHAT, of=2)) == {1, 3}
    assert await found(index, GROUP, of=1) == [2]
    assert await found(index, 8, of=1) == []


async def test_types_narrow_a_search_and_none_mean_all(index: OpenIndex) -> None:
    await index.upsert([entry(1), entry(2, type_=MemoryType.PREFERENCE), entry(3, type_=MemoryType.SUMMARY)])

    assert await found(index, CHAT, 1, MemoryType.PREFERENCE) == [2]
    assert set(await found(index, CHAT, 1, MemoryType.PREFERENCE, MemoryType.FACT)) == {1, 2}
    assert set(await found(index, CHAT, 1)) == {1, 2, 3}
    assert await found(index, CHAT, 1, MemoryType.INSIGHT) == []


async def test_k_bounds_the_hits(index: OpenIndex) -> None:
    await index.upsert([entry(number) for number in range(1, 10)])

    assert len(await found(index, CHAT, of=1, k=3)) == 3
    assert len(await found(index, CHAT, of=1, k=100)) == 9
    assert await found(index, CHAT, of=1, k=0) == []


async def test_an_entry_can_be_put_again_and_be_replaced_wholly(index: OpenIndex) -> None:
    await index.upsert([entry(1), entry(2)])
    await index.upsert([entry(1), entry(2, GROUP, MemoryType.CONTEXT, direction(9))])

    assert await index.ids() == {1, 2}
    assert await found(index, CHAT, of=2) == [1]
    [(memory_id, cosine)] = await index.nearest(GROUP, direction(9), [MemoryType.CONTEXT], 5)
    assert (memory_id, round(cosine, 3)) == (2, 1.0)


async def test_deleted_entries_are_gone_and_unknown_ones_are_ignored(index: OpenIndex) -> None:
    await index.upsert([entry(1), entry(2)])

    await index.delete([])
    assert await index.ids() == {1, 2}
    await index.delete([1, 99])
    await index.delete([99])

    assert await index.ids() == {2}
    assert await found(index, CHAT, of=1) == [2]


async def test_many_entries_go_in_and_out_at_once(index: OpenIndex) -> None:
    await index.upsert([entry(number, CHAT + number % 2) for number in range(300)])
    await index.delete(list(range(0, 300, 3)))

    assert await index.ids() == {number for number in range(300) if number % 3}
    assert await found(index, CHAT + 1, of=151, k=1) == [151]


async def test_nothing_at_all_can_be_put(index: OpenIndex) -> None:
    await index.upsert([])

    assert await index.ids() == set()


async def test_an_index_on_a_server_is_found_again_and_can_be_removed(server: str) -> None:
    home = ServerHome(server)
    index = await home.create("memories-2")
    await index.upsert([entry(1)])
    await index.close()

    again = await home.open("memories-2")
    assert await again.ids() == {1}
    await home.remove("memories-2")
    await home.remove("memories-2")

    with pytest.raises(IndexDamaged):
        await again.ids()
    with pytest.raises(IndexDamaged):
        await home.open("memories-2")
    await again.close()


async def test_a_server_that_is_away_is_no_damage() -> None:
    with pytest.raises(IndexUnavailable, match=r"vectors\.url") as refusal:
        await ServerHome(f"http://127.0.0.1:{free_port()}").open("memories-1")

    assert not isinstance(refusal.value, IndexDamaged)


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://localhost"])
def test_an_impossible_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r"vectors\.url"):
        ServerHome(url)


async def test_a_closed_index_says_so(tmp_path: Path) -> None:
    index = await EmbeddedHome(tmp_path).create("memories-1")
    await index.close()

    with pytest.raises(IndexUnavailable, match="closed"):
        await index.ids()
