"""Warm copies of many chats: within their limit, asked side by side, and true whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.chat_copies import ChatCopies
from memory.chat_copy import ChatCopy
from memory.database import Database
from memory.errors import StorageError
from memory.memories import Memories
from memory.types import Memory, MemoryType, Origin
from tests.contracts.chats import ANNA, CHAT, OTHER_CHAT, fact, open_session
from tests.contracts.copies import DIMENSIONS, MODEL, PLENTY, add, content, embed, found, fresh, vector
from tests.fakes.clock import FrozenClock

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_chats = itertools.count(1_000)


@pytest.fixture
def copies(database: Database) -> ChatCopies:
    return fresh(database)


# The limit


async def fill(memories: Memories, chat_id: int, count: int = 10) -> None:
    for number in range(count):
        await add(memories, f"number {number}", chat_id, seed=number)


async def test_the_chats_asked_longest_ago_make_room(memories: Memories, database: Database) -> None:
    for chat_id in (1, 2, 3):
        await fill(memories, chat_id)
    measure = fresh(database)
    await measure.get(1)
    copies = fresh(database, limit_bytes=2 * measure.bytes + 100)

    for chat_id in (1, 2, 1, 3):
        await copies.get(chat_id)
    assert copies.misses == 3
    assert copies.bytes <= 2 * measure.bytes + 100

    await copies.get(1)
    assert copies.misses == 3
    await copies.get(2)
    assert copies.misses == 4


async def test_a_chat_whose_vectors_exceed_the_limit_is_kept_without_them(
    memories: Memories, database: Database
) -> None:
    await fill(memories, CHAT, 10)
    copies = fresh(database, limit_bytes=10 * DIMENSIONS * 4)
    copy = await copies.get(CHAT)
    assert copy.vectors is not None

    await add(memories, "one more", seed=11)
    copy = await copies.get(CHAT)
    assert copy.vectors is None
    assert copy.cosines(vector(1)) is None
    assert not copy.has_vector.any()
    assert len(found(copy, "number")) == 10
    assert await copies.get(CHAT) is copy

    await add(memories, "and another", seed=12)
    copy = await copies.get(CHAT)
    assert (len(copy), copy.vectors) == (12, None)
    again = await fresh(database, limit_bytes=10 * DIMENSIONS * 4).get(CHAT)
    assert again.vectors is None
    assert content(again) == content(copy)


async def test_without_a_limit_only_the_chat_asked_last_stays_and_has_no_vectors(
    memories: Memories, database: Database
) -> None:
    await fill(memories, 1)
    await fill(memories, 2)
    copies = fresh(database, limit_bytes=0)
    assert (await copies.get(1)).vectors is None
    await copies.get(1)
    assert (copies.misses, copies.hits) == (1, 1)
    await copies.get(2)
    await copies.get(1)
    assert copies.misses == 3
    alone = fresh(database, limit_bytes=0)
    await alone.get(1)
    assert copies.bytes == alone.bytes > 0


async def test_dropped_copies_take_no_memory_and_are_read_anew(
    copies: ChatCopies, memories: Memories
) -> None:
    await fill(memories, 1)
    await fill(memories, 2)
    one = await copies.get(1)
    await copies.get(2)
    copies.drop(1)
    copies.drop(3)
    assert content(await copies.get(1)) == content(one)
    assert copies.misses == 3
    copies.drop()
    assert copies.bytes == 0


# Side by side


class Gate:
    """A database whose readers wait for as long as the gate is closed, and fail when they shall."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.open = asyncio.Event()
        self.readers = 0
        self.error: StorageError | None = None

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        self.readers += 1
        await self.open.wait()
        if self.error:
            raise self.error
        async with self._database.read() as conn:
            yield conn

    def copies(self) -> ChatCopies:
        return ChatCopies(self, lambda: MODEL, limit_bytes=PLENTY)  # type: ignore[arg-type]


async def test_a_chat_is_loaded_once_however_many_ask(copies: ChatCopies, memories: Memories) -> None:
    await fill(memories, CHAT)
    first, *others = await asyncio.gather(*(copies.get(CHAT) for _ in range(10)))
    assert all(other is first for other in others)
    assert (copies.misses, copies.hits) == (1, 9)


async def test_chats_are_loaded_side_by_side(memories: Memories, database: Database) -> None:
    await fill(memories, 1)
    await fill(memories, 2)
    gate = Gate(database)
    copies = gate.copies()
    async with asyncio.TaskGroup() as tasks:
        for chat_id in (1, 1, 2):
            tasks.create_task(copies.get(chat_id))
        while gate.readers < 2:
            await asyncio.sleep(0)
        gate.open.set()
    assert copies.misses == 2


async def test_an_error_of_the_database_is_told_and_harms_no_copy(
    memories: Memories, database: Database
) -> None:
    await fill(memories, CHAT)
    gate = Gate(database)
    gate.open.set()
    copies = gate.copies()
    copy = await copies.get(CHAT)
    gate.error = StorageError("The disk is full.")
    with pytest.raises(StorageError, match="disk"):
        await copies.get(CHAT)
    gate.error = None
    assert await copies.get(CHAT) is copy


async def test_a_cancelled_question_leaves_nothing_half_done(memories: Memories, database: Database) -> None:
    await fill(memories, CHAT, 3)
    following = fresh(database)
    await following.get(CHAT)
    await fill(memories, CHAT, 30)
    truth = content(await fresh(database).get(CHAT))
    for steps in range(1, 60, 4):
        for copies in (following, fresh(database)):
            async with asyncio.TaskGroup() as tasks:
                asked = tasks.create_task(copies.get(CHAT))
                for _ in range(steps):
                    await asyncio.sleep(0)
                asked.cancel()
            assert content(await copies.get(CHAT)) == truth
        late = await add(memories, f"late {steps}", seed=steps)
        truth = content(await fresh(database).get(CHAT))
        assert late.id in truth


