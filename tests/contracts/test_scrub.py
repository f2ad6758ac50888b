"""After a scrub no file of the data directory holds a byte of what was purged."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from memory.database import Database, open_database
from memory.memories import Memories
from memory.tables import vectors as vector_rows
from tests.contracts.chats import CHAT, fact, open_session, say
from tests.contracts.conversations import Talk
from tests.fakes.clock import FrozenClock

DOG = "мою собаку зовут Бублик"


@pytest.fixture
async def database(tmp_path: Path, clock: FrozenClock) -> AsyncIterator[Database]:
    database = await open_database(tmp_path / "data", clock=clock)
    yield database
    await database.close()


def bytes_left(database: Database, text: str) -> list[str]:
    """The files of the data directory that hold the text, as it is or folded."""
    assert database.file
    forms = {form.encode() for form in (text, text.lower(), text.casefold())}
    return [
        file.name
        for file in database.file.parent.iterdir()
        if any(form in file.read_bytes() for form in forms)
    ]


def holds(database: Database, stored: bytes) -> bool:
    assert database.file
    return any(stored in file.read_bytes() for file in database.file.parent.iterdir())


async def vector_of(database: Database, memory_id: int) -> bytes:
    async with database.read() as conn:
        query = sa.select(vector_rows.c.vector).where(vector_rows.c.memory_id == memory_id)
        return bytes((await conn.execute(query)).scalar_one())


async def test_after_a_scrub_no_file_holds_what_was_purged(
    memories: Memories, database: Database, clock: FrozenClock
) -> None:
    session_id = await open_session(database, summary="о Бублике: мою собаку зовут Бублик")
    source = await say(database, f"Запомни: {DOG} и {'очень ' * 2_000}добрый", session_id=session_id)
    await say(database, f"Запомнил: {DOG}", session_id=session_id, reply_to=source)
    memory = (await memories.add(fact(DOG, message_ids=(source,), original="Бублик пёс"))).memory
    newer = await memories.supersede(CHAT, memory.id, fact("собаку зовут Бублик-младший"), revision=None)
    assert bytes_left(database, "Бублик")

    await memories.purge(CHAT, [newer.id])
    await database.scrub()

    for word in ("Бублик", "младший", "собак"):
        assert bytes_left(database, word) == []


async def test_after_a_scrub_no_file_holds_a_turn_of_what_was_purged(
    memories: Memories, database: Database, clock: FrozenClock
) -> None:
    talk = Talk(database, clock)
    turn = await talk.say(f"Запомни: {DOG} и {'очень ' * 2_000}добрый", f"Запомнил: {DOG}")
    await talk.say("Какая погода?", "Солнечно.")
    memory = (await memories.add(fact(DOG, message_ids=(turn.message.id,)))).memory
    await talk.index()
    vectors = [await vector_of(database, each.id) for each in await talk.turns()]
    assert bytes_left(database, "Бублик")
    assert all(holds(database, vector) for vector in vectors)

    await memories.hide(CHAT, [memory.id], clock.now())
    await memories.purge_due(clock.now())
    await database.scrub()

    for word in ("Бублик", "собак", "очен", "добр"):
        assert bytes_left(database, word) == []
    assert [holds(database, vector) for vector in vectors] == [False, False, True, True]
    assert await talk.texts() == ["Какая погода?", "Солнечно."]


async def test_no_trace_survives_in_split_pages(memories: Memories, database: Database) -> None:
    """secure_delete alone leaves about one in a thousand behind, where SQLite moved rows between pages."""
    dice = random.Random(4)  # one that does leave something without a rewrite
    secrets = []
    for number in range(300):
        marker = f"{dice.choice('abcdefghijklmnopqrstuvwxyz')}{dice.randrange(10**6)}secret{number}"
        common = " ".join(f"word{dice.randrange(2_000)}" for _ in range(dice.randrange(3, 25)))
        memory = (await memories.add(fact(f"{common} {marker}"))).memory
        secrets.append((memory.id, marker))

    await memories.purge(CHAT, [memory_id for memory_id, _ in secrets[::2]])
    await database.scrub()

    assert [marker for _, marker in secrets[::2] if bytes_left(database, marker)] == []
    assert await memories.count(CHAT) == 150


async def test_a_purge_that_was_cut_off_before_the_scrub_is_cleaned_up_at_the_next_start(
    memories: Memories, database: Database, clock: FrozenClock
) -> None:
    assert database.file
    memory = (await memories.add(fact(DOG))).memory
    await memories.purge(CHAT, [memory.id])

    again = await open_database(database.file.parent, clock=clock)
    await again.close()

    assert bytes_left(database, "Бублик") == []


async def test_a_scrub_without_anything_erased_leaves_everything(
    memories: Memories, database: Database
) -> None:
    memory = (await memories.add(fact(DOG))).memory
    await database.scrub()
    await database.scrub()
    assert await memories.list(CHAT) == [memory]
