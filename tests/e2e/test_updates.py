"""Updates: waiting at the start, in order, twice, side by side, and such that nobody can read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.e2e.stage import Stage, set_up
from tests.fakes.anthropic import Answer, Request, last_user_words, text
from tests.fakes.telegram import Chat, Message

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORDS = ("first", "second", "third")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """A bot that has been started after three messages and something unreadable had come."""
    async with set_up(tmp_path_factory.mktemp("updates")) as stage:
        stage.rules.when("", _echo)
        early = stage.person("Early")
        for broken in _unreadable(early):
            stage.tg.push_raw(broken)
        for word in WORDS:
            await early.send(f"{word} before the start")
        await stage.bot.launch()
        yield stage
        stage.forgive_probes()
        stage.check()


def _echo(request: Request) -> Answer:
    return text(f"You said: {last_user_words(request)}.")


def _unreadable(chat: Chat) -> list[dict[str, Any]]:
    """Updates that aiogram cannot decode: of a chat, of nobody, and with no content at all."""
    sender = {"from": dict(chat.person), "chat": {"id": chat.id, "type": "private"}}
    return [
        {"message": {"message_id": "no number", "date": "yesterday", "text": "What is this?", **sender}},
        {"message": {"message_id": 1, "date": 1, "text": {"not": "a text"}, **sender}},
        {"message": ["not", "an", "object"]},
        {"message": {}},
        {"callback_query": {"id": 5, "from": None, "data": {"a": 1}}},
    ]


async def test_messages_from_before_the_start_are_answered_in_order(stage: Stage) -> None:
    early = stage.tg.private_chat(40_001)

    seen = await early.wait_for(lambda visible: len(visible) >= 3)

    assert [message.text for message in seen] == [f"You said: {word} before the start." for word in WORDS]


async def test_quick_messages_of_one_chat_are_answered_in_order(stage: Stage) -> None:
    anna = stage.person()
    for number in range(4):
        await anna.send(f"number {number}")

    seen = await anna.wait_for(lambda visible: len(visible) >= 4)

    assert [message.text for message in seen] == [f"You said: number {number}." for number in range(4)]


async def test_a_slow_answer_in_one_chat_delays_no_other(stage: Stage) -> None:
    slow, quick = stage.person("Slow"), stage.person("Quick")
    hold = stage.api.hold(None, when=lambda request: "slowly" in last_user_words(request))
    asked = await slow.send("think slowly")
    await hold.reached()

    answer = await quick.answer_after(await quick.send("quickly"))

    assert answer.text == "You said: quickly."
    assert slow.visible == []
    hold.release()
    assert (await slow.answer_after(asked)).text == "You said: think slowly."


async def test_an_update_that_cannot_be_read_does_not_stop_the_next(stage: Stage) -> None:
    anna = stage.person()
    broken = [stage.tg.push_raw(update) for update in _unreadable(anna)]

    answer = await anna.answer_after(await anna.send("still there?"))

    assert answer.text == "You said: still there?."
    await stage.tg.wait_confirmed(max(broken))


async def test_an_update_that_comes_twice_is_answered_once(stage: Stage) -> None:
    anna = stage.person()
    said = await anna.send("only once")
    await anna.answer_after(said)

    anna.redeliver(said.update_id)

    assert await _answers_until_the_next(anna, said) == ["You said: only once."]


async def test_an_update_that_comes_again_while_it_is_worked_on_is_answered_once(stage: Stage) -> None:
    anna = stage.person()
    hold = stage.api.hold(None, when=lambda request: "meanwhile" in last_user_words(request))
    said = await anna.send("meanwhile")
    await hold.reached()

    anna.redeliver(said.update_id)
    stage.tg.updates.stop_poller("again")
    hold.release()

    assert await _answers_until_the_next(anna, said) == ["You said: meanwhile."]


async def test_an_id_far_below_the_last_one_is_taken_all_the_same(stage: Stage) -> None:
    anna = stage.person()
    await anna.answer_after(await anna.send("before the quiet week"))
    stage.tg.updates.jump(1_000)

    answer = await anna.answer_after(await anna.send("after the quiet week"))

    assert answer.text == "You said: after the quiet week."


async def _answers_until_the_next(chat: Chat, said: Message) -> list[str]:
    """Return the answers to a message, once a later message of the same chat has been answered as well."""
    later = await chat.send("and then")
    await chat.answer_after(later, containing="and then")
    return [message.text for message in chat.answers_after(said)][:-1]
