"""Export and import: the same memory again, in this chat or another, once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from memory.database import Database, open_database
from memory.errors import InvalidExport
from memory.export import export_chat, import_chat
from memory.memories import Memories
from memory.service import MAX_MEMORY_CHARS
from memory.tables import links, messages, profiles, sessions, sources
from memory.tables import memories as rows
from memory.types import Memory, MemoryType, Origin, Relation, Status
from tests.contracts.chats import ANNA, CHAT, OTHER_CHAT, fact, having, open_session, say, text_of
from tests.fakes.clock import NOON, FrozenClock

TABLES = (sessions, messages, rows, sources, links, profiles)


@pytest.fixture
async def elsewhere(tmp_path: Path, clock: FrozenClock) -> AsyncIterator[Database]:
    """Another database, which knows nothing."""
    database = await open_database(tmp_path / "elsewhere", clock=clock)
    yield database
    await database.close()


async def counts(database: Database, chat_id: int) -> list[int]:
    found = []
    async with database.read() as conn:
        for table in TABLES:
            query = sa.select(sa.func.count()).select_from(table).where(table.c.chat_id == chat_id)
            found.append((await conn.execute(query)).scalar_one())
    return found


async def live_through(database: Database, memories: Memories, clock: FrozenClock) -> list[Memory]:
    """A chat with a question, its answer, three memories, an old version, links and a profile."""
    session_id = await open_session(database, summary="Анна переехала", thread_id=5)
    question = await say(database, "Я переехала в Осло", session_id=session_id)
    await say(database, "Запомнил.", session_id=session_id, reply_to=question)
    riga = (await memories.add(fact("Анна живёт в Риге", importance=0.7))).memory
    clock.advance(days=1)
    moved = fact("Анна живёт в Осло", message_ids=(question,), session_id=session_id, speaker_id=7)
    oslo = await memories.supersede(CHAT, riga.id, moved, revision=riga.revision)
    tea = await memories.add(
        fact("Anna likes tea", type=MemoryType.PREFERENCE, valid_until=NOON + timedelta(days=9))
    )
    async with database.write() as conn:
        link = {"chat_id": CHAT, "relation": Relation.SAME_TOPIC, "weight": 0.5}
        await conn.execute(sa.insert(links).values(**link, from_id=tea.memory.id, to_id=oslo.id))
        profile = {"chat_id": CHAT, "text": "Анна из Осло", "updated_at": NOON}
        await conn.execute(sa.insert(profiles).values(profile))
    return [await memories.get(CHAT, riga.id), oslo, tea.memory]


async def test_an_export_is_plain_json(database: Database, memories: Memories, clock: FrozenClock) -> None:
    await live_through(database, memories, clock)
    exported = await export_chat(database, CHAT)
    assert json.loads(json.dumps(exported)) == exported
    assert (exported["format"], exported["version"], exported["chat_id"]) == ("mnemogram-chat", 1, CHAT)


async def test_the_same_memory_is_there_in_another_database(
    database: Database, memories: Memories, clock: FrozenClock, elsewhere: Database
) -> None:
    _, oslo, tea = await live_through(database, memories, clock)
    exported = json.loads(json.dumps(await export_chat(database, CHAT)))

    added = await import_chat(elsewhere, CHAT, exported)

    assert added == 3
    there = Memories(elsewhere, clock)
    assert {memory.text for memory in await there.list(CHAT)} == {oslo.text, tea.text}
    [moved] = await there.matching(CHAT, "осло")
    assert (moved.speaker, moved.speaker_id, moved.learned_at) == (ANNA, 7, oslo.learned_at)
    [before] = await there.history(CHAT, moved.id)
    assert (before.text, before.status, before.importance) == ("Анна живёт в Риге", Status.SUPERSEDED, 0.7)
    assert before.valid_until == NOON + timedelta(days=1)
    assert await text_of(elsewhere, moved.message_ids[0]) == "Я переехала в Осло"
    assert await having(elsewhere, "Осло") == [moved.id]
    assert await having(elsewhere, "Рига") == []
    assert await export_chat(elsewhere, CHAT) == exported


async def test_importing_twice_adds_nothing(
    database: Database, memories: Memories, clock: FrozenClock, elsewhere: Database
) -> None:
    await live_through(database, memories, clock)
    exported = await export_chat(database, CHAT)

    for chat_id in (CHAT, OTHER_CHAT):
        assert await import_chat(elsewhere, chat_id, exported) == 3
        once = await counts(elsewhere, chat_id)
        assert await import_chat(elsewhere, chat_id, exported) == 0
        assert await counts(elsewhere, chat_id) == once == await counts(database, CHAT)


async def test_importing_into_its_own_chat_adds_nothing(
    database: Database, memories: Memories, clock: FrozenClock
) -> None:
    await live_through(database, memories, clock)
    before = await export_chat(database, CHAT)
    assert await import_chat(database, CHAT, before) == 0
    assert await export_chat(database, CHAT) == before


async def test_a_memory_that_travelled_comes_home_as_itself(
    database: Database, memories: Memories, clock: FrozenClock
) -> None:
    await live_through(database, memories, clock)
    before = await export_chat(database, CHAT)
    await import_chat(database, OTHER_CHAT, before)
    assert await import_chat(database, CHAT, await export_chat(database, OTHER_CHAT)) == 0
    assert await export_chat(database, CHAT) == before


async def test_what_the_chat_has_already_is_left_as_it_is(
    database: Database, memories: Memories, clock: FrozenClock, elsewhere: Database
) -> None:
    await live_through(database, memories, clock)
    there = Memories(elsewhere, clock)
    own = (await there.add(fact("anna likes TEA"))).memory
    await open_session(elsewhere)

    assert await import_chat(elsewhere, CHAT, await export_chat(database, CHAT)) == 2
    assert await there.get(CHAT, own.id) == own


async def test_an_old_export_does_not_bring_back_what_was_corrected_since(
    database: Database, memories: Memories, clock: FrozenClock
) -> None:
    tea = (await memories.add(fact("Anna likes tea"))).memory
    exported = await export_chat(database, CHAT)
    await memories.supersede(CHAT, tea.id, fact("Anna likes coffee"), revision=None)

    assert await import_chat(database, CHAT, exported) == 0
    assert [memory.text for memory in await memories.list(CHAT)] == ["Anna likes coffee"]


async def test_an_answer_stays_the_answer_to_its_question_in_their_order(
    database: Database, elsewhere: Database
) -> None:
    session_id = await open_session(database)
    for number in range(3):
        question = await say(database, f"question {number}", session_id=session_id)
        await say(database, f"answer {number}", session_id=session_id, reply_to=question)
    await say(elsewhere, "shifts the ids", chat_id=OTHER_CHAT)

    await import_chat(elsewhere, CHAT, await export_chat(database, CHAT))

    async with elsewhere.read() as conn:
        query = sa.select(messages).where(messages.c.chat_id == CHAT).order_by(messages.c.id)
        found = (await conn.execute(query)).all()
    assert [row.text.split()[1] for row in found] == ["0", "0", "1", "1", "2", "2"]
    for asked, answered in zip(found[::2], found[1::2], strict=True):
        assert (answered.reply_to, answered.source) == (asked.id, f"answer:{asked.id}")
        assert answered.delivered


async def test_an_open_session_is_closed_by_the_way(
    database: Database, elsewhere: Database, memories: Memories
) -> None:
    session_id = await open_session(database)
    async with database.write() as conn:
        await conn.execute(sa.update(sessions).where(sessions.c.id == session_id).values(state="open"))

    await import_chat(elsewhere, CHAT, await export_chat(database, CHAT))

    async with elsewhere.read() as conn:
        assert (await conn.execute(sa.select(sessions.c.state))).scalar_one() == "closed"


async def test_what_is_forgotten_is_not_exported_even_before_it_is_purged(
    database: Database, memories: Memories
) -> None:
    session_id = await open_session(database, summary="Секрет Анны: клад под дубом")
    question = await say(database, "клад под дубом!", session_id=session_id)
    await say(database, "Понял, клад под дубом", session_id=session_id, reply_to=question)
    memory = (await memories.add(fact("Клад под дубом", message_ids=(question,)))).memory
    newer = await memories.supersede(CHAT, memory.id, fact("Клад под дубом у реки"), revision=None)
    await memories.add(fact("Итог: клад под дубом", origin=Origin.DERIVED))
    await memories.add(fact("Anna likes tea"))
    await memories.hide(CHAT, [newer.id], NOON + timedelta(minutes=10))

    exported = await export_chat(database, CHAT)

    assert "дуб" not in json.dumps(exported, ensure_ascii=False)
    assert [memory["text"] for memory in exported["memories"]] == ["Anna likes tea"]
    assert len(exported["messages"]) == 2


async def test_a_chat_exports_nothing_of_another(
    database: Database, memories: Memories, clock: FrozenClock
) -> None:
    await live_through(database, memories, clock)
    exported = await export_chat(database, OTHER_CHAT)
    kinds = ("sessions", "messages", "memories", "links")
    assert [exported[kind] for kind in kinds] == [[], [], [], []]
    assert exported["profile"] is None
    assert await import_chat(database, OTHER_CHAT, exported) == 0


@pytest.mark.parametrize("data", [None, [], {}, {"format": "other"}, "mnemogram-chat", 7])
async def test_anything_else_is_refused_with_a_sentence(database: Database, data: object) -> None:
    with pytest.raises(InvalidExport, match="not a chat's memory"):
        await import_chat(database, CHAT, data)


async def test_a_newer_version_is_refused(database: Database) -> None:
    exported = await export_chat(database, CHAT) | {"version": 2}
    with pytest.raises(InvalidExport, match="version other than 1"):
        await import_chat(database, CHAT, exported)


def memory_with(**values: Any) -> Any:
    return lambda data: data["memories"][0].update(values)


@pytest.mark.parametrize(
    ("place", "harm"),
    [
        ("memories.0.text", memory_with(text=" ")),
        ("memories.0.type", memory_with(type="rumour")),
        ("memories.0.status", memory_with(status="forgotten")),
        ("memories.0.learned_at", memory_with(learned_at="2026-01-01T00:00:00")),
        ("memories.0.importance", memory_with(importance=float("nan"))),
        ("memories.0.speaker_id", memory_with(speaker_id=2**64)),
        ("memories.0.message_ids", memory_with(message_ids=[999])),
        ("memories.0.superseded_by", memory_with(superseded_by=999)),
        ("memories.0.secret", memory_with(secret="x")),
        ("memories.id", lambda data: data["memories"].append(data["memories"][0])),
        ("memories.text", lambda data: data["memories"].append(data["memories"][2] | {"id": 99_999})),
        ("memories.0.text", memory_with(text="x" * (MAX_MEMORY_CHARS + 1))),
        ("memories.0.learned_at", memory_with(learned_at="0001-01-01T00:00:00+14:00")),
        ("memories.0.valid_until", memory_with(valid_until="9999-12-31T23:59:59Z")),
        ("messages.0.reply_to", lambda data: data["messages"][0].update(reply_to=999)),
        ("messages.source", lambda data: data["messages"].append(data["messages"][0] | {"id": 99_999})),
        ("messages.0.session_id", lambda data: data["sessions"].clear()),
        ("links.0", lambda data: data["links"][0].update(to_id=999)),
        ("messages", lambda data: data.pop("messages")),
        ("messages", lambda data: data.update(messages={})),
    ],
)
async def test_a_damaged_export_is_refused_and_adds_nothing(
    database: Database, memories: Memories, clock: FrozenClock, place: str, harm: Any
) -> None:
    await live_through(database, memories, clock)
    exported = await export_chat(database, CHAT)
    harm(exported)
    with pytest.raises(InvalidExport, match=f"damaged at {place};"):
        await import_chat(database, OTHER_CHAT, exported)
    assert await counts(database, OTHER_CHAT) == [0] * len(TABLES)


async def test_a_long_life_is_imported_in_one_go(
    database: Database, memories: Memories, clock: FrozenClock, elsewhere: Database
) -> None:
    await live_through(database, memories, clock)
    exported = await export_chat(database, CHAT)
    pattern = exported["memories"][2]
    exported["memories"] += [
        pattern | {"id": 10_000 + number, "text": f"Anna likes cake number {number}"}
        for number in range(2_000)
    ]
    assert await import_chat(elsewhere, CHAT, exported) == 2_003
    assert await Memories(elsewhere, clock).count(CHAT) == 2_002
