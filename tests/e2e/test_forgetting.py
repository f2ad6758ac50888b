"""What was forgotten is, after the undo window, in no byte of any file of the data directory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.e2e.stage import Stage, until
from tests.fakes.anthropic import Answer, Request, last_user_words, text, tool_use
from tests.fakes.telegram import Chat

UNDO_SECONDS = 3.0
SETTINGS = {
    "env": {
        "MNEMOGRAM_MEMORY__UNDO_MINUTES": str(UNDO_SECONDS / 60),
        "MNEMOGRAM_JOBS__TICK_SECONDS": "1",
    }
}
pytestmark = pytest.mark.asyncio(loop_scope="module")

SMALL_TALK = "What lovely Ipomoea weather"
"""Never becomes a memory; whoever forgets everything forgets it too."""

WAYS = ("/forget {id}", "/forget {words}", "/forget all", "tool")


async def test_nothing_on_the_disk_holds_what_was_forgotten(shared: Stage) -> None:
    _teach(shared)
    people = [shared.person() for _ in WAYS]
    secrets = [f"Rhododendron-{chat.id}-ёлка" for chat in people]
    async with asyncio.TaskGroup() as group:
        for chat, words in zip(people, secrets, strict=True):
            group.create_task(_tell(chat, words))
    talker = people[WAYS.index("/forget all")]
    await talker.answer_after(await talker.send(SMALL_TALK))
    await until(lambda: all(shared.bot.files_with(words) for words in (*secrets, SMALL_TALK)))

    async with asyncio.TaskGroup() as group:
        for chat, words, way in zip(people, secrets, WAYS, strict=True):
            group.create_task(_forget(chat, words, way))

    await until(lambda: not _files_with_any(shared, [*secrets, SMALL_TALK]), UNDO_SECONDS + 30)


async def test_what_is_kept_is_still_there_afterwards(shared: Stage) -> None:
    _teach(shared)
    anna = shared.person()
    await _tell(anna, "Geranium-one")
    await _tell(anna, "Geranium-two")
    await _forget(anna, "Geranium-one", "/forget {words}")

    await until(lambda: not shared.bot.files_with("Geranium-one"), UNDO_SECONDS + 30)

    listed = await anna.answer_after(await anna.send("/memory"))
    assert "Geranium-two" in listed.text
    assert "Geranium-one" not in listed.text


def _files_with_any(stage: Stage, secrets: Sequence[str]) -> bool:
    return any(stage.bot.files_with(words) for words in secrets)


def _teach(stage: Stage) -> None:
    def saves(request: Request) -> Answer:
        return tool_use("save_to_memory", {"content": f"The password of Anna's garden is {_last(request)}"})

    def echoes(request: Request) -> Answer:
        return text(f"I keep {_last(request)} for you.")

    def forgets(request: Request) -> Answer:
        return tool_use("forget_memory", {"id": int(_last(request))})

    stage.rules.when("remember", saves, echoes)
    stage.rules.when("forget memory", forgets, text("Gone."))


def _last(request: Request) -> str:
    return last_user_words(request).split()[-1]


async def _tell(chat: Chat, words: str) -> None:
    await chat.answer_after(await chat.send(f"remember {words}"), containing=f"I keep {words}")


async def _forget(chat: Chat, words: str, way: str) -> None:
    listed = await chat.answer_after(await chat.send("/memory"))
    number = next(line for line in listed.text.split("#") if words in line).partition(" ")[0]
    if way == "tool":
        await chat.answer_after(await chat.send(f"forget memory {number}"), containing="Gone.")
        return
    asked = await chat.answer_after(await chat.send(way.format(id=number, words=words)))
    await chat.press(asked, "Forget")
    await chat.wait_for(lambda _: "Bring back" in asked.labels)
