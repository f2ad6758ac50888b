"""Vectors in SQL, and the index that follows them through damage, crashes and other processes."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bot.background import Background
from memory.chroma_homes import EmbeddedHome
from memory.database import Database, open_database
from memory.errors import EmbedderUnavailable, IndexDamaged, IndexUnavailable
from memory.index_copies import IndexCopies
from memory.memories import Memories
from memory.ports import IndexEntry, Purpose
from memory.types import MemoryType, NewMemory, Origin, StoredVector
from memory.vector_rows import Cursor, VectorRows
from memory.vectors import IndexState, IndexSync, open_index
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import HashEmbedder
from tests.fakes.vectors import ListIndex

CHAT, OTHER = 7, -1_009
FACTS = ("Мою собаку зовут Бублик", "I am allergic to peanuts", "Дедлайн проекта в пятницу", "My car is blue")


class ListHome:
    """The `IndexHome` of tests: lists by name, which can be lost, broken or out of reach."""

    kind = "list"

    def __init__(self) -> None:
        self.indexes: dict[str, ListIndex] = {}
        self.damaged: set[str] = set()
        self.away = False

    async def open(self, name: str) -> ListIndex:
        if self.away:
            raise IndexUnavailable("The server does not answer.")
        if name in self.damaged or name not in self.indexes:
            raise IndexDamaged("The index is broken.")
        return self.indexes[name]

    async def create(self, name: str) -> ListIndex:
        if self.away:
            raise IndexUnavailable("The server does not answer.")
        return self.indexes.setdefault(name, FlakyIndex())

    async def remove(self, name: str) -> None:
        self.indexes.pop(name, None)

    async def exists(self, name: str) -> bool:
        return name in self.indexes

    async def strays(self, known: Collection[str]) -> list[str]:
        return [name for name in self.indexes if name not in known]

    @property
    def only(self) -> FlakyIndex:
        [index] = self.indexes.values()
        assert isinstance(index, FlakyIndex)
        return index


class FlakyIndex(ListIndex):
    """A list that fails when it is told to; its entries do change before it does."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: Exception | None = None

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        await super().upsert(entries)
        self._fail()

    async def nearest(self, *arguments: Any) -> list[tuple[int, float]]:
        self._fail()
        return await super().nearest(*arguments)

    def _fail(self) -> None:
        if self.failure:
            raise self.failure


class World:
    """A database with memories, an embedder, and followers to order."""

    def __init__(self, directory: Path, database: Database) -> None:
        self.directory = directory
        self.database = database
        self.clock = FrozenClock()
        self.memories = Memories(database, self.clock)
        self.rows = VectorRows(database)
        self.embedder = HashEmbedder()
        self.home = ListHome()
        self.background = Background()
        self.opened: list[IndexSync] = []

    def sync(self, home: ListHome | EmbeddedHome | None = None, poll_seconds: float = 0.02) -> IndexSync:
        copies = IndexCopies(self.rows, home or self.home, self.embedder.model_id)
        made = IndexSync(self.rows, copies, self.embedder, self.clock, self.background.start, poll_seconds)
        self.opened.append(made)
        return made

    def chroma(self) -> IndexSync:
        return self.sync(EmbeddedHome(self.directory / "index"))

    async def tell(
        self, *texts: str, chat_id: int = CHAT, type_: MemoryType = MemoryType.FACT, bare: bool = False
    ) -> list[int]:
        ids = []
        for text in texts:
            new = NewMemory(chat_id=chat_id, text=text, type=type_, origin=Origin.PERSON)
            [vector] = await HashEmbedder(self.embedder.model_id).embed([text], Purpose.PASSAGE)
            kept = None if bare else StoredVector(self.embedder.model_id, vector)
            ids.append((await self.memories.add(new, kept)).memory.id)
        return ids

    async def ask(
        self, sync: IndexSync, text: str, chat_id: int = CHAT, k: int = 5, *types: MemoryType
    ) -> list[int]:
        [vector] = await self.embedder.embed([text], Purpose.QUERY)
        return [memory_id for memory_id, _ in await sync.nearest(chat_id, vector, types, k)]

    async def close(self) -> None:
        for sync in self.opened:
            await sync.close()
        await self.background.close()
        await self.database.close()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path, await open_database(tmp_path, clock=FrozenClock()))
    yield made
    await made.close()


def state(sync: IndexSync) -> IndexState:
    return sync.state


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for what happens in the background."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.01)


