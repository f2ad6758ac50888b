"""/memory and /forget: lists, pages, questions with buttons, receipts and the way back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.inbox import Inbox
from handlers.keyboards import MAX_INLINE, Act, Forget, Page, Shelf
from memory.errors import StorageError
from memory.service import MemoryService
from memory.types import Hit, Memory, MemoryType, NewMemory, Origin, Query, Score, Status
from tests.fakes.model import ScriptedModel, hangs
from tests.fakes.telegram import Chat, FakeTelegram
from tests.telegram_app import (
    ANNA,
    BORIS,
    TelegramApp,
    config_for,
    remember,
    running,
    script,
    telegram_app,
)

pytest_plugins = ("tests.telegram_fixtures",)

NOW = datetime(2026, 3, 4, 9, 30, tzinfo=UTC)


async def test_memory_lists_the_newest_with_what_is_known_about_them(chat: Chat, app: TelegramApp) -> None:
    [first, second] = await remember(app, "My dog is called Biscuit", "I live in Riga")
    await remember(app, "Another chat's secret", chat_id=BORIS)
    async with running(app):
        shown = await chat.answer_after(await chat.send("/memory"))

    assert shown.text.index("Riga") < shown.text.index("Biscuit")
    assert f"#{second} · 4 March 2026 · fact · Anna\nI live in Riga" in shown.text
    assert "2 things" in shown.text
    assert "secret" not in shown.text
    assert shown.labels == []
    assert f"#{first}" in shown.text


async def test_memory_has_pages(chat: Chat, app: TelegramApp) -> None:
    await remember(app, *(f"Thing number {number}" for number in range(20)))
    async with running(app):
        shown = await chat.answer_after(await chat.send("/memory"))
        assert ("number 19" in shown.text, "number 11" in shown.text) == (True, False)
        assert shown.labels == ["▶"]
        await chat.wait_query(await chat.press(shown, "▶"))
        await chat.wait_for(lambda seen: seen[0].labels == ["◀", "▶"])
        assert "number 11" in shown.text
        await chat.press(shown, "▶")
        await chat.wait_for(lambda seen: seen[0].labels == ["◀"])
        assert "number 0" in shown.text


async def test_a_page_that_is_too_long_for_one_message_goes_on_in_the_next(
    chat: Chat, app: TelegramApp
) -> None:
    news = [
        NewMemory(ANNA, f"Thing number {number}", MemoryType.FACT, Origin.PERSON, speaker="Anna " * 200)
        for number in range(20)
    ]
    for new in news:
        await app.memory.remember(new)
    async with running(app):
        await chat.answer_after(await chat.send("/memory"))
        await chat.wait_for(lambda seen: seen[-1].labels == ["▶"])
        last = chat.visible[-1]
        await chat.press(last, "▶")
        await chat.wait_for(lambda seen: seen[-1].labels == ["◀", "▶"])

    after = "\n".join(message.text for message in chat.visible if message.message_id >= last.message_id)
    assert all(f"Thing number {number}\n" in f"{after}\n" for number in range(4, 12))


@pytest.mark.parametrize("command", ["/memory search Biscuit", "/memory Biscuit", "/memory поиск biscuit"])
async def test_memory_searches(chat: Chat, app: TelegramApp, command: str) -> None:
    await remember(app, "My dog is called Biscuit", "I live in Riga")
    async with running(app):
        found = await chat.answer_after(await chat.send(command))
        await chat.answer_after(await chat.send("/memory elephants"), containing="nothing about")

    assert "Biscuit" in found.text
    assert "Riga" not in found.text


async def test_what_is_found_says_why_and_what_was_said_around_it(
    chat: Chat, app: TelegramApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Query] = []
    turn = Memory(
        7, ANNA, MemoryType.TURN, "I moved", Origin.PERSON, Status.ACTIVE, NOW, NOW, 1, "Anna", ANNA
    )
    before = replace(turn, text="what is new?", origin=Origin.ASSISTANT, speaker="")
    found = Hit(turn, Score(0.6, 0.6, cosine=0.5, window=1.0, speaker=1.0), (before,))

    async def search(_: MemoryService, query: Query) -> list[Hit]:
        asked.append(query)
        return [found]

    monkeypatch.setattr(MemoryService, "search", search)
    async with running(app):
        shown = await chat.answer_after(await chat.send("/memory search what did I do in March"))

    assert shown.text.endswith(
        "#7 · 4 March 2026 · from a conversation · Anna\nI moved\n"
        "(by meaning, at the time you named, said by you)\nbefore: me: what is new?"
    )
    [query] = asked
    assert (query.asker, query.neighbours, query.chat_id) == ("Anna", 1, ANNA)


async def test_what_was_said_word_for_word_is_found_but_not_listed(chat: Chat, app: TelegramApp) -> None:
    said = NewMemory(ANNA, "hello Biscuit", MemoryType.TURN, Origin.PERSON, speaker="Anna")
    await app.memory.remember(said)
    async with running(app):
        await chat.answer_after(await chat.send("/memory"), containing="I remember nothing here yet")
        found = await chat.answer_after(await chat.send("/memory biscuit"))

    assert "from a conversation · Anna\nhello Biscuit\n(by words)" in found.text


@pytest.mark.parametrize("wanted", ["{id}", "#{id}", "biscuit", "BISCUIT"])
async def test_forget_asks_then_hides_and_can_be_taken_back(
    chat: Chat, app: TelegramApp, wanted: str
) -> None:
    [memory_id, _] = await remember(app, "My dog is called Biscuit", "I live in Riga")
    async with running(app):
        asked = await chat.answer_after(await chat.send(f"/forget {wanted.format(id=memory_id)}"))
        assert "Biscuit" in asked.text
        assert "Riga" not in asked.text
        assert await app.memory.count(ANNA) == 2

        query = await chat.press(asked, "Forget it")
        await chat.wait_query(query)
        await chat.wait_for(lambda seen: "Forgotten: 1 memory" in seen[0].text)
        assert asked.labels == ["Bring back"]
        assert "Biscuit" not in asked.text
        assert [memory.text for memory in await app.memory.list(ANNA)] == ["I live in Riga"]

        await chat.press(asked, "Bring back")
        await chat.wait_for(lambda seen: "1 memory is back" in seen[0].text)

    assert await app.memory.count(ANNA) == 2


async def test_forget_can_be_declined(chat: Chat, app: TelegramApp) -> None:
    await remember(app, "My dog is called Biscuit")
    async with running(app):
        asked = await chat.answer_after(await chat.send("/forget dog"))
        await chat.press(asked, "Keep")
        await chat.wait_for(lambda seen: "Nothing was forgotten" in seen[0].text)

    assert asked.labels == []
    assert await app.memory.count(ANNA) == 1


async def test_forget_all_takes_everything_of_this_chat_and_can_be_taken_back(
    chat: Chat, app: TelegramApp
) -> None:
    await remember(app, *(f"Thing number {number}" for number in range(20)))
    await remember(app, "Another chat's", chat_id=BORIS)
    async with running(app):
        asked = await chat.answer_after(await chat.send("/forget all"))
        assert "20 memories" in asked.text
        await chat.press(asked, "Forget 20")
        await chat.wait_for(lambda seen: "Forgotten: 20 memories" in seen[0].text)
        assert await app.memory.count(ANNA) == 0
        assert await app.memory.count(BORIS) == 1

        await chat.press(asked, "Bring back")
        await chat.wait_for(lambda seen: "20 memories are back" in seen[0].text)

    assert await app.memory.count(ANNA) == 20


async def test_forget_by_words_shows_the_first_few_and_counts_the_rest(chat: Chat, app: TelegramApp) -> None:
    await remember(app, *(f"Thing number {number}" for number in range(20)))
    async with running(app):
        asked = await chat.answer_after(await chat.send("/forget thing"))

    assert "20 memories" in asked.text
    assert "14 more" in asked.text


async def test_forget_says_when_nothing_fits_or_is_named(chat: Chat, app: TelegramApp) -> None:
    async with running(app):
        await chat.answer_after(await chat.send("/forget"), containing="What shall I forget")
        await chat.answer_after(await chat.send("/forget 77"), containing="no memory")
        await chat.answer_after(await chat.send("/forget elephants"), containing="no memory")


async def test_a_memory_of_another_chat_cannot_be_forgotten_by_its_number(
    chat: Chat, app: TelegramApp
) -> None:
    [foreign] = await remember(app, "Boris's secret", chat_id=BORIS)
    async with running(app):
        await chat.answer_after(await chat.send(f"/forget {foreign}"), containing="no memory")
        shown = await chat.answer_after(await chat.send("/help"))
        shown.buttons = [[{"text": "!", "callback_data": Forget(act=Act.FORGET, ids=str(foreign)).pack()}]]
        await chat.wait_query(await chat.press(shown, "!"))
        await chat.wait_for(lambda seen: "nothing left" in shown.text)

    assert await app.memory.count(BORIS) == 1


async def test_without_an_undo_window_forgetting_is_for_good(
    tg: FakeTelegram, chat: Chat, tmp_path: Path, model: ScriptedModel
) -> None:
    config = config_for(tg, memory={"undo_minutes": 0})
    async with telegram_app(config, tmp_path, model) as app:
        await remember(app, "My dog is called Biscuit")
        async with running(app):
            asked = await chat.answer_after(await chat.send("/forget biscuit"))
            await chat.press(asked, "Forget it")
            await chat.wait_for(lambda seen: "Erased for good: 1 memory" in seen[0].text)

    assert asked.labels == []


async def test_a_second_press_of_the_same_button_changes_nothing(chat: Chat, app: TelegramApp) -> None:
    await remember(app, "My dog is called Biscuit")
    async with running(app):
        asked = await chat.answer_after(await chat.send("/forget dog"))
        queries = [await chat.press(asked, "Forget it"), await chat.press(asked, "Forget it")]
        for query in queries:
            await chat.wait_query(query)
        await chat.answer_after(await chat.send("/help"))

    assert "Forgotten: 1 memory" in asked.text


@pytest.mark.parametrize("data", ["mem:x", "fgt:yes:~gone", "fgt:yes:a-b", "fgt:no such:1", "something old"])
async def test_a_button_that_means_nothing_any_more_is_answered_politely(
    chat: Chat, app: TelegramApp, data: str
) -> None:
    async with running(app):
        shown = await chat.answer_after(await chat.send("/help"))
        shown.buttons = [[{"text": "!", "callback_data": data}]]
        assert "too old" in await chat.wait_query(await chat.press(shown, "!"))


async def test_a_button_under_a_message_that_is_out_of_reach_is_answered_politely(
    chat: Chat, app: TelegramApp
) -> None:
    await remember(app, "My dog is called Biscuit")
    async with running(app):
        asked = await chat.answer_after(await chat.send("/forget dog"))
        assert "too old" in await chat.wait_query(await chat.press(asked, "Forget it", old=True))

    assert await app.memory.count(ANNA) == 1


async def test_a_button_is_answered_while_an_answer_is_written(
    chat: Chat, app: TelegramApp, model: ScriptedModel
) -> None:
    script(model, hangs("Once", asyncio.Event().wait))
    await remember(app, "My dog is called Biscuit")
    async with running(app):
        asked = await chat.answer_after(await chat.send("/forget dog"))
        await chat.answer_after(await chat.send("Tell me a story"), containing="Once")
        await chat.wait_query(await chat.press(asked, "Keep"), timeout=1)
        await chat.send("/stop")
        await chat.wait_for(lambda seen: "⏹" in seen[-1].text)


async def test_a_press_that_was_dealt_with_before_a_crash_ends_the_same_way(
    tg: FakeTelegram, chat: Chat, app: TelegramApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remember(app, "My dog is called Biscuit")
    for button, result, left in (("Forget it", "Forgotten: 1", 0), ("Bring back", "1 memory is back", 1)):
        with monkeypatch.context() as patch:
            async with running(app):
                if not chat.visible:
                    await chat.answer_after(await chat.send("/forget dog"))
                patch.setattr(Inbox, "done", cut_off)
                await chat.press(chat.visible[0], button)
                await chat.answer_after(chat.messages[0], containing=result)
        async with running(app):
            await chat.answer_after(await chat.send("/help"))

        assert result in chat.visible[0].text
        assert await app.memory.count(ANNA) == left
    tg.refusals.clear()


async def cut_off(*_: object) -> None:
    """Leave an update in the inbox as a process does that is killed before it can mark it done."""
    raise StorageError("The process was killed.")


def test_ids_in_a_button_survive_and_never_exceed_what_telegram_takes() -> None:
    shelf = Shelf()
    for ids in ([7], [1, 2, 3, 9], list(range(1, 5000)), [2**53, 2**53 + 2], list(range(1, 4000, 2))):
        packed = shelf.pack(ANNA, ids)

        assert len(Forget(act=Act.FORGET, ids=packed).pack().encode()) <= 64
        assert shelf.unpack(ANNA, packed) == frozenset(ids)
        assert len(packed) <= MAX_INLINE
    assert len(Page(offset=10**12).pack()) <= 64


def test_ids_kept_for_one_chat_are_unknown_in_another() -> None:
    shelf = Shelf()
    packed = shelf.pack(ANNA, range(1, 4000, 2))

    assert shelf.unpack(BORIS, packed) is None
    assert shelf.unpack(ANNA, "~invented") is None
    assert shelf.unpack(ANNA, "1-999999999999") is None
