"""Memories: stored once, read within their chat, replaced without losing their history."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from memory.database import Database, next_revision
from memory.errors import InvalidMemory, MemoryNotFound, StaleRevision
from memory.memories import Memories
from memory.rows import in_scope
from memory.tables import links, tombstones, vectors, words
from memory.tables import memories as rows
from memory.types import Memory, MemoryType, NewMemory, Origin, Receipt, Relation, Status, StoredVector, Where
from tests.contracts.chats import ANNA, CHAT, OTHER_CHAT, fact, open_session, say
from tests.fakes.clock import NOON, FrozenClock

VECTOR = StoredVector("model-1", np.array([0.6, 0.8], dtype=np.float32))


async def count(database: Database, table: sa.Table) -> int:
    async with database.read() as conn:
        found: int = (await conn.execute(sa.select(sa.func.count()).select_from(table))).scalar_one()
    return found


async def texts(memories: Memories, where: Where | None = None, **page: int) -> list[str]:
    return [memory.text for memory in await memories.list(CHAT, where or Where(), **page)]


# Storing


async def test_what_is_added_comes_back_with_everything_that_was_given(
    memories: Memories, database: Database
) -> None:
    session_id = await open_session(database)
    question = await say(database, "Запомни: у меня аллергия на орехи", session_id=session_id)

    added = await memories.add(
        fact(
            "У Анны аллергия на орехи",
            type=MemoryType.PREFERENCE,
            speaker_id=7_000_000_001,
            session_id=session_id,
            message_ids=(question,),
            original="у меня аллергия на орехи",
            importance=0.9,
            valid_from=NOON - timedelta(days=1),
        )
    )

    assert added.created
    assert await memories.get(CHAT, added.memory.id) == Memory(
        id=added.memory.id,
        chat_id=CHAT,
        type=MemoryType.PREFERENCE,
        text="У Анны аллергия на орехи",
        origin=Origin.PERSON,
        status=Status.ACTIVE,
        learned_at=NOON,
        valid_from=NOON - timedelta(days=1),
        revision=added.memory.revision,
        speaker=ANNA,
        speaker_id=7_000_000_001,
        session_id=session_id,
        message_ids=(question,),
        original="у меня аллергия на орехи",
        importance=0.9,
    )


async def test_a_memory_is_valid_from_the_moment_it_was_stored_unless_told_otherwise(
    memories: Memories,
) -> None:
    assert (await memories.add(fact("Anna lives in Riga"))).memory.valid_from == NOON


async def test_the_same_words_make_one_memory_whatever_their_case_and_punctuation(memories: Memories) -> None:
    first = await memories.add(fact("Мой пёс — Бублик."))
    again = await memories.add(fact("мой  пес — бублик"))

    assert not again.created
    assert again.memory == first.memory
    assert await memories.count(CHAT) == 1


async def test_the_same_words_told_in_two_chats_are_two_memories(memories: Memories) -> None:
    await memories.add(fact("Anna likes tea"))
    assert (await memories.add(fact("Anna likes tea", chat_id=OTHER_CHAT))).created


async def test_of_many_tellings_at_once_one_is_stored(memories: Memories, database: Database) -> None:
    told = await asyncio.gather(*(memories.add(fact("Anna likes tea")) for _ in range(8)))

    assert [remembered.created for remembered in told].count(True) == 1
    assert len({remembered.memory.id for remembered in told}) == 1
    assert await count(database, rows) == 1


async def test_its_vector_is_stored_beside_it_as_little_endian_floats(
    memories: Memories, database: Database
) -> None:
    memory = (await memories.add(fact("Anna likes tea"), VECTOR)).memory

    async with database.read() as conn:
        row = (await conn.execute(sa.select(vectors))).one()
    assert (row.chat_id, row.memory_id, row.model_id) == (CHAT, memory.id, "model-1")
    assert np.frombuffer(row.vector, "<f4").tolist() == pytest.approx([0.6, 0.8])


async def test_a_message_or_session_of_another_chat_cannot_become_a_source(
    memories: Memories, database: Database
) -> None:
    foreign = await say(database, "a secret of others", chat_id=OTHER_CHAT)
    foreign_session = await open_session(database, chat_id=OTHER_CHAT)

    memory = (await memories.add(fact("Hm", message_ids=(foreign,), session_id=foreign_session))).memory

    assert memory.message_ids == ()
    assert memory.session_id is None


@pytest.mark.parametrize("text", ["", " \n ", "\x00", "\ud83d"])
async def test_a_text_without_anything_in_it_is_refused(memories: Memories, text: str) -> None:
    with pytest.raises(InvalidMemory, match="nothing to remember"):
        await memories.add(fact(text))


async def test_what_no_database_can_store_is_taken_out_of_a_text(memories: Memories) -> None:
    memory = (await memories.add(fact("tea\x00 and \ud83d cake 🍰", speaker="An\x00na"))).memory
    assert memory.text == "tea and  cake 🍰"
    assert memory.speaker == "Anna"


async def test_revisions_rise_with_every_change(memories: Memories) -> None:
    first = (await memories.add(fact("one"))).memory
    second = (await memories.add(fact("two"))).memory
    third = await memories.supersede(CHAT, first.id, fact("one and a half"), revision=first.revision)

    history = await memories.get(CHAT, first.id)
    assert first.revision < second.revision < history.revision < third.revision


async def test_a_revision_is_seen_only_after_all_smaller_ones(database: Database) -> None:
    """Whoever follows the revisions would otherwise miss the smaller one that is committed later."""
    order: list[int] = []

    async def take(first: asyncio.Event, then: asyncio.Event) -> None:
        async with database.write() as conn:
            revision = await next_revision(conn)
            first.set()
            await asyncio.wait_for(then.wait(), 5)
        order.append(revision)

    taken, go_on = asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(take(taken, go_on))
        await taken.wait()
        tasks.create_task(take(asyncio.Event(), go_on))
        go_on.set()
    assert order == sorted(order)


# Reading


async def test_a_chat_never_sees_a_memory_of_another(memories: Memories) -> None:
    memory = (await memories.add(fact("Anna likes tea"))).memory

    with pytest.raises(MemoryNotFound):
        await memories.get(OTHER_CHAT, memory.id)
    assert await memories.get_active(OTHER_CHAT, [memory.id]) == []
    assert await memories.list(OTHER_CHAT) == []
    assert await memories.count(OTHER_CHAT) == 0
    assert await memories.matching(OTHER_CHAT, "tea") == []
    assert await memories.history(CHAT, memory.id) == []
    with pytest.raises(MemoryNotFound):
        await memories.history(OTHER_CHAT, memory.id)


async def test_a_row_of_another_chat_is_held_back_even_when_a_query_let_it_through(
    memories: Memories,
) -> None:
    mine = (await memories.add(fact("Anna likes tea"))).memory
    foreign = (await memories.add(fact("Boris likes mate", chat_id=OTHER_CHAT))).memory
    assert list(in_scope(CHAT, [mine, foreign])) == [mine]


async def test_active_memories_come_in_the_order_asked_for(memories: Memories) -> None:
    ids = [(await memories.add(fact(text))).memory.id for text in ("one", "two", "three")]
    asked = [ids[2], ids[0], 999_999_999_999, ids[0]]
    assert [memory.id for memory in await memories.get_active(CHAT, asked)] == [ids[2], ids[0]]
    assert await memories.get_active(CHAT, []) == []


async def test_a_list_starts_with_what_is_valid_since_the_latest_moment(
    memories: Memories, clock: FrozenClock
) -> None:
    for text in ("first", "second", "third"):
        await memories.add(fact(text))
        clock.advance(hours=1)
    await memories.add(fact("long ago", valid_from=NOON - timedelta(days=300)))

    assert await texts(memories) == ["third", "second", "first", "long ago"]
    assert await texts(memories, limit=2, offset=1) == ["second", "first"]


async def test_each_filter_narrows_list_and_count(memories: Memories, database: Database) -> None:
    session_id = await open_session(database)
    await memories.add(fact("a", type=MemoryType.PREFERENCE, valid_from=NOON - timedelta(days=2)))
    await memories.add(fact("b", speaker="Борис", valid_from=NOON - timedelta(days=1)))
    await memories.add(fact("c", session_id=session_id, type=MemoryType.CONTEXT))
    narrowed = {
        "a": Where(types=(MemoryType.PREFERENCE,)),
        "b": Where(speaker="Борис"),
        "c": Where(session_id=session_id),
        "ca": Where(types=(MemoryType.PREFERENCE, MemoryType.CONTEXT)),
        "cb": Where(since=NOON - timedelta(days=1)),
        "ba": Where(until=NOON),
        "": Where(speaker="Борис", types=(MemoryType.PREFERENCE,)),
    }
    for expected, where in narrowed.items():
        assert "".join(await texts(memories, where)) == expected
        assert await memories.count(CHAT, where) == len(expected)


MEANT = [
    ("собака", {"мою собаку зовут Бублик", "Собаки Ани лают"}),
    ("кот", {"Кот Мурзик ест рыбу"}),
    ("БУБЛИК", {"мою собаку зовут Бублик", "Завтра, 5 марта, визит"}),
    ("бублика зовут собакой", {"мою собаку зовут Бублик"}),
    ("врач", {"Завтра, 5 марта, визит"}),
    ("визит к врачу", {"Завтра, 5 марта, визит"}),
    ("пес", {"Мой пёс спит"}),
    ("ZX-4471", {"The code is ZX-4471"}),
    ("codes of the dog", set()),
    ("«собаку»", {"мою собаку зовут Бублик"}),
    ('"собака"', set()),
    ("“ПЕС  СПИТ”", {"Мой пёс спит"}),
    ('"пё"', set()),
    ('"c++"', {"I write C++"}),
    ("который", {"Человек, который смеётся"}),
    ("котор", set()),
    ("👍", {"так держать👍👍"}),
    ("   ", set()),
    ('"', set()),
    ('""', set()),
]


@pytest.mark.parametrize(("asked", "texts"), MEANT)
async def test_words_mean_the_memories_that_have_them_all_in_any_form_or_as_quoted(
    memories: Memories, asked: str, texts: set[str]
) -> None:
    await memories.add(fact("мою собаку зовут Бублик"))
    await memories.add(fact("Собаки Ани лают"))
    await memories.add(fact("Завтра, 5 марта, визит", original="завтра с бубликом к врачу"))
    for said in (
        "Кот Мурзик ест рыбу",
        "Человек, который смеётся",
        "Мой пёс спит",
        "The code is ZX-4471",
        "I write C++",
        "так держать👍👍",
    ):
        await memories.add(fact(said))

    assert {memory.text for memory in await memories.matching(CHAT, asked)} == texts


@pytest.mark.parametrize("memory_id", [0, -1, 2**62, 2**63, -(10**30)])
async def test_an_id_that_no_memory_has_is_not_found(memories: Memories, memory_id: int) -> None:
    with pytest.raises(MemoryNotFound):
        await memories.get(CHAT, memory_id)
    with pytest.raises(MemoryNotFound):
        await memories.supersede(CHAT, memory_id, fact("hm"), revision=None)
    assert await memories.get_active(CHAT, [memory_id]) == []
    assert await memories.hide(CHAT, [memory_id], NOON) == Receipt(0, 0)
    assert await memories.purge(CHAT, [memory_id]) == Receipt(0, 0)


# Replacing


async def test_a_superseded_memory_stays_as_history_and_is_no_longer_listed(
    memories: Memories, clock: FrozenClock
) -> None:
    riga = (await memories.add(fact("Anna lives in Riga"))).memory
    moved = clock.advance(days=30)

    oslo = await memories.supersede(CHAT, riga.id, fact("Anna lives in Oslo"), revision=riga.revision)

    assert await texts(memories) == ["Anna lives in Oslo"]
    assert oslo.valid_from == moved
    [old] = await memories.history(CHAT, oslo.id)
    assert old == await memories.get(CHAT, riga.id)
    assert (old.status, old.valid_until, old.superseded_by) == (Status.SUPERSEDED, moved, oslo.id)
    assert old.text == "Anna lives in Riga"


async def test_a_replacement_is_linked_to_what_it_replaces(memories: Memories, database: Database) -> None:
    old = (await memories.add(fact("Anna lives in Riga"))).memory
    new = await memories.supersede(CHAT, old.id, fact("Anna lives in Oslo"), revision=None)
    async with database.read() as conn:
        link = (await conn.execute(sa.select(links))).one()
    assert (link.chat_id, link.from_id, link.to_id, link.relation) == (
        CHAT,
        new.id,
        old.id,
        Relation.REPLACES,
    )


async def test_a_change_is_refused_when_somebody_else_was_faster(memories: Memories) -> None:
    seen = (await memories.add(fact("Anna lives in Riga"))).memory
    await memories.supersede(CHAT, seen.id, fact("Anna lives in Oslo"), revision=seen.revision)

    for revision in (seen.revision, None):
        with pytest.raises(StaleRevision):
            await memories.supersede(CHAT, seen.id, fact("Anna lives in Rome"), revision=revision)
    assert await texts(memories) == ["Anna lives in Oslo"]


async def test_of_two_changes_at_once_one_wins(memories: Memories) -> None:
    seen = (await memories.add(fact("Anna lives in Riga"))).memory
    results = await asyncio.gather(
        *(
            memories.supersede(CHAT, seen.id, fact(f"Anna lives in {city}"), revision=seen.revision)
            for city in ("Oslo", "Rome", "Bonn")
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(result, StaleRevision) for result in results) == 2
    assert await memories.count(CHAT) == 1


async def test_a_memory_of_another_chat_cannot_be_changed(memories: Memories) -> None:
    memory = (await memories.add(fact("Anna lives in Riga"))).memory
    with pytest.raises(MemoryNotFound):
        await memories.supersede(OTHER_CHAT, memory.id, fact("Gotcha", chat_id=OTHER_CHAT), revision=None)
    with pytest.raises(ValueError, match="in the chat"):
        await memories.supersede(CHAT, memory.id, fact("Gotcha", chat_id=OTHER_CHAT), revision=None)
    assert await texts(memories) == ["Anna lives in Riga"]


async def test_a_correction_of_case_only_is_a_change_too(memories: Memories) -> None:
    old = (await memories.add(fact("anna lives in riga"))).memory
    await memories.supersede(CHAT, old.id, fact("Anna lives in Riga"), revision=old.revision)
    assert await texts(memories) == ["Anna lives in Riga"]


async def test_a_replacement_that_the_chat_knows_already_takes_the_place(memories: Memories) -> None:
    riga = (await memories.add(fact("Anna lives in Riga"))).memory
    oslo = (await memories.add(fact("Anna lives in Oslo"))).memory

    replaced_by = await memories.supersede(CHAT, riga.id, fact("anna lives in oslo"), revision=riga.revision)

    assert replaced_by.id == oslo.id
    assert (await memories.get(CHAT, riga.id)).superseded_by == oslo.id


async def test_what_was_superseded_may_be_told_again(memories: Memories) -> None:
    riga = (await memories.add(fact("Anna lives in Riga"))).memory
    await memories.supersede(CHAT, riga.id, fact("Anna lives in Oslo"), revision=riga.revision)

    back = await memories.add(fact("Anna lives in Riga"))

    assert back.created
    assert back.memory.id != riga.id


# Documents


def chunks(*texts: str) -> list[tuple[NewMemory, None]]:
    return [(fact(text, type=MemoryType.KNOWLEDGE, origin=Origin.DOCUMENT), None) for text in texts]


async def test_adding_a_document_anew_replaces_only_what_changed_in_it(
    memories: Memories, database: Database
) -> None:
    first = await memories.replace_document(CHAT, "menu.txt", chunks("Soup 4 €", "Tea 2 €", "Cake 5 €"))
    await memories.add(fact("Anna likes tea"))

    second = await memories.replace_document(CHAT, "menu.txt", chunks("Soup 4 €", "Cake 6 €"))

    assert second[0] == first[0]
    assert second[1].document == "menu.txt"
    assert sorted(await texts(memories)) == ["Anna likes tea", "Cake 6 €", "Soup 4 €"]
    assert await count(database, tombstones) == 2


async def test_a_document_without_chunks_is_gone(memories: Memories, database: Database) -> None:
    await memories.replace_document(CHAT, "menu.txt", chunks("Soup 4 €"))
    await memories.replace_document(OTHER_CHAT, "menu.txt", [])
    assert await memories.count(CHAT) == 1
    await memories.replace_document(CHAT, "menu.txt", [])
    assert await memories.count(CHAT) == 0
    assert await count(database, words) == 0


async def test_the_name_of_a_document_may_hold_bytes_that_are_no_text(memories: Memories) -> None:
    for text in ("Soup 4 €", "Soup 5 €"):
        [chunk] = await memories.replace_document(CHAT, "menu\udcff.txt", chunks(text))
        assert chunk.document == "menu.txt"
    assert await texts(memories) == ["Soup 5 €"]


async def test_a_document_needs_a_name(memories: Memories) -> None:
    await memories.add(fact("Anna likes tea"))
    with pytest.raises(InvalidMemory, match="needs a name"):
        await memories.replace_document(CHAT, "", [])
    assert await memories.count(CHAT) == 1


async def test_a_chunk_that_cannot_be_stored_leaves_the_former_document(memories: Memories) -> None:
    await memories.replace_document(CHAT, "menu.txt", chunks("Soup 4 €"))
    with pytest.raises(InvalidMemory):
        await memories.replace_document(CHAT, "menu.txt", chunks("Tea 2 €", ""))
    assert await texts(memories) == ["Soup 4 €"]