async def test_no_row_of_another_chat_gets_in(copies: ChatCopies, memories: Memories) -> None:
    mine = [await add(memories, f"tea {number}", CHAT, seed=number) for number in range(3)]
    other = [await add(memories, f"tea {number}", OTHER_CHAT, seed=number) for number in range(3)]
    for _ in range(2):
        copy, theirs = await asyncio.gather(copies.get(CHAT), copies.get(OTHER_CHAT))
        assert found(copy, "tea") == copy.ids.tolist() == [memory.id for memory in mine]
        assert found(theirs, "tea") == theirs.ids.tolist() == [memory.id for memory in other]
        mine.append(await add(memories, f"more tea {len(mine)}", CHAT, seed=1))
        other.append(await add(memories, f"more tea {len(other)}", OTHER_CHAT, seed=1))


class Life:
    """Random changes of two chats, such as years of use bring."""

    def __init__(self, database: Database, clock: FrozenClock, seed: int) -> None:
        self._database = database
        self._clock = clock
        self._memories = Memories(database, clock)
        self._random = random.Random(seed)
        self.chats = (next(_chats), next(_chats))
        self._stored: dict[int, list[Memory]] = {chat_id: [] for chat_id in self.chats}
        self._sessions: dict[int, list[int]] = {chat_id: [] for chat_id in self.chats}

    async def live(self, step: str) -> None:
        chat_id = self._random.choice(self.chats)
        await getattr(self, step)(chat_id)

    def _some(self, chat_id: int) -> list[int]:
        ids = [memory.id for memory in self._stored[chat_id]]
        return self._random.sample(ids, min(len(ids), self._random.randint(1, 3)))

    def _text(self) -> str:
        return " ".join(self._random.choices(["tea", "чай", "dog", "Riga", "Oslo", "ZX-1", "ZX-2", "7"], k=4))

    async def add(self, chat_id: int) -> None:
        speaker = self._random.choice(["", ANNA, "Boris"])
        origin = self._random.choice([Origin.PERSON, Origin.DOCUMENT])
        text = self._text()
        seed = self._random.choice([None, len(text)])
        added = await add(self._memories, text, chat_id, seed=seed, speaker=speaker, origin=origin)
        self._stored[chat_id].append(added)

    async def say(self, chat_id: int) -> None:
        sessions = self._sessions[chat_id]
        if len(sessions) < 2:
            sessions.append(await open_session(self._database, chat_id=chat_id, thread_id=len(sessions)))
        turn: dict[str, Any] = {"type": MemoryType.TURN, "session_id": self._random.choice(sessions)}
        self._stored[chat_id].append(await add(self._memories, self._text(), chat_id, **turn))

    async def supersede(self, chat_id: int) -> None:
        active = await self._memories.get_active(chat_id, self._some(chat_id))
        for old in [memory for memory in active if memory.type is not MemoryType.TURN][:1]:
            new = await self._memories.supersede(chat_id, old.id, fact(self._text(), chat_id=chat_id))
            self._stored[chat_id].append(new)

    async def hide(self, chat_id: int) -> None:
        await self._memories.hide(chat_id, self._some(chat_id), self._clock.advance(minutes=1))

    async def hide_all(self, chat_id: int) -> None:
        await self._memories.hide_all(chat_id, self._clock.advance(minutes=1))

    async def unhide(self, chat_id: int) -> None:
        if until := await self._memories.last_hidden(chat_id):
            await self._memories.unhide(chat_id, until)

    async def purge(self, chat_id: int) -> None:
        await self._memories.purge(chat_id, self._some(chat_id))

    async def embed(self, chat_id: int) -> None:
        for memory in await self._memories.get_active(chat_id, self._some(chat_id)):
            await embed(self._database, memory, len(memory.text))


STEPS = ["add", "add", "add", "say", "say", "supersede", "hide", "unhide", "purge", "embed", "hide_all"]


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32), steps=st.lists(st.sampled_from([*STEPS, "get", "get"]), max_size=40))
async def test_after_any_changes_a_copy_is_like_one_made_anew(
    database: Database, clock: FrozenClock, seed: int, steps: list[str]
) -> None:
    life, copies = Life(database, clock, seed), fresh(database)
    seen: list[tuple[ChatCopy, dict[int, tuple[Any, ...]]]] = []
    for step in steps:
        if step != "get":
            await life.live(step)
            continue
        for chat_id in life.chats:
            copy = await copies.get(chat_id)
            seen.append((copy, content(copy)))

    for chat_id in life.chats:
        again = await fresh(database).get(chat_id)
        assert content(await copies.get(chat_id)) == content(again)
    assert all(content(copy) == before for copy, before in seen)


@pytest.mark.parametrize("seed", range(3))
async def test_copies_stay_true_while_others_write(
    database: Database, clock: FrozenClock, copies: ChatCopies, seed: int
) -> None:
    life = Life(database, clock, seed)
    done = asyncio.Event()

    async def ask(chat_id: int) -> None:
        revision = 0
        while not done.is_set():
            copy = await copies.get(chat_id)
            assert copy.chat_id == chat_id
            assert copy.revision >= revision
            content(copy)
            revision = copy.revision

    async with asyncio.TaskGroup() as tasks:
        for chat_id in life.chats * 2:
            tasks.create_task(ask(chat_id))
        for step in random.Random(seed).choices(STEPS, k=60):
            await life.live(step)
        done.set()
    for chat_id in life.chats:
        assert content(await copies.get(chat_id)) == content(await fresh(database).get(chat_id))
