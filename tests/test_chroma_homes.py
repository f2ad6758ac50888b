"""Chroma's files: what was closed well or killed opens again, and what is damaged is never opened."""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from memory.chroma_homes import EmbeddedHome
from memory.errors import IndexDamaged
from memory.ports import IndexEntry
from memory.types import MemoryType, Vector

NAME = "memories-1"
COUNT = 1_100  # above a thousand Chroma writes the graph to its files


def vector(seed: int) -> Vector:
    row = np.random.default_rng(seed).standard_normal(16).astype(np.float32)
    normal: Vector = row / np.linalg.norm(row)
    return normal


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a home with an index that was filled and closed well."""
    directory = tmp_path_factory.mktemp("built")

    async def build() -> None:
        index = await EmbeddedHome(directory).create(NAME)
        await index.upsert([IndexEntry(n, 1, MemoryType.FACT, vector(n)) for n in range(COUNT)])
        await index.close()

    asyncio.run(build())
    return directory


@pytest.fixture
def directory(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "index")


def segment(index: Path) -> Path:
    [found] = [path for path in index.iterdir() if path.is_dir()]
    return found


def garbage(file: Path) -> None:
    file.write_bytes(random.Random(1).randbytes(file.stat().st_size))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


DAMAGES: dict[str, Callable[[Path], object]] = {
    "the database is deleted": lambda index: (index / "chroma.sqlite3").unlink(),
    "the database is empty": lambda index: (index / "chroma.sqlite3").write_bytes(b""),
    "the database is cut": lambda index: cut(index / "chroma.sqlite3"),
    "the database is garbage": lambda index: garbage(index / "chroma.sqlite3"),
    "the vectors are garbage": lambda index: garbage(segment(index) / "data_level0.bin"),
    "the vectors are cut": lambda index: cut(segment(index) / "data_level0.bin"),
    "the header is garbage": lambda index: garbage(segment(index) / "header.bin"),
    "the header is cut": lambda index: cut(segment(index) / "header.bin"),
    "the lengths are cut": lambda index: cut(segment(index) / "length.bin"),
    "the names are cut": lambda index: cut(segment(index) / "index_metadata.pickle"),
    "the segment is deleted": lambda index: shutil.rmtree(segment(index)),
    "everything is deleted": shutil.rmtree,
    "the last opening killed the process": lambda index: (index / "opening").touch(),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_what_was_damaged_after_a_kill_is_not_opened(directory: Path, damage: str) -> None:
    (directory / NAME / "seal.json").unlink()
    DAMAGES[damage](directory / NAME)

    with pytest.raises(IndexDamaged):
        await EmbeddedHome(directory).open(NAME)


@pytest.mark.parametrize(
    "damage",
    [
        *DAMAGES.values(),
        lambda index: garbage(segment(index) / "link_lists.bin"),
        lambda index: (index / "seal.json").write_text("{", encoding="utf-8"),
    ],
)
async def test_what_was_damaged_after_a_good_end_is_seen_by_its_seal(
    directory: Path, damage: Callable[[Path], object]
) -> None:
    damage(directory / NAME)

    with pytest.raises(IndexDamaged):
        await EmbeddedHome(directory).open(NAME)


@pytest.mark.parametrize("sealed", [True, False], ids=["closed well", "killed"])
async def test_a_sound_index_is_opened_with_all_that_it_held(directory: Path, sealed: bool) -> None:
    if not sealed:
        (directory / NAME / "seal.json").unlink()

    index = await EmbeddedHome(directory).open(NAME)

    assert await index.ids() == set(range(COUNT))
    [(nearest, cosine)] = await index.nearest(1, vector(77), (), 1)
    assert (nearest, round(cosine, 3)) == (77, 1.0)
    await index.close()
    again = await EmbeddedHome(directory).open(NAME)
    await again.close()


async def test_an_opening_that_nobody_waits_for_leaves_nothing_open(directory: Path) -> None:
    home = EmbeddedHome(directory)
    began = time.monotonic()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await home.open(NAME)

    assert time.monotonic() - began < 20
    index = await home.open(NAME)
    assert len(await index.ids()) == COUNT
    await index.close()


async def test_a_removed_index_leaves_no_file_and_strays_are_seen(directory: Path) -> None:
    home = EmbeddedHome(directory)

    assert await home.exists(NAME)
    assert await home.strays([]) == [NAME]
    assert await home.strays([NAME]) == []
    await home.remove(NAME)

    assert not await home.exists(NAME)
    assert await home.strays([]) == []
    assert await EmbeddedHome(directory / "nowhere").strays([]) == []
