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

from memory import chroma_homes, index_probe
from memory.chroma_homes import EmbeddedHome
from memory.errors import IndexDamaged, IndexLost, IndexUnavailable
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


@pytest.mark.parametrize(
    "end",
    ["kill -TERM $$", "kill -INT $$", "kill -KILL $$", "exit 1"],
    ids=["terminated", "interrupted", "killed", "not able to begin"],
)
async def test_a_look_at_it_that_was_ended_by_others_says_nothing_about_the_index(
    directory: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(index_probe, "_command", lambda _: ["/bin/sh", "-c", end])
        with pytest.raises(IndexUnavailable) as refusal:
            await EmbeddedHome(directory).open(NAME)

    assert not isinstance(refusal.value, IndexDamaged)
    index = await EmbeddedHome(directory).open(NAME)
    assert await index.ids() == set(range(COUNT))
    await index.close()


@pytest.mark.parametrize("end", ["kill -SEGV $$", "kill -ABRT $$", "exec sleep 60"])
async def test_an_index_that_kills_or_stops_whoever_looks_at_it_is_damaged(
    directory: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(index_probe, "_command", lambda _: ["/bin/sh", "-c", end])
    monkeypatch.setattr(index_probe, "PROBE_SECONDS", 2.0)

    with pytest.raises(IndexDamaged):
        await EmbeddedHome(directory).open(NAME)


async def test_a_look_that_takes_long_is_waited_for_while_it_goes_on(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = "for each in 1 2 3 4 5 6; do echo; sleep 0.5; done"
    monkeypatch.setattr(index_probe, "_command", lambda _: ["/bin/sh", "-c", slow])
    monkeypatch.setattr(index_probe, "PROBE_SECONDS", 2.0)

    index = await EmbeddedHome(directory).open(NAME)
    await index.close()


async def test_an_index_whose_making_was_cut_off_is_lost_and_not_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object) -> None:
        raise RuntimeError("cut off")

    home = EmbeddedHome(tmp_path)
    monkeypatch.setattr(chroma_homes, "created", cut_off)
    with pytest.raises(IndexDamaged):
        await home.create(NAME)

    with pytest.raises(IndexLost):
        await home.open(NAME)
    with pytest.raises(IndexLost):
        await home.open("memories-2")


async def test_a_removed_index_leaves_no_file_and_strays_are_seen(directory: Path) -> None:
    home = EmbeddedHome(directory)

    assert await home.exists(NAME)
    assert await home.strays([]) == [NAME]
    assert await home.strays([NAME]) == []
    await home.remove(NAME)

    assert not await home.exists(NAME)
    assert await home.strays([]) == []
    assert await EmbeddedHome(directory / "nowhere").strays([]) == []