# The exact scan


async def test_the_scan_finds_the_nearest_active_memories_of_the_chat(world: World) -> None:
    dog, nuts, deadline, car = await world.tell(*FACTS)
    await world.tell(FACTS[0], chat_id=OTHER)
    await world.memories.purge(CHAT, [nuts])
    await world.memories.hide(CHAT, [car], world.clock.now())
    [vector] = await world.embedder.embed(["как зовут собаку"], Purpose.QUERY)

    hits = await world.rows.scan(CHAT, world.embedder.model_id, vector, (), 10)

    assert [memory_id for memory_id, _ in hits] == [dog, deadline]
    assert hits[0][1] > 0.3 > hits[1][1]
    assert await world.rows.scan(CHAT, "another model", vector, (), 10) == []
    assert await world.rows.scan(CHAT, world.embedder.model_id, vector, (), 0) == []


async def test_the_scan_can_be_narrowed_to_types_and_to_what_is_new(world: World) -> None:
    [fact] = await world.tell(FACTS[0])
    [preference] = await world.tell(FACTS[1], type_=MemoryType.PREFERENCE)
    first = (await world.memories.get(CHAT, fact)).revision
    vector = np.ones(world.embedder.dimensions, np.float32)

    async def scan(*types: MemoryType, after: int = 0) -> set[int]:
        found = await world.rows.scan(CHAT, world.embedder.model_id, vector, types, 10, after)
        return {memory_id for memory_id, _ in found}

    assert await scan() == {fact, preference}
    assert await scan(MemoryType.PREFERENCE) == {preference}
    assert await scan(after=first) == {preference}


async def test_a_vector_of_a_memory_that_is_gone_is_not_stored(world: World) -> None:
    kept, hidden, erased = await world.tell(*FACTS[:3], bare=True)
    await world.memories.hide(CHAT, [hidden], world.clock.now())
    await world.memories.purge(CHAT, [erased])
    vector = np.ones(4, np.float32)

    for _ in range(2):
        await world.rows.store("m", dict.fromkeys((kept, hidden, erased), (CHAT, vector)))

    assert list(await world.rows.vectors("m", [kept, hidden, erased])) == [kept]


async def test_changes_come_in_the_order_in_which_they_happened(world: World) -> None:
    first, second, third = await world.tell(*FACTS[:3])
    await world.memories.purge(CHAT, [first])
    await world.memories.hide(CHAT, [second], world.clock.now())

    changes = await world.rows.changes(0, 10)

    assert [(change.memory_id, change.active) for change in changes] == [
        (third, True),
        (first, False),
        (second, False),
    ]
    assert await world.rows.changes(0, 2) == changes[:2]
    assert await world.rows.changes(changes[1].revision, 10) == changes[2:]
    assert await world.rows.waiting(changes[0].revision) == 2


# Following


async def test_what_is_remembered_is_followed_and_what_is_forgotten_leaves(world: World) -> None:
    dog, nuts = await world.tell(*FACTS[:2])
    sync = world.sync()

    assert await sync.sync() == 2
    assert await world.home.only.ids() == {dog, nuts}
    await world.memories.hide(CHAT, [dog], world.clock.now())
    assert await sync.sync() == 1
    assert await world.home.only.ids() == {nuts}
    await world.memories.unhide(CHAT, world.clock.now())
    new = NewMemory(chat_id=CHAT, text="No nuts at all", type=MemoryType.FACT, origin=Origin.PERSON)
    corrected = await world.memories.supersede(CHAT, nuts, new)
    await sync.sync()

    assert await world.home.only.ids() == {dog, corrected.id}
    assert (await sync.sync(), sync.state, sync.lag) == (0, IndexState.READY, 0)


async def test_an_entry_carries_chat_and_type(world: World) -> None:
    [mine] = await world.tell(FACTS[0], type_=MemoryType.PREFERENCE)
    [theirs] = await world.tell(FACTS[0], chat_id=OTHER)

    await world.sync().sync()

    found = {entry.memory_id: (entry.chat_id, entry.type) for entry in world.home.only.entries}
    assert found == {mine: (CHAT, MemoryType.PREFERENCE), theirs: (OTHER, MemoryType.FACT)}


async def test_a_memory_without_a_vector_is_embedded_by_the_follower(world: World) -> None:
    bare = await world.tell(*(f"{FACTS[0]} {number}" for number in range(70)), bare=True)
    sync = world.sync()

    await sync.sync()

    assert await world.home.only.ids() == set(bare)
    assert len(await world.rows.vectors(world.embedder.model_id, bare)) == 70
    assert len(world.embedder.texts) == 70


