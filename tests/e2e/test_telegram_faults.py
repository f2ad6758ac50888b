"""Telegram refuses, breaks, hangs and comes back: each answer arrives once and delays no other chat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import pytest
import pytest_asyncio

from tests.e2e.stage import Stage, set_up, until
from tests.fakes.anthropic import Answer, Hold, Request, last_user_words, text
from tests.fakes.telegram import (
    Call,
    Chat,
    Fault,
    Message,
    bad_gateway,
    conflict,
    forbidden,
    hang,
    reset,
    server_error,
    too_many_requests,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

END = "That is all I know."
PARTIAL = 20
WAIT = 2
FAULTS: Mapping[str, Fault] = {
    "is_too_early": too_many_requests(WAIT),
    "meets_a_broken_server": server_error(),
    "meets_a_broken_gateway": bad_gateway(),
    "meets_a_gateway_that_breaks_after_it_is_carried_out": bad_gateway(applied=True),
    "is_torn_before_it_is_carried_out": reset(),
    "is_torn_after_it_is_carried_out": reset(applied=True),
    "gets_no_response_though_carried_out": hang(applied=True),
}
CASES = [(method, name) for method in ("sendMessage", "editMessageText") for name in FAULTS]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a person sees whose answer met a fault; `calls` are those of the method that met it."""

    answers: list[str]
    calls: list[Call]


@dataclass(frozen=True, slots=True)
class Faulty:
    """A bot that was started while Telegram was down, after every fault in a chat of its own."""

    stage: Stage
    early: Chat
    outcomes: Mapping[tuple[str, str], Outcome]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def faulty(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Faulty]:
    async with set_up(tmp_path_factory.mktemp("faulty")) as stage:
        stage.rules.when("", _answer)
        early = await _start_without_telegram(stage)
        async with asyncio.TaskGroup() as group:
            tasks = {case: group.create_task(_met(stage, *case)) for case in CASES}
        yield Faulty(stage, early, {case: task.result() for case, task in tasks.items()})
        stage.forgive_probes()
        stage.check()


async def _start_without_telegram(stage: Stage) -> Chat:
    early = stage.person("Early")
    stage.tg.fail("setMyCommands", server_error())
    await stage.tg.go_down()
    stage.bot.start()
    await until(lambda: "Telegram cannot be reached" in stage.bot.log, 120)
    await early.send("Are you there?")
    await stage.tg.come_back()
    await stage.bot.wait_ready()
    return early


async def _met(stage: Stage, method: str, fault: str) -> Outcome:
    """Let the call that shows the end of an answer meet a fault."""
    chat = stage.person()

    def last(call: Call) -> bool:
        return call.chat_id == chat.id and END in call.params["text"]

    if method == "sendMessage":
        stage.tg.fail(method, FAULTS[fault], when=last)
        question = await chat.send(f"Tell {chat.id} at once")
    else:
        question, hold = await _half_answered(stage, chat)
        stage.tg.fail(method, FAULTS[fault], when=last)
        hold.release()
    await chat.answer_after(question, 120, containing=END)
    await chat.answer_after(await chat.send("/help"), 120, containing="/memory")
    answers = [answer.text for answer in chat.answers_after(question)]
    return Outcome(answers[:-1], [call for call in stage.tg.calls_of(method, chat=chat) if last(call)])


async def _half_answered(stage: Stage, chat: Chat) -> tuple[Message, Hold]:
    hold = stage.api.hold(PARTIAL, when=lambda request: str(chat.id) in last_user_words(request))
    question = await chat.send(f"Tell {chat.id} slowly")
    await hold.reached()
    await chat.answer_after(question)
    return question, hold


def _answer(request: Request) -> Answer:
    return text(("Let me think about it. " * 20 if "slowly" in last_user_words(request) else "") + END)


async def test_a_bot_that_starts_while_telegram_is_away_answers_when_it_is_back(faulty: Faulty) -> None:
    assert [message.text for message in faulty.early.visible] == [END]


@pytest.mark.parametrize(("method", "fault"), CASES)
async def test_an_answer_is_seen_once_although_a_call(faulty: Faulty, method: str, fault: str) -> None:
    [answer] = faulty.outcomes[method, fault].answers
    assert answer.endswith(END)
    assert answer.count(END) == 1


@pytest.mark.parametrize("method", ["sendMessage", "editMessageText"])
async def test_the_wait_that_telegram_asks_for_is_kept(faulty: Faulty, method: str) -> None:
    refused, shown = faulty.outcomes[method, "is_too_early"].calls
    assert (refused.status, shown.status) == (429, 200)
    assert shown.at - refused.at >= WAIT


async def test_a_bot_whose_updates_somebody_else_takes_says_so_and_goes_on(faulty: Faulty) -> None:
    stage, anna = faulty.stage, faulty.stage.person()
    stage.tg.fail("getUpdates", conflict(), times=2)
    stage.tg.updates.stop_poller("terminated by other getUpdates request")

    answer = await anna.answer_after(await anna.send("And now?"))

    assert answer.text == END
    assert "another program fetches the updates of this bot" in stage.bot.log


async def test_updates_come_again_after_the_connection_broke(faulty: Faulty) -> None:
    stage, anna = faulty.stage, faulty.stage.person()
    stage.tg.fail("getUpdates", reset())
    await stage.tg.go_down()
    said = await anna.send("And now?")
    await stage.tg.come_back()

    assert (await anna.answer_after(said)).text == END


async def test_a_chat_without_a_typing_sign_is_answered(faulty: Faulty) -> None:
    stage, anna = faulty.stage, faulty.stage.person()
    stage.tg.fail("sendChatAction", server_error(), None, when=lambda call: call.chat_id == anna.id)

    assert (await anna.answer_after(await anna.send("And now?"))).text == END


async def test_a_person_who_blocks_the_bot_disturbs_nobody_and_may_come_back(faulty: Faulty) -> None:
    stage, anna, boris = faulty.stage, faulty.stage.person(), faulty.stage.person()
    question, hold = await _half_answered(stage, anna)
    await anna.block()
    hold.release()

    assert (await boris.answer_after(await boris.send("And now?"))).text == END
    await anna.unblock()
    again = await anna.send("I am back")
    await anna.answer_after(again, containing=END)
    assert END not in anna.answers_after(question)[0].text


async def test_a_chat_that_is_closed_to_the_bot_without_a_word_disturbs_nobody(faulty: Faulty) -> None:
    stage, anna, boris = faulty.stage, faulty.stage.person(), faulty.stage.person()
    stage.tg.fail("sendMessage", forbidden("user is deactivated"), when=lambda call: call.chat_id == anna.id)
    await anna.send("Going away")

    assert (await boris.answer_after(await boris.send("And now?"))).text == END


async def test_a_token_that_is_revoked_ends_the_bot_with_a_sentence(faulty: Faulty) -> None:
    """Stands last: there is no bot after it."""
    stage = faulty.stage
    stage.tg.token = "710011223:another-token-that-BotFather-has-given"
    stage.tg.updates.stop_poller("the token was revoked")

    assert await stage.bot.wait_ended() == 2
    assert stage.bot.log.splitlines()[-1].startswith("Telegram refuses telegram.token;")
    assert "Traceback" not in stage.bot.log
