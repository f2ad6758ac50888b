"""The command line beside a running bot: it reads and forgets, the bot follows, and nobody else may serve."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from subprocess import CompletedProcess
from typing import Any

import pytest
import pytest_asyncio

from bot.texts import text as said_by_bot
from tests.e2e.stage import Stage, set_up
from tests.fakes.anthropic import Request, last_user_text, text, tool_use
from tests.fakes.telegram import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")

CANOE, BROTHER = "Anna's canoe is painted green", "Anna's brother lives in Lisbon"
QUESTION = "Which colour is my canoe?"


@dataclass(frozen=True, slots=True)
class Beside:
    """What commands printed while the bot was running, and what the bot knew before and after a forget."""

    chat_id: int
    listed: Any
    found: Any
    shown: Any
    forgotten: Any
    second_run: CompletedProcess[str]
    console: CompletedProcess[str]
    before: Request
    after: Request
    left: Message
    files: list[str]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def beside(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Beside]:
    async with set_up(tmp_path_factory.mktemp("beside")) as stage:
        yield await _played(stage)
        stage.check()


async def _played(stage: Stage) -> Beside:
    anna = stage.person()
    saves = tool_use("save_to_memory", {"content": CANOE}) + tool_use("save_to_memory", {"content": BROTHER})
    stage.rules.when("note this", saves, text("All noted."))
    await stage.bot.launch()
    await anna.answer_after(await anna.send("note this"), containing="All noted.")
    await anna.answer_after(await anna.send(QUESTION), containing="I see.")
    before = stage.api.asked[-1]
    chat = ("--chat", str(anna.id))
    listed = await _json(stage, "memory", "list", *chat)
    canoe = next(str(memory["id"]) for memory in listed if memory["text"] == CANOE)
    found = await _json(stage, "memory", "search", "the colour of the boat", *chat)
    shown = await _json(stage, "memory", "show", canoe, *chat)
    second_run = await stage.bot.command("run")
    console = await stage.bot.command("console", "--once", "hello")
    forgotten = await _json(stage, "memory", "forget", "--id", canoe, "--yes", *chat)
    files = [file.name for file in stage.bot.files_with(CANOE)]
    await anna.answer_after(await anna.send("/new"))
    await anna.answer_after(await anna.send(QUESTION), containing="I see.")
    after = stage.api.asked[-1]
    left = await anna.answer_after(await anna.send("/memory"))
    return Beside(anna.id, listed, found, shown, forgotten, second_run, console, before, after, left, files)


async def _json(stage: Stage, *arguments: str) -> Any:
    done = await stage.bot.command(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


async def test_list_search_and_show_tell_what_the_bot_has_stored(beside: Beside) -> None:
    assert [memory["text"] for memory in beside.listed] == [BROTHER, CANOE]
    assert beside.found[0]["memory"]["text"] == CANOE
    assert (beside.shown["text"], beside.shown["speaker"]) == (CANOE, "Anna")
    assert beside.shown["chat_id"] == beside.chat_id


async def test_what_is_forgotten_beside_the_bot_is_not_recalled_by_it(beside: Beside) -> None:
    assert CANOE in last_user_text(beside.before)
    assert beside.forgotten["memories"] == 1
    assert "green" not in beside.after.words
    assert beside.left.text.startswith(said_by_bot("memory-list", "en", count=1))


async def test_forgetting_from_the_command_line_leaves_no_copy_in_any_file(beside: Beside) -> None:
    assert beside.files == []


@pytest.mark.parametrize("command", ["second_run", "console"])
async def test_a_second_owner_of_the_data_is_refused_with_one_sentence(beside: Beside, command: str) -> None:
    refused: CompletedProcess[str] = getattr(beside, command)
    assert (refused.returncode, refused.stdout) == (1, "")
    [sentence] = refused.stderr.splitlines()
    assert "is in use by process" in sentence
    assert "stop it first" in sentence