async def test_without_an_embedder_memories_wait_and_are_embedded_later(world: World) -> None:
    [first] = await world.tell(FACTS[0])
    [bare] = await world.tell(FACTS[1], bare=True)
    sync = world.sync()
    world.embedder.failing = True

    with pytest.raises(EmbedderUnavailable):
        await sync.sync()
    world.embedder.failing = False
    await sync.sync()

    assert await world.home.only.ids() == {first, bare}


async def test_search_finds_what_the_index_has_not_followed_yet(world: World) -> None:
    sync = world.sync()
    await world.tell(*FACTS[1:])
    await sync.sync()
    [dog] = await world.tell(FACTS[0])

    assert dog not in await world.home.only.ids()
    assert (await world.ask(sync, "собака Бублик"))[0] == dog
    assert len(await world.ask(sync, "собака", k=2)) == 2
    assert await world.ask(sync, "собака", OTHER) == []


async def test_search_finds_everything_before_the_index_is_open(world: World) -> None:
    ids = await world.tell(*FACTS)
    sync = world.sync()

    assert set(await world.ask(sync, "собака")) == set(ids)
    assert sync.state == IndexState.STARTING


@pytest.mark.parametrize("failure", [IndexUnavailable("away"), IndexDamaged("broken"), TimeoutError()])
async def test_search_goes_on_without_a_sick_index_and_the_follower_brings_it_back(
    world: World, failure: Exception
) -> None:
    ids = await world.tell(*FACTS)
    sync = world.sync()
    await sync.sync()
    world.home.only.failure = failure

    assert (await world.ask(sync, "собака Бублик"))[0] == ids[0]
    assert state(sync) == IndexState.BROKEN
    world.home.only.failure = None
    await sync.sync()

    assert state(sync) == IndexState.READY
    assert await world.home.only.ids() == set(ids)


async def test_a_batch_cut_off_before_the_cursor_was_noted_is_followed_again(world: World) -> None:
    ids = await world.tell(*FACTS)
    sync = world.sync()
    await sync.sync()
    more = await world.tell("Five", "Six")
    world.home.only.failure = IndexUnavailable("killed")

    with pytest.raises(IndexUnavailable):
        await sync.sync()
    world.home.only.failure = None
    restarted = world.sync()
    await restarted.sync()

    assert await world.home.only.ids() == {*ids, *more}
    assert (await restarted.check()).ok


async def test_a_restart_goes_on_where_it_was(world: World) -> None:
    await world.tell(*FACTS)
    await world.sync().sync()
    before = world.home.only
    await world.tell("Five")

    assert await world.sync().sync() == 1
    assert world.home.only is before


async def test_another_embedding_model_gets_an_index_of_its_own(world: World) -> None:
    ids = await world.tell(*FACTS)
    await world.sync().sync()
    before = world.home.only
    world.embedder = HashEmbedder("hash-2", dimensions=64)

    sync = world.sync()
    await sync.sync()

    assert world.home.only is not before
    assert await world.home.only.ids() == set(ids)
    assert {len(entry.vector) for entry in world.home.only.entries} == {64}
    assert (await world.ask(sync, FACTS[0]))[0] == ids[0]


async def test_entries_that_got_lost_or_do_not_belong_are_mended_at_the_start(world: World) -> None:
    ids = await world.tell(*FACTS)
    await world.sync().sync()
    index = world.home.only
    await index.delete([ids[1]])
    await index.upsert([IndexEntry(999, CHAT, MemoryType.FACT, index.entries[0].vector)])

    sync = world.sync()
    await sync.sync()

    assert await index.ids() == set(ids)
    assert (await sync.check()).ok


async def test_a_vector_that_is_erased_leaves_the_files_and_one_that_is_hidden_does_not_yet(
    world: World,
) -> None:
    ids = await world.tell(*FACTS)
    sync = world.sync()
    await sync.sync()
    before = world.home.only
    await world.memories.hide(CHAT, [ids[0]], world.clock.now())

    assert not await sync.compact()
    await world.memories.purge(CHAT, [ids[0]])
    assert await sync.compact()

    assert world.home.only is not before
    assert await world.home.only.ids() == set(ids[1:])
    assert not await sync.compact()


