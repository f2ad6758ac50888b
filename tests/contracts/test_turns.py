"""Turns: an index of what was said that nobody takes for memories, and that follows what is forgotten."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from memory.chats import chats
from memory.database import Database
from memory.errors import InvalidExport, InvalidMemory, MemoryNotFound
from memory.export import export_chat, import_chat
from memory.memories import Memories
from memory.tables import memories as rows
from memory.tables import sources, tombstones, vectors, words
from memory.types import Memory, MemoryType, Receipt
from tests.contracts.chats import CHAT, OTHER_CHAT, fact, having, text_of
from tests.contracts.conversations import TURNS, Talk
from tests.fakes.clock import FrozenClock

DOG = "мою собаку зовут Бублик"


@pytest.fixture
def talk(database: Database, clock: FrozenClock) -> Talk:
    return Talk(database, clock)


@pytest.fixture
def later(clock: FrozenClock) -> Callable[[int], datetime]:
    return lambda minutes: clock.now() + timedelta(minutes=minutes)


Later = Callable[[int], datetime]


async def told(talk: Talk) -> Memory:
    """A fact with the turns that tell of it: the telling, its answer, and a question with an answer later.

    Two turns about the weather stand beside them.
    """
    turn = await talk.say(f"Запомни: {DOG}", "Хорошо!")
    await talk.say("Какая погода?", "Солнечно.")
    await talk.say("Как зовут собаку?", f"Анна: {DOG}")
    dog = (await talk.memories.add(fact(DOG, message_ids=(turn.message.id,)))).memory
    await talk.index()
    return dog


WEATHER = ["Какая погода?", "Солнечно."]
ALL = [f"Запомни: {DOG}", "Хорошо!", *WEATHER, "Как зовут собаку?", f"Анна: {DOG}"]
# A question stays where only its answer told of what is forgotten.
INNOCENT = [*WEATHER, "Как зовут собаку?"]


async def left(database: Database, table: sa.Table, ids: list[int]) -> int:
    column = table.c.id if table is rows else table.c.memory_id
    async with database.read() as conn:
        query = sa.select(sa.func.count()).select_from(table).where(column.in_(ids))
        return int((await conn.execute(query)).scalar_one())


# No memories in the eyes of people


async def test_turns_are_listed_and_counted_only_where_they_are_asked_for(talk: Talk) -> None:
    dog = await told(talk)

    assert await talk.memories.list(CHAT) == [dog]
    assert await talk.memories.count(CHAT) == 1
    assert await talk.memories.count(CHAT, TURNS) == 6
    assert await talk.texts() == ALL


@pytest.mark.parametrize("words", ["бублик", "собаку зовут", '"собаку зовут"', "погода", "👍"])
async def test_words_never_mean_a_turn(talk: Talk, words: str) -> None:
    dog = await told(talk)
    await talk.ask("👍")
    await talk.index()

    meant = await talk.memories.matching(CHAT, words)

    assert meant in ([], [dog])
    assert (meant == [dog]) == ("собак" in words or words == "бублик")


async def test_a_turn_is_found_by_its_number_and_has_no_history(talk: Talk) -> None:
    await told(talk)
    [first, *_] = await talk.turns()

    assert await talk.memories.get(CHAT, first.id) == first
    assert await talk.memories.get_active(CHAT, [first.id]) == [first]
    assert await talk.memories.history(CHAT, first.id) == []


async def test_a_fact_with_the_words_of_a_turn_is_new(talk: Talk) -> None:
    await talk.ask("I like tea")
    await talk.index()

    assert (await talk.memories.add(fact("I like tea"))).created
    assert not (await talk.memories.add(fact("I like tea"))).created
    assert await talk.texts() == ["I like tea"]


async def test_turns_that_are_added_one_by_one_are_all_kept(talk: Talk) -> None:
    for _ in range(2):
        assert (await talk.memories.add(fact("I like tea", type=MemoryType.TURN))).created


async def test_what_was_said_cannot_be_reworded(talk: Talk) -> None:
    await told(talk)
    [first, *_] = await talk.turns()

    with pytest.raises(InvalidMemory, match="word for word"):
        await talk.memories.supersede(CHAT, first.id, fact("никто ничего не говорил"))
    with pytest.raises(MemoryNotFound):
        await talk.memories.supersede(OTHER_CHAT, first.id, fact("hm", chat_id=OTHER_CHAT))
    assert await talk.texts() == ALL


async def test_chats_are_told_by_memories_and_messages(talk: Talk, database: Database) -> None:
    await told(talk)

    [chat] = await chats(database)

    assert (chat.memories, chat.messages) == (1, 6)


async def test_an_export_holds_messages_and_no_turns(talk: Talk, database: Database) -> None:
    await told(talk)

    exported = await export_chat(database, CHAT)

    assert [memory["text"] for memory in exported["memories"]] == [DOG]
    assert len(exported["messages"]) == 6
    exported["memories"][0]["type"] = "turn"
    with pytest.raises(InvalidExport, match=r"memories\.0\.type"):
        await import_chat(database, OTHER_CHAT, exported)


async def test_an_import_does_not_take_a_turn_for_what_it_brings(talk: Talk, database: Database) -> None:
    await talk.memories.add(fact("I like tea"))
    exported = await export_chat(database, CHAT)
    await talk.ask("I like tea", chat_id=OTHER_CHAT)
    await talk.index()

    assert await import_chat(database, OTHER_CHAT, exported) == 1
    assert await talk.memories.count(OTHER_CHAT) == 1


# Forgetting a memory


async def test_the_turns_that_tell_of_a_forgotten_memory_are_out_of_sight_at_once(
    talk: Talk, later: Later
) -> None:
    dog = await told(talk)

    receipt = await talk.memories.hide(CHAT, [dog.id], later(10))

    assert receipt == Receipt(memories=1, messages=3, purge_at=later(10))
    assert await talk.texts() == INNOCENT
    assert await having(talk.database, "бублик") == []
    assert await talk.stored() == 6


async def test_they_come_back_with_it(talk: Talk, later: Later) -> None:
    dog = await told(talk)
    before = await talk.turns()
    await talk.memories.hide(CHAT, [dog.id], later(10))

    assert await talk.memories.unhide(CHAT, later(10)) == Receipt(1, 0)

    assert await talk.texts() == ALL
    assert [turn.id for turn in await talk.turns()] == [turn.id for turn in before]
    assert len(await having(talk.database, "бублик")) == 3  # two turns and the fact


async def test_they_go_with_it_and_leave_tombstones(
    talk: Talk, later: Later, database: Database, clock: FrozenClock
) -> None:
    dog = await told(talk)
    gone = [turn.id for turn in await talk.turns() if turn.text not in INNOCENT]
    await talk.memories.hide(CHAT, [dog.id], later(10))

    assert await talk.memories.purge_due(later(10)) == Receipt(1, 3)

    assert [await left(database, table, gone) for table in (rows, words, vectors, sources)] == [0, 0, 0, 0]
    assert await left(database, tombstones, gone) == 3
    assert await talk.texts() == INNOCENT


async def test_without_an_undo_they_go_at_once(talk: Talk) -> None:
    dog = await told(talk)

    assert await talk.memories.purge(CHAT, [dog.id]) == Receipt(1, 3)

    assert await talk.stored() == 3


async def test_a_turn_of_two_forgotten_memories_stays_hidden_until_both_are_back(
    talk: Talk, later: Later
) -> None:
    turn = await talk.say("I have a dog and a cat", "Lovely!")
    dog, cat = [
        (await talk.memories.add(fact(text, message_ids=(turn.message.id,)))).memory
        for text in ("Anna has a dog", "Anna has a cat")
    ]
    await talk.index()
    await talk.memories.hide(CHAT, [dog.id], later(10))
    await talk.memories.hide(CHAT, [cat.id], later(20))

    await talk.memories.unhide(CHAT, later(20))
    assert await talk.texts() == []
    await talk.memories.unhide(CHAT, later(10))
    assert await talk.texts() == ["I have a dog and a cat", "Lovely!"]


async def test_a_turn_that_only_follows_hides_nothing_by_its_own_words(talk: Talk, later: Later) -> None:
    turn = await talk.say(DOG, "Записала, спасибо")
    other = await talk.say("Я люблю чай", "Записала, спасибо")
    dog = (await talk.memories.add(fact(DOG, message_ids=(turn.message.id,)))).memory
    await talk.index()

    await talk.memories.hide(CHAT, [dog.id], later(10))

    assert await talk.texts() == ["Я люблю чай", "Записала, спасибо"]
    history = await talk.sessions.history(CHAT, other.session.id, before_id=2**31, step=40)
    assert [message.text for message in history] == ["Я люблю чай", "Записала, спасибо"]
    assert await talk.memories.purge_due(later(10)) == Receipt(1, 2)
    assert await talk.texts() == ["Я люблю чай", "Записала, спасибо"]


async def test_the_turn_of_what_was_told_again_on_purpose_stays(
    talk: Talk, later: Later, database: Database
) -> None:
    before = await talk.ask(DOG)
    first = (await talk.memories.add(fact(DOG, message_ids=(before.message.id,)))).memory
    await talk.index()
    await talk.memories.hide(CHAT, [first.id], later(100))
    until = later(100)
    after = await talk.ask(f"всё-таки запомни: {DOG}")
    await talk.memories.add(fact(DOG, message_ids=(after.message.id,)))
    assert await talk.index() == 1

    await talk.memories.purge_due(until)

    assert await talk.texts() == [f"всё-таки запомни: {DOG}"]
    assert await text_of(database, after.message.id) != ""


async def test_a_turn_on_which_the_memory_was_told_again_comes_back_with_the_purge(
    talk: Talk, later: Later
) -> None:
    first, second = await talk.ask(DOG), await talk.ask(f"ещё раз: {DOG}")
    dog = (await talk.memories.add(fact(DOG, message_ids=(first.message.id,)))).memory
    await talk.index()
    await talk.memories.hide(CHAT, [dog.id], later(10))
    await talk.memories.add(fact(DOG, message_ids=(second.message.id,)))

    await talk.memories.purge_due(later(10))

    assert await talk.texts() == [f"ещё раз: {DOG}"]


async def test_that_something_was_said_does_not_make_it_told_again_on_purpose(talk: Talk) -> None:
    """Else the turns of a memory would keep alive the very messages that repeat it."""
    await talk.say("мой пароль от почты - якорь", "Ясно.")
    await talk.index()
    secret = (await talk.memories.add(fact("мой пароль от почты - якорь"))).memory

    assert (await talk.memories.purge(CHAT, [secret.id])).messages == 2

    assert await talk.stored() == 0


async def test_a_long_message_whose_end_tells_of_it_goes_too(talk: Talk) -> None:
    await talk.say("слово " * 300 + DOG, "Хорошо!")
    await talk.index()
    dog = (await talk.memories.add(fact(DOG))).memory

    await talk.memories.purge(CHAT, [dog.id])

    assert await talk.stored() == 0


async def test_the_turns_of_other_chats_stay(talk: Talk, later: Later) -> None:
    dog = await told(talk)
    await talk.say(DOG, "Хорошо!", chat_id=OTHER_CHAT)
    await talk.index()

    await talk.memories.hide(CHAT, [dog.id], later(10))
    await talk.memories.purge_all(CHAT)

    assert await talk.texts(OTHER_CHAT) == [DOG, "Хорошо!"]


# Forgetting a turn


async def test_a_turn_that_is_named_is_forgotten_with_its_message(
    talk: Talk, later: Later, database: Database
) -> None:
    turn = await talk.say("my PIN is 1234", "I will not keep that.")
    await talk.say("the weather is fine", "It is.")
    await talk.index()
    [pin, *_] = await talk.turns()

    assert await talk.memories.hide(CHAT, [pin.id], later(10)) == Receipt(1, 2, later(10))
    assert await talk.texts() == ["the weather is fine", "It is."]
    history = await talk.sessions.history(CHAT, turn.session.id, before_id=2**31, step=40)
    assert [message.text for message in history] == ["the weather is fine", "It is."]

    assert await talk.memories.unhide(CHAT, later(10)) == Receipt(1, 0)
    assert len(await talk.texts()) == 4

    await talk.memories.hide(CHAT, [pin.id], later(10))
    assert await talk.memories.purge_due(later(10)) == Receipt(1, 2)
    assert await text_of(database, turn.message.id) == ""
    assert await talk.texts() == ["the weather is fine", "It is."]


async def test_a_turn_that_is_named_goes_at_once_without_an_undo(talk: Talk) -> None:
    await talk.say("my PIN is 1234", "I will not keep that.")
    await talk.index()
    [pin, _] = await talk.turns()

    assert await talk.memories.purge(CHAT, [pin.id]) == Receipt(1, 2)

    assert await talk.stored() == 0


async def test_a_named_turn_that_a_forgotten_memory_hides_too_comes_back_last(
    talk: Talk, later: Later
) -> None:
    dog = await told(talk)
    [first, *_] = await talk.turns()
    await talk.memories.hide(CHAT, [dog.id], later(10))
    await talk.memories.hide(CHAT, [first.id], later(20))

    await talk.memories.unhide(CHAT, later(20))
    assert await talk.texts() == INNOCENT
    await talk.memories.unhide(CHAT, later(10))
    assert await talk.texts() == ALL


async def test_of_two_turns_with_the_same_words_both_come_back(talk: Talk, later: Later) -> None:
    for _ in range(2):
        await talk.say("same words", "same answer")
    await talk.index()
    await talk.memories.add(fact("same words"))
    named = [turn.id for turn in await talk.turns() if turn.text == "same words"]

    await talk.memories.hide(CHAT, named, later(10))
    assert await talk.texts() == []
    await talk.memories.unhide(CHAT, later(10))

    assert await talk.texts() == ["same words", "same answer"] * 2
    assert await talk.memories.count(CHAT) == 1


# Forgetting everything


async def test_everything_takes_the_turns_and_brings_them_back_uncounted(talk: Talk, later: Later) -> None:
    await told(talk)

    assert await talk.memories.hide_all(CHAT, later(10)) == Receipt(1, 6, later(10))
    assert await talk.texts() == []
    assert await talk.memories.unhide(CHAT, later(10)) == Receipt(1, 6)
    assert await talk.texts() == ALL


async def test_what_was_hidden_before_everything_stays_hidden_after_its_undo(
    talk: Talk, later: Later
) -> None:
    dog = await told(talk)
    await talk.memories.hide(CHAT, [dog.id], later(10))
    await talk.memories.hide_all(CHAT, later(20))

    await talk.memories.unhide(CHAT, later(20))

    assert await talk.texts() == INNOCENT


async def test_when_the_window_has_ended_all_turns_are_gone(talk: Talk, later: Later) -> None:
    await told(talk)
    await talk.memories.hide_all(CHAT, later(10))

    assert await talk.memories.purge_due(later(10)) == Receipt(1, 6)

    assert await talk.stored() == 0


async def test_everything_at_once_takes_hidden_and_visible_turns(talk: Talk, later: Later) -> None:
    dog = await told(talk)
    await talk.memories.hide(CHAT, [dog.id], later(10))

    assert await talk.memories.purge_all(CHAT) == Receipt(1, 6)

    assert await talk.stored() == 0


@pytest.mark.parametrize("how", ["the fact", "a turn", "what is due", "everything", "everything due"])
async def test_whatever_empties_a_message_takes_its_turn(
    talk: Talk, later: Later, database: Database, how: str
) -> None:
    dog = await told(talk)
    first = (await talk.turns())[0]
    at = later(10)

    async def due(hide: Awaitable[object]) -> None:
        await hide
        await talk.memories.purge_due(at)

    ways: dict[str, Callable[[], Awaitable[object]]] = {
        "the fact": lambda: talk.memories.purge(CHAT, [dog.id]),
        "a turn": lambda: talk.memories.purge(CHAT, [first.id]),
        "what is due": lambda: due(talk.memories.hide(CHAT, [dog.id], at)),
        "everything": lambda: talk.memories.purge_all(CHAT),
        "everything due": lambda: due(talk.memories.hide_all(CHAT, at)),
    }
    await ways[how]()

    stand = [message_id for turn in await talk.turns() for message_id in turn.message_ids]
    assert [await text_of(database, message_id) for message_id in stand] == await talk.texts()
    assert await talk.stored() == len(stand) < 6


# A turn of the conversation that is cut off


async def test_a_turn_that_is_withdrawn_keeps_what_was_said(talk: Talk) -> None:
    question = await talk.ask(f"Запомни: {DOG}")
    await talk.memories.add(fact(DOG, message_ids=(question.message.id,)))
    await talk.index()

    assert await talk.memories.withdraw(CHAT, question.message.id) == 1

    assert await talk.memories.count(CHAT) == 0
    assert await talk.texts() == [f"Запомни: {DOG}"]


async def test_a_forget_that_is_withdrawn_brings_the_turns_back(talk: Talk, later: Later) -> None:
    dog = await told(talk)
    question = await talk.ask("Забудь собаку")
    await talk.memories.hide(CHAT, [dog.id], later(10), question.message.id)
    assert await talk.texts() == INNOCENT

    assert await talk.memories.withdraw(CHAT, question.message.id) == 1

    assert await talk.texts() == ALL


async def test_an_answer_that_rests_on_a_turn_which_it_has_forgotten_itself_is_stored(
    talk: Talk, later: Later, database: Database
) -> None:
    dog = await told(talk)
    recalled = (await talk.turns())[0]
    question = await talk.ask("Забудь, как зовут питомца")
    await talk.memories.hide(CHAT, [dog.id], later(10), question.message.id)

    answer = await talk.sessions.finish_turn(question, "Забыла.", recalled=[recalled.id])

    assert await text_of(database, answer.id) == "Забыла."


async def test_an_answer_that_rests_on_a_turn_which_was_forgotten_meanwhile_is_not_stored(
    talk: Talk, later: Later, database: Database
) -> None:
    dog = await told(talk)
    recalled = (await talk.turns())[0]
    question = await talk.ask("Как зовут питомца?")
    await talk.memories.hide(CHAT, [dog.id], later(10))

    answer = await talk.sessions.finish_turn(question, "Бублик", recalled=[recalled.id])

    assert await text_of(database, answer.id) == ""


# What was said around a turn


async def around(
    memories: Memories, turns: list[Memory], each_side: int
) -> list[tuple[list[str], list[str]]]:
    found = await memories.neighbours(CHAT, turns, each_side)
    assert list(found) == [turn.id for turn in turns]
    return [
        ([turn.text for turn in before], [turn.text for turn in after]) for before, after in found.values()
    ]


async def test_a_turn_brings_what_was_said_before_and_after_it_in_their_order(talk: Talk) -> None:
    for number in (1, 3, 5):
        await talk.say(str(number), str(number + 1))
    await talk.index()
    turns = await talk.turns()

    assert await around(talk.memories, turns[2:3], 1) == [(["2"], ["4"])]
    assert await around(talk.memories, turns[2:3], 2) == [(["1", "2"], ["4", "5"])]
    assert await around(talk.memories, [turns[5], turns[0]], 2) == [(["4", "5"], []), ([], ["2", "3"])]
    assert await around(talk.memories, turns[2:3], 0) == [([], [])]
    assert await talk.memories.neighbours(CHAT, [], 2) == {}
    [neighbour] = (await talk.memories.neighbours(CHAT, turns[:1], 1))[turns[0].id][1]
    assert neighbour == turns[1]


async def test_neighbours_are_of_the_same_conversation_and_of_the_same_chat(talk: Talk) -> None:
    await talk.say("one", "1")
    await talk.say("theirs", "yes", chat_id=OTHER_CHAT)
    await talk.index()
    await talk.say("two", "2")
    await talk.index()
    turns, [theirs, _] = await talk.turns(), await talk.turns(OTHER_CHAT)

    assert await around(talk.memories, turns, 5) == [
        ([], ["1"]),
        (["one"], []),
        ([], ["2"]),
        (["two"], []),
    ]
    assert await around(talk.memories, [theirs], 5) == [([], [])]


async def test_what_is_hidden_is_nobodys_neighbour(talk: Talk, later: Later) -> None:
    dog = await told(talk)
    weather = (await talk.turns())[2:3]
    assert await around(talk.memories, weather, 1) == [(["Хорошо!"], ["Солнечно."])]

    await talk.memories.hide(CHAT, [dog.id], later(10))

    assert await around(talk.memories, weather, 9) == [([], INNOCENT[1:])]


async def test_other_memories_of_the_conversation_are_no_neighbours(talk: Talk) -> None:
    turn = await talk.say("one", "1")
    await talk.index()
    await talk.memories.add(fact("Anna can count", session_id=turn.session.id))
    memories = await talk.memories.list(CHAT)

    assert await around(talk.memories, await talk.turns(), 5) == [([], ["1"]), (["one"], [])]
    assert await around(talk.memories, memories, 5) == [(["one", "1"], [])]


async def test_many_turns_are_asked_about_at_once(talk: Talk) -> None:
    for number in range(150):
        await talk.ask(str(number))
    await talk.index()

    found = await around(talk.memories, await talk.turns(), 1)

    assert found[0] == ([], ["1"])
    assert found[120] == (["119"], ["121"])
    assert found[149] == (["148"], [])
