"""Claude refuses, breaks, stalls and stays away: an answer, a sentence or the notebook, never silence."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
import pytest_asyncio

from bot.prompts import CONTINUE
from bot.texts import text as said_by_bot
from tests.e2e.stage import Stage
from tests.fakes.anthropic import (
    Answer,
    HttpFault,
    Request,
    StreamFault,
    bad_gateway,
    bad_key,
    clean_eof,
    empty,
    error_event,
    last_user_words,
    overloaded,
    prompt_too_long,
    rate_limited,
    refusal,
    reset,
    server_error,
    spend_cap,
    stall,
    text,
    thinking,
    tool_use,
)
from tests.fakes.telegram import Chat

pytestmark = pytest.mark.asyncio(loop_scope="module")
SETTINGS = {
    "env": {
        "MNEMOGRAM_CLAUDE__TIMEOUT_SECONDS": "4",
        "MNEMOGRAM_CLAUDE__TURN_SECONDS": "6",
        "MNEMOGRAM_CLAUDE__CONTEXT_TOKENS": "6000",
    }
}

ANSWER = "The hedgehog sleeps in winter, from November to March, under leaves and branches."
PASSING: Mapping[str, HttpFault | StreamFault] = {
    "a rate limit": rate_limited(),
    "a rate limit that names a wait": rate_limited(1),
    "an overload": overloaded(),
    "a server error": server_error(),
    "a page of a proxy": bad_gateway(),
    "a torn connection": reset(),
    "an overload in the middle": error_event(3),
    "a connection torn in the middle": reset(3),
    "a stream torn within a line": reset(after_bytes=700),
    "a stream that ends too early": clean_eof(3),
}
LASTING: Mapping[str, tuple[HttpFault | StreamFault, str]] = {
    "an overload": (overloaded(), "conversation-unavailable"),
    "a rate limit of an hour": (rate_limited(3600), "conversation-unavailable"),
    "a server that tears every connection": (reset(), "conversation-unavailable"),
    "a server that says nothing": (stall(), "conversation-unavailable"),
    "a bad key": (bad_key(), "conversation-misconfigured"),
    "a spending limit": (spend_cap(), "conversation-misconfigured"),
}


@dataclass(frozen=True, slots=True)
class Away:
    """What a person saw while Claude was away, and afterwards."""

    answers: list[str]
    afterwards: str


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def away(shared: Stage) -> Mapping[str, Away]:
    """A person for each lasting fault tells the bot something and asks about it twice."""
    async with asyncio.TaskGroup() as group:
        tasks = {name: group.create_task(_without(shared, fault)) for name, (fault, _) in LASTING.items()}
    return {name: task.result() for name, task in tasks.items()}


async def _without(stage: Stage, fault: HttpFault | StreamFault) -> Away:
    anna = stage.person()
    troubled = {f"parrot {anna.id}"}
    stage.rules.when(f"What is parrot {anna.id}", text("It is called Coco."))
    stage.api.fail(fault, None, when=lambda request: any(w in last_user_words(request) for w in troubled))
    answers = await _answers(stage, anna, *_told_and_asked(anna.id))
    troubled.clear()
    [afterwards] = await _answers(stage, anna, _told_and_asked(anna.id)[1])
    return Away(answers, afterwards)


def _told_and_asked(number: int) -> tuple[str, str]:
    return f"remember that parrot {number} is called Coco", f"What is parrot {number} called?"


async def _answers(stage: Stage, chat: Chat, *messages: str) -> list[str]:
    """Write the messages and return the answers, once a message after them is answered too."""
    stage.rules.when("still there", text("I am here."))
    first, *_ = [await chat.send(message) for message in messages]
    later = await chat.send("still there?")
    await chat.answer_after(later, 60, containing="I am here.")
    answers = [message.text for message in chat.answers_after(first)][:-1]
    assert len(answers) == len(messages)
    return answers


async def _answer(stage: Stage, chat: Chat, words: str) -> str:
    [answer] = await _answers(stage, chat, words)
    return answer


def _about(chat: Chat) -> str:
    return f"When does hedgehog {chat.id} sleep?"


@pytest.mark.parametrize("fault", PASSING)
async def test_a_fault_that_passes_is_not_noticed(shared: Stage, fault: str) -> None:
    anna = shared.person()
    shared.rules.when(_about(anna), text(ANSWER))
    shared.api.fail(PASSING[fault], when=lambda request: _about(anna) in last_user_words(request))

    assert await _answer(shared, anna, _about(anna)) == ANSWER


@pytest.mark.parametrize("fault", LASTING)
async def test_the_notebook_keeps_and_recalls_while_claude_is_away(
    away: Mapping[str, Away], fault: str
) -> None:
    notice = said_by_bot(LASTING[fault][1], "en")
    confirmed, answer = away[fault].answers
    assert confirmed.startswith(f"{notice}\n\nSaved as memory ")
    assert re.fullmatch(re.escape(notice) + r"\n\n.+ \d{4}: parrot \d+ is called Coco", answer)


@pytest.mark.parametrize("fault", LASTING)
async def test_claude_answers_again_when_it_is_back(away: Mapping[str, Away], fault: str) -> None:
    assert away[fault].afterwards == "It is called Coco."


async def test_what_a_failed_attempt_saved_is_not_saved_again_by_the_notebook(shared: Stage) -> None:
    anna = shared.person()
    shared.rules.when("remember", tool_use("save_to_memory", {"content": "Anna has a canoe"}), text("Saved."))
    shared.api.fail(overloaded(), None, when=_after_a_tool)

    answer = await _answer(shared, anna, "remember that I have a canoe")

    assert "Saved as memory" in answer
    listed = await anna.answer_after(await anna.send("/memory"))
    assert listed.text.startswith(said_by_bot("memory-list", "en", count=1))


def _after_a_tool(request: Request) -> bool:
    return "canoe" in last_user_words(request) and len(request.messages) > 1


async def test_silence_in_the_middle_leaves_what_was_said_and_a_remark(shared: Stage) -> None:
    anna = shared.person()
    shared.rules.when(_about(anna), text(ANSWER))
    shared.api.fail(stall(4), None, when=lambda request: _about(anna) in last_user_words(request))

    answer = await _answer(shared, anna, _about(anna))

    assert answer.startswith(ANSWER[:40])
    assert answer.endswith("(The answer was cut off here. Say “go on” for the rest.)")


async def test_an_empty_answer_is_asked_for_once_more(shared: Stage) -> None:
    anna = shared.person()
    shared.rules.when(_about(anna), empty())
    shared.rules.when(CONTINUE, text(ANSWER))

    assert await _answer(shared, anna, _about(anna)) == ANSWER


@pytest.mark.parametrize("nothing", [empty(), thinking("Hm."), text(" \n ")])
async def test_a_model_that_stays_silent_is_spoken_for(shared: Stage, nothing: Answer) -> None:
    anna = shared.person()
    shared.rules.when(_about(anna), nothing)
    shared.rules.when(CONTINUE, nothing)

    assert await _answer(shared, anna, _about(anna)) == said_by_bot("loop-empty", "en")


async def test_a_refusal_is_said_in_one_sentence_and_leaves_nothing_behind(shared: Stage) -> None:
    anna = shared.person()
    shared.rules.when("forbidden fruit", refusal("I began to s", "policy"))

    assert await _answer(shared, anna, "forbidden fruit please") == said_by_bot("loop-refused", "en")

    [request] = [each for each in shared.api.asked if "still there" in last_user_words(each)][-1:]
    assert "forbidden" not in request.words


async def test_an_answer_that_is_too_long_for_the_model_ends_with_a_remark(shared: Stage) -> None:
    anna = shared.person()
    shared.rules.when(_about(anna), text(ANSWER).stopped("max_tokens"))

    answer = await _answer(shared, anna, _about(anna))

    assert answer.startswith(ANSWER)
    assert "cut off" in answer


async def test_a_stop_reason_that_nobody_knows_yet_is_an_end(shared: Stage) -> None:
    anna = shared.person()
    shared.rules.when(_about(anna), text(ANSWER).stopped("moonrise"))

    assert await _answer(shared, anna, _about(anna)) == ANSWER


async def test_a_history_that_is_too_long_is_shortened(shared: Stage) -> None:
    anna = shared.person()
    await _answer(shared, anna, "Good morning to all")
    shared.rules.when(_about(anna), text(ANSWER))
    shared.api.fail(prompt_too_long(), when=lambda request: _about(anna) in last_user_words(request))

    assert await _answer(shared, anna, _about(anna)) == ANSWER


async def test_a_message_that_is_too_long_for_the_model_is_told_so(shared: Stage) -> None:
    anna = shared.person()
    shared.api.fail(prompt_too_long(), None, when=lambda request: _about(anna) in last_user_words(request))

    assert await _answer(shared, anna, _about(anna)) == said_by_bot("conversation-too-long", "en")


async def test_a_tool_that_does_not_exist_and_arguments_that_are_wrong_do_no_harm(shared: Stage) -> None:
    anna = shared.person()
    shared.rules.when(
        _about(anna),
        tool_use("launch_rocket", {"to": "the moon"}) + tool_use("save_to_memory", {"text": 5}),
        text(ANSWER),
    )

    assert await _answer(shared, anna, _about(anna)) == ANSWER


async def test_a_model_that_never_stops_calling_tools_answers_in_the_end(shared: Stage) -> None:
    anna = shared.person()

    def endlessly(request: Request) -> Answer:
        may_go_on = request.body.get("tool_choice") != {"type": "none"} and request.tool_names
        return tool_use("search_memory", {"query": "hedgehog"}) if may_go_on else text(ANSWER)

    shared.rules.when(_about(anna), endlessly)

    assert await _answer(shared, anna, _about(anna)) == ANSWER


async def test_no_words_of_the_server_reach_a_person(shared: Stage) -> None:
    seen = "\n".join(
        message.text for chat in shared.tg.world.chats.values() for message in chat.messages.values()
    )
    for words in ("Overloaded", "invalid x-api-key", "spend limit", "maximum", "req_", "Error", "cloudflare"):
        assert words not in seen
