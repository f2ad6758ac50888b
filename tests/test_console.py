"""The console: what it prints, its commands, and how it reads."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.app import App, open_app
from bot.config import load_config
from bot.console import Console, ConsoleReply, piped_lines
from bot.console_commands import ConsoleCommands
from bot.ports import ChatModel
from memory.errors import StorageError
from memory.service import MemoryService
from memory.types import Author, Hit, Memory, MemoryType, NewMemory, Origin, Query, Score, Status
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import HashEmbedder
from tests.fakes.model import ScriptedModel, hangs, says

NOW = datetime(2026, 3, 4, 9, 30, tzinfo=UTC)
TURN = Memory(7, 1, MemoryType.TURN, "I moved to Riga", Origin.PERSON, Status.ACTIVE, NOW, NOW, 1, "Ann")
ASKED = replace(TURN, text="where do you live now?", origin=Origin.ASSISTANT, speaker="")


def reply(*, live: bool) -> tuple[ConsoleReply, io.StringIO]:
    out = io.StringIO()
    return ConsoleReply(out, live=live), out


async def test_a_growing_answer_is_printed_once() -> None:
    to, out = reply(live=True)

    await to.write("Bis")
    await to.write("Biscuit")
    await to.finish("Biscuit!")

    assert out.getvalue() == "Biscuit!\n"


async def test_an_answer_that_begins_anew_is_printed_whole_on_a_new_line() -> None:
    to, out = reply(live=True)

    await to.write("Perh")
    await to.finish("Surely.")

    assert out.getvalue() == "Perh\nSurely.\n"


async def test_white_space_at_the_end_does_not_make_it_another_answer() -> None:
    to, out = reply(live=True)

    await to.write("Biscuit. ")
    await to.finish("Biscuit.")

    assert out.getvalue() == "Biscuit. \n"


async def test_a_note_makes_room_for_the_answer() -> None:
    to, out = reply(live=True)

    await to.note("searching")
    await to.finish("Biscuit")

    shown = out.getvalue()
    assert "searching" in shown
    assert shown.endswith("\r\x1b[KBiscuit\n")


async def test_through_a_pipe_only_the_final_answer_is_printed() -> None:
    to, out = reply(live=False)

    await to.note("searching")
    await to.write("Perh")
    await to.finish("Biscuit")

    assert out.getvalue() == "Biscuit\n"


async def test_an_answer_cannot_steer_the_terminal() -> None:
    to, out = reply(live=True)

    await to.finish("a\x1b[2Jb\x07\tc\nd\r")

    assert out.getvalue() == "a[2Jb\tc\nd\n"


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        (b"one\ntwo\n", ["one", "two"]),
        (b"no newline at the end", ["no newline at the end"]),
        ("мою собаку зовут Бублик\n".encode(), ["мою собаку зовут Бублик"]),
        (b"\xff\n", ["\ufffd"]),
        (b"", []),
    ],
)
async def test_lines_are_read_from_a_pipe_until_its_end(written: bytes, lines: list[str]) -> None:
    reading, writing = os.pipe()
    os.write(writing, written)
    os.close(writing)

    try:
        assert [line async for line in piped_lines(reading)] == lines
    finally:
        os.close(reading)


@dataclass
class Talk:
    """A console on a whole app: `await talk("hello")` returns what was printed."""

    console: Console
    app: App
    clock: FrozenClock

    async def __call__(self, line: str) -> str:
        assert isinstance(self.console.out, io.StringIO)
        before = len(self.console.out.getvalue())
        await self.console.handle(line)
        return self.console.out.getvalue()[before:].strip()


@asynccontextmanager
async def talking(
    directory: Path, model: ChatModel | None = None, *, live: bool = False, undo_minutes: float = 10
) -> AsyncIterator[Talk]:
    config = load_config(None, {"MNEMOGRAM_STORAGE__DIR": str(directory / "data")})
    clock = FrozenClock()
    async with open_app(config, clock=clock, embedder=HashEmbedder(), model=model) as app:
        commands = ConsoleCommands(
            app.conversation,
            app.memory,
            app.sessions,
            chat_id=1,
            undo=timedelta(minutes=undo_minutes),
            zone=ZoneInfo("UTC"),
            author=Author(1, "Ann"),
        )
        console = Console(
            app.conversation, commands, clock, 1, Author(1, "Ann"), "en", live=live, out=io.StringIO()
        )
        yield Talk(console, app, clock)


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with talking(tmp_path) as talk:
        yield talk


async def test_what_is_told_in_one_line_is_known_in_the_next(talk: Talk) -> None:
    assert await talk("remember: my dog is called Biscuit") == "Saved as memory 1: my dog is called Biscuit"
    assert await talk("what is my dog called?") == "You said on 4 March 2026: my dog is called Biscuit"


async def test_commands_answer_in_the_language_of_the_last_message(talk: Talk) -> None:
    assert await talk("/memory") == "I remember nothing here yet. Tell me something!"
    await talk("мою собаку зовут Бублик")
    assert await talk("/memory") == (
        "Здесь у меня 1 воспоминание. Сначала новые:\n    1  4 марта 2026  мою собаку зовут Бублик"
    )


async def test_memory_with_words_searches(talk: Talk) -> None:
    await talk("my dog is called Biscuit")
    await talk("I like tea")

    assert "Biscuit" in await talk("/memory dog")
    assert "tea" not in await talk("/memory dog")
    assert await talk("/memory zebra") == "I found no such memory."


async def test_what_is_found_says_why_and_what_was_said_around_it(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Query] = []
    found = Hit(TURN, Score(0.6, 0.6, cosine=0.5, words=0.5, speaker=1.0), (ASKED,))

    async def search(_: MemoryService, query: Query) -> list[Hit]:
        asked.append(query)
        return [found]

    monkeypatch.setattr(MemoryService, "search", search)

    assert await talk("/memory search where do I live") == (
        "7  4 March 2026  Ann: I moved to Riga\n"
        "       by meaning and by words, said by you\n"
        "       before: me: where do you live now?"
    )
    [query] = asked
    assert (query.text, query.asker, query.neighbours) == ("where do I live", "Ann", 1)


async def test_what_was_said_word_for_word_is_found_but_not_listed(talk: Talk) -> None:
    await talk.app.memory.remember(
        NewMemory(1, "hello Biscuit", MemoryType.TURN, Origin.PERSON, speaker="Ann")
    )

    assert await talk("/memory") == "I remember nothing here yet. Tell me something!"
    assert "Ann: hello Biscuit\n       by meaning and by words" in await talk("/memory biscuit")


@pytest.mark.parametrize("command", ["/forget Biscuit", "/forget 1", "/FORGET biscuit"])
async def test_one_memory_is_forgotten_at_once_and_can_be_brought_back(talk: Talk, command: str) -> None:
    await talk("my dog is called Biscuit")

    assert (await talk(command)).startswith("Forgotten: 1 memory. For 10 minutes /undo")
    assert await talk("what is my dog called?") == "I know nothing about that yet."
    assert await talk("/undo") == "1 memory is back."
    assert "Biscuit" in await talk("what is my dog called?")
    assert await talk("/undo") == "There is nothing to bring back."


async def test_numbers_mean_memories_and_not_words(talk: Talk) -> None:
    await talk("my dog is called Biscuit")
    await talk("my cat is called Tom")
    await talk("I live in house 1, flat 2")

    asked = await talk("/forget 1, 2")

    assert "Biscuit" in asked
    assert "Tom" in asked
    assert "flat" not in asked


async def test_the_list_has_pages_and_search_may_be_named(talk: Talk) -> None:
    for number in range(12):
        await talk(f"remember: thing number {number}")

    first, second = await talk("/memory"), await talk("/memory 2")

    assert first.endswith("/memory 2 shows more.")
    assert "thing number 11" in first
    assert "thing number 0" in second
    assert "shows more" not in second
    assert await talk("/memory search") == first
    assert "thing number 7" in await talk("/memory search thing number 7")


async def test_several_are_forgotten_only_after_a_yes(talk: Talk) -> None:
    await talk("my dog is called Biscuit")
    await talk("my cat is called Biscuit too")

    asked = await talk("/forget biscuit")
    assert "Forget these 2 memories?" in asked
    assert "dog" in asked
    assert await talk("no") == "Nothing was forgotten."
    assert await talk.app.memory.count(1) == 2

    await talk("/forget all")
    assert (await talk("yes")).startswith("Forgotten: 2 memories.")
    assert await talk.app.memory.count(1) == 0


@pytest.mark.parametrize("words", ["9" * 5_000, " ".join(f"word{n}" for n in range(140_000))])
async def test_something_endless_to_forget_is_not_found(talk: Talk, words: str) -> None:
    await talk("remember: my dog is called Biscuit")
    assert await talk(f"/forget {words}") == await talk("/forget zebra")


async def test_a_yes_that_nobody_asked_for_forgets_nothing(talk: Talk) -> None:
    await talk("my dog is called Biscuit")
    await talk("I like tea")
    await talk("/forget all")
    await talk("what is my dog called?")
    await talk("yes")
    assert await talk.app.memory.count(1) == 2


async def test_without_an_undo_window_it_always_asks_and_erases(tmp_path: Path) -> None:
    async with talking(tmp_path, undo_minutes=0) as talk:
        await talk("my dog is called Biscuit")
        assert "Forget this memory?" in await talk("/forget 1")
        assert await talk("y") == "Erased for good: 1 memory."


async def test_less_than_a_minute_is_told_as_one(tmp_path: Path) -> None:
    async with talking(tmp_path, undo_minutes=0.5) as talk:
        await talk("my dog is called Biscuit")
        assert "For 1 minute /undo" in await talk("/forget 1")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/forget", "What shall I forget?"),
        ("/forget zebra", "I found no such memory."),
        ("/forget 99", "I found no such memory."),
        ("/stop", "I am not writing anything just now."),
        ("/help", "/memory"),
        ("/frobnicate", "I do not know this command"),
    ],
)
async def test_each_command_has_an_answer(talk: Talk, command: str, said: str) -> None:
    assert said in await talk(command)


async def test_new_begins_a_new_session_and_keeps_memories(talk: Talk) -> None:
    await talk("my dog is called Biscuit")

    assert await talk("/new") == "A new conversation begins. What I remember stays."
    assert await talk("/new") == "This is already a new conversation."
    assert "Biscuit" in await talk("what is my dog called?")
    assert len(await talk.app.sessions.recent(1)) == 2


async def test_an_empty_line_says_nothing_and_quit_ends(talk: Talk) -> None:
    async def lines() -> AsyncIterator[str]:
        for line in ("  ", "hello", "/quit", "hello"):
            yield line

    assert await talk.console.talk(lines())
    assert isinstance(talk.console.out, io.StringIO)
    assert talk.console.out.getvalue().count("Hello!") == 1


async def test_a_line_that_fails_is_told_and_the_next_is_answered(
    talk: Talk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise StorageError("The disk is full; free some space.")

    async def lines() -> AsyncIterator[str]:
        with monkeypatch.context() as patch:
            patch.setattr(talk.app.sessions.__class__, "begin_turn", full)
            yield "hello"
        yield "hello"

    assert not await talk.console.talk(lines())
    assert capsys.readouterr().err == "The disk is full; free some space.\n"
    assert isinstance(talk.console.out, io.StringIO)
    assert talk.console.out.getvalue().count("Hello!") == 1


async def test_ctrl_c_stops_the_answer_and_keeps_what_was_written(tmp_path: Path) -> None:
    async def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()

    model = ScriptedModel(hangs("Once upon a time", interrupted), says("Hello."))
    async with talking(tmp_path, model, live=True) as talk:
        assert (await talk("tell me a story")).startswith("Once upon a time")
        assert await talk("hello") == "Hello."