async def test_the_check_says_what_is_wrong(world: World) -> None:
    ids = await world.tell(*FACTS)
    sync = world.sync()
    await sync.sync()
    assert (await sync.check()).ok
    await world.home.only.delete([ids[0], ids[1]])
    await world.home.only.upsert([IndexEntry(999, CHAT, MemoryType.FACT, np.ones(4, np.float32))])
    await world.tell("Five", bare=True)

    report = await sync.check()

    assert (report.memories, report.entries, report.missing, report.extra) == (5, 3, 2, 1)
    assert (report.unembedded, report.behind, report.ok) == (1, 1, False)


async def test_a_rebuild_starts_from_nothing_embeds_nothing_and_reports_progress(world: World) -> None:
    ids = await world.tell(*(f"Fact {number}" for number in range(150)))
    sync = world.sync()
    await sync.sync()
    before, steps = world.home.only, list[tuple[int, int]]()

    assert await sync.rebuild(lambda done, total: steps.append((done, total))) == 150

    assert world.home.only is not before
    assert await world.home.only.ids() == set(ids)
    assert steps[-1] == (150, 150)
    assert len(steps) > 2
    assert world.embedder.texts == []


async def test_a_rebuild_without_an_open_index_replaces_the_stored_one(world: World) -> None:
    await world.tell(*FACTS)
    await world.sync().sync()
    before = world.home.only

    await world.sync().rebuild()

    assert world.home.only is not before


async def test_what_a_crash_left_in_the_home_is_removed(world: World) -> None:
    await world.tell(*FACTS)
    world.home.indexes["memories-000009-1-abcdef"] = FlakyIndex()
    await world.sync().sync()

    assert "memories-000009-1-abcdef" not in world.home.indexes
    assert len(world.home.indexes) == 1


async def test_vectors_are_made_for_the_exact_scan_while_the_index_is_away(world: World) -> None:
    [bare] = await world.tell(FACTS[0], bare=True)
    world.home.away = True
    sync = world.sync()

    with pytest.raises(IndexUnavailable):
        await sync.sync()

    assert await world.ask(sync, FACTS[0]) == [bare]
    world.home.away = False
    await sync.sync()
    assert await world.home.only.ids() == {bare}


# In the background


async def test_the_follower_starts_at_once_and_hears_of_news(world: World) -> None:
    sync = world.sync(poll_seconds=60)
    await sync.start()
    await until(lambda: sync.state == IndexState.READY)
    [dog] = await world.tell(FACTS[0])

    sync.kick()

    await until(lambda: [entry.memory_id for entry in world.home.only.entries] == [dog])


async def test_the_follower_sees_what_another_process_changed(world: World) -> None:
    sync = world.sync()
    await sync.start()
    await until(lambda: sync.state == IndexState.READY)
    other = World(world.directory, await open_database(world.directory, clock=world.clock))

    [dog] = await other.tell(FACTS[0], bare=True)

    await until(lambda: [entry.memory_id for entry in world.home.only.entries] == [dog])
    await other.close()


async def test_the_follower_outlives_failures(world: World) -> None:
    ids = await world.tell(*FACTS, bare=True)
    world.embedder.failing = True
    sync = world.sync()
    await sync.start()
    await until(lambda: sync.state == IndexState.FOLLOWING)

    world.embedder.failing = False

    await until(lambda: sync.state == IndexState.READY)
    assert await world.home.only.ids() == set(ids)


async def test_erased_vectors_leave_the_files_without_being_asked(world: World) -> None:
    ids = await world.tell(*FACTS)
    sync = world.sync()
    await sync.start()
    await until(lambda: sync.state == IndexState.READY)
    before = world.home.only

    await world.memories.purge(CHAT, ids[:1])

    await until(lambda: before not in world.home.indexes.values() and sync.state == IndexState.READY)
    assert await world.home.only.ids() == set(ids[1:])


async def test_without_an_index_vectors_are_made_and_scanned(world: World) -> None:
    [dog] = await world.tell(FACTS[0], bare=True)
    sync = open_index(
        "off",
        directory=world.directory,
        url="",
        database=world.database,
        embedder=world.embedder,
        clock=world.clock,
        start=world.background.start,
    )

    await sync.sync()

    assert sync.state == IndexState.OFF
    assert await world.ask(sync, "собака") == [dog]
    await sync.close()


# Chroma's files


