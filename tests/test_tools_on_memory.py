"""The tools on the real memory service: what they save is found, corrected and forgotten, in its own chat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest_asyncio

from bot.ports import ToolCall, ToolResult
from bot.tools import Toolbox, TurnScope
from memory.chat_copies import ChatCopies
from memory.database import open_database
from memory.memories import Memories
from memory.search import Search
from memory.service import MemoryService
from memory.sessions import Sessions
from memory.types import Author, Incoming
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import HashEmbedder
from tests.recall import not_asked


class Chat:
    """One chat's turns with the tools."""

    def __init__(self, memory: MemoryService, sessions: Sessions, clock: FrozenClock, chat_id: int) -> None:
        self._memory = memory
        self._sessions = sessions
        self._clock = clock
        self.chat_id = chat_id
        self._said = 0

    async def turn(self) -> Toolbox:
        """Begin a turn and return its tools."""
        self._said += 1
        now = self._clock.now()
        incoming = Incoming(self.chat_id, Author(5, "Ann"), "…", now, source=f"m{self._said}")
        turn = await self._sessions.begin_turn(incoming, timedelta(minutes=30))
        ids = (turn.session.id, turn.message.id)
        zone = now.tzinfo
        assert zone is not None
        return Toolbox(self._memory, TurnScope(self.chat_id, "Ann", 5, *ids, zone=zone, now=now, sent_at=now))

    async def run(self, name: str, **arguments: object) -> ToolResult:
        """Run one tool in a turn of its own."""
        return await (await self.turn()).run(ToolCall("call-1", name, arguments))


class Chats:
    def __init__(self, memory: MemoryService, sessions: Sessions, clock: FrozenClock) -> None:
        self._parts = (memory, sessions, clock)
        self.memory = memory

    def chat(self, chat_id: int) -> Chat:
        return Chat(*self._parts, chat_id)


@pytest_asyncio.fixture
async def chats(tmp_path: Path) -> AsyncIterator[Chats]:
    clock, embedder = FrozenClock(), HashEmbedder()
    database = await open_database(tmp_path, clock=clock)
    memories = Memories(database, clock)
    copies = ChatCopies(database, lambda: embedder.model_id, limit_bytes=2**20)
    search = Search(copies, memories, not_asked, embedder, clock)
    memory = MemoryService(memories, search, embedder, clock, changed=lambda: None, scrub=database.scrub)
    yield Chats(memory, Sessions(database, clock), clock)
    await database.close()


async def test_what_was_saved_in_one_turn_is_found_in_another(chats: Chats) -> None:
    ann = chats.chat(1)

    saved = await ann.run("save_to_memory", content="My dog is called Biscuit")
    found = await ann.run("search_memory", query="what is my dog called")

    assert saved.created
    assert [hit.memory.id for hit in found.hits] == [saved.memory_id]
    assert "2026-03-04" in found.text
    assert "Ann" in found.text


async def test_saving_twice_makes_one_memory(chats: Chats) -> None:
    ann = chats.chat(1)

    first = await ann.run("save_to_memory", content="My dog is called Biscuit")
    again = await ann.run("save_to_memory", content="my dog is called biscuit.")

    assert (again.memory_id, again.created) == (first.memory_id, False)


async def test_a_correction_replaces_what_is_found(chats: Chats) -> None:
    ann = chats.chat(1)
    saved = await ann.run("save_to_memory", content="Ann lives in Omsk")

    updated = await ann.run("update_memory", id=saved.memory_id, content="Ann lives in Kazan")
    found = await ann.run("search_memory", query="where does Ann live")

    assert updated.memory_id not in (None, saved.memory_id)
    assert [hit.memory.text for hit in found.hits] == ["Ann lives in Kazan"]


async def test_the_old_id_cannot_be_corrected_a_second_time(chats: Chats) -> None:
    ann = chats.chat(1)
    saved = await ann.run("save_to_memory", content="Ann lives in Omsk")
    await ann.run("update_memory", id=saved.memory_id, content="Ann lives in Kazan")

    assert (await ann.run("update_memory", id=saved.memory_id, content="Ann lives in Perm")).is_error


async def test_a_change_from_elsewhere_during_the_turn_is_not_overwritten(chats: Chats) -> None:
    ann = chats.chat(1)
    saved = await ann.run("save_to_memory", content="Ann lives in Omsk")
    assert saved.memory_id is not None
    toolbox = await ann.turn()
    await toolbox.run(ToolCall("call-1", "search_memory", {"query": "Ann lives"}))
    await chats.memory.update(1, saved.memory_id, "Ann lives in Tomsk")

    late = await toolbox.run(
        ToolCall("call-2", "update_memory", {"id": saved.memory_id, "content": "Ann lives in Kazan"})
    )

    assert late.is_error


async def test_what_was_forgotten_is_not_found_and_can_be_taken_back(chats: Chats) -> None:
    ann = chats.chat(1)
    saved = await ann.run("save_to_memory", content="My dog is called Biscuit")

    await ann.run("forget_memory", id=saved.memory_id)
    missing = await ann.run("search_memory", query="dog")
    last = await chats.memory.last_forgotten(1)
    assert last is not None
    await chats.memory.restore(1, last)
    back = await ann.run("search_memory", query="dog")

    assert missing.hits == ()
    assert [hit.memory.id for hit in back.hits] == [saved.memory_id]


async def test_another_chat_can_neither_find_nor_change_nor_forget(chats: Chats) -> None:
    saved = await chats.chat(1).run("save_to_memory", content="My dog is called Biscuit")
    bob = chats.chat(2)

    found = await bob.run("search_memory", query="My dog is called Biscuit")
    changed = await bob.run("update_memory", id=saved.memory_id, content="It is a cat")
    forgotten = await bob.run("forget_memory", id=saved.memory_id)

    assert (found.hits, changed.is_error, forgotten.is_error) == ((), True, True)
    assert [hit.memory.text for hit in (await chats.chat(1).run("search_memory", query="dog")).hits] == [
        "My dog is called Biscuit"
    ]


async def test_a_window_of_days_keeps_to_what_was_told_in_it(chats: Chats) -> None:
    ann = chats.chat(1)
    await ann.run("save_to_memory", content="My dog is called Biscuit")

    today = await ann.run("search_memory", query="dog", since="2026-03-04", until="2026-03-04")
    before = await ann.run("search_memory", query="dog", until="2026-03-03")

    assert [len(found.hits) for found in (today, before)] == [1, 0]