DAMAGES: dict[str, Callable[[Path], object]] = {
    "its database is garbage": lambda index: (index / "chroma.sqlite3").write_bytes(b"x" * 100_000),
    "it is deleted": shutil.rmtree,
    "its directory is deleted": lambda index: shutil.rmtree(index.parent),
    "the last opening killed the process": lambda index: (index / "opening").touch(),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_index_is_noticed_and_built_anew(world: World, damage: str) -> None:
    ids = await world.tell(*(f"{fact} {number}" for number in range(20) for fact in FACTS))
    first = world.chroma()
    await first.sync()
    await first.close()
    [index] = (world.directory / "index").iterdir()
    DAMAGES[damage](index)

    sync = world.chroma()
    await sync.start()
    assert (await world.ask(sync, f"{FACTS[0]} 7"))[0] == ids[28]
    await until(lambda: sync.state == IndexState.READY)

    assert (await sync.check()).ok
    assert (await world.ask(sync, f"{FACTS[0]} 7"))[0] == ids[28]
    assert world.embedder.texts == [f"{FACTS[0]} 7"] * 2, "only the questions were embedded"
    assert [path.name for path in (world.directory / "index").iterdir()] != [index.name]


async def test_an_index_that_was_noted_and_never_made_is_not_called_broken(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await world.tell(*FACTS)
    await world.rows.begin(Cursor("embedded/memories-000001-0-abcdef", world.embedder.model_id, 0))

    sync = world.chroma()
    await sync.sync()

    assert (await sync.check()).ok
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_sound_index_is_opened_again_after_a_kill(world: World) -> None:
    ids = await world.tell(*FACTS)
    first = world.chroma()
    await first.sync()
    await first.close()
    [index] = (world.directory / "index").iterdir()
    (index / "seal.json").unlink()

    sync = world.chroma()
    assert await sync.sync() == 0

    assert [path.name for path in (world.directory / "index").iterdir()] == [index.name]
    assert (await world.ask(sync, FACTS[1]))[0] == ids[1]


async def test_an_index_deleted_while_it_is_open_is_built_anew(world: World) -> None:
    ids = await world.tell(*FACTS)
    sync = world.chroma()
    await sync.start()
    await until(lambda: sync.state == IndexState.READY)

    shutil.rmtree(world.directory / "index")
    assert set(await world.ask(sync, FACTS[0])) == set(ids)
    [five] = await world.tell("Five")
    sync.kick()

    await until(lambda: (world.directory / "index").is_dir() and sync.state == IndexState.READY)
    await until(lambda: sync.lag == 0)
    assert (await world.ask(sync, "Five"))[0] == five
    assert (await sync.check()).ok


async def test_erased_vectors_are_in_no_file_of_the_index(world: World) -> None:
    ids = await world.tell(*FACTS)
    [vector] = (await world.rows.vectors(world.embedder.model_id, ids[:1])).values()
    sync = world.chroma()
    await sync.sync()

    def is_there(vector: bytes) -> bool:
        files = [path for path in (world.directory / "index").rglob("*") if path.is_file()]
        return any(vector in path.read_bytes() for path in files)

    assert is_there(vector.tobytes())
    await world.memories.purge(CHAT, ids[:1])
    await sync.compact()
    assert not is_there(vector.tobytes())
    await sync.close()

    assert not is_there(vector.tobytes())


async def test_what_was_in_memory_before_is_in_no_room_of_the_graph(world: World) -> None:
    """Chroma writes the room for a graph's first hundred elements as malloc gave it."""

    def rooms() -> list[bytes]:
        blocks = ("data_level0.bin", "length.bin")
        return [path.read_bytes() for path in (world.directory / "index").rglob("*") if path.name in blocks]

    freed = [np.ones(16_000, np.float32) * number for number in range(200)]
    del freed
    await world.tell(*FACTS)
    sync = world.chroma()
    await sync.sync()
    while_open = rooms()
    await sync.close()

    assert [set(room) for room in while_open] == [{0}, {0}]
    assert [set(room) for room in rooms()] == [{0}, {0}]
    again = world.chroma()
    await again.sync()
    assert (await again.check()).ok


async def test_closing_does_not_wait_for_an_opening_to_end(world: World) -> None:
    await world.tell(*FACTS)
    first = world.chroma()
    await first.sync()
    await first.close()
    sync = world.chroma()
    await sync.start()
    await asyncio.sleep(0)

    await asyncio.wait_for(sync.close(), 5)

    again = world.chroma()
    await again.sync()
    assert (await again.check()).ok
