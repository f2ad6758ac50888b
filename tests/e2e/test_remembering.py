"""What was told is there again after a crash and in a new conversation, and in no other chat."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from tests.e2e.stage import Stage, set_up
from tests.fakes.anthropic import (
    Answer,
    Request,
    Result,
    last_user_text,
    last_user_words,
    text,
    tool_results,
    tool_use,
)
from tests.fakes.telegram import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")

DOG = "Собаку Анны зовут Бублик"
ASKED = "как зовут моего пса?"
ASKED_IN_ENGLISH = "What is my dog called?"
MEMORY = re.compile(r'<memory id="(\d+)" type="fact" date="([\d-]+)" speaker="Anna">(.*?)</memory>')


@dataclass(frozen=True, slots=True)
class Told:
    """What came of it: Anna tells, the power goes, she asks anew; then Boris tries everything to learn it.

    `answers` are those to her first message, which Telegram delivers again after the restart; `asked` and
    `in_english` are what Claude got for her questions, `tried` what it got for his words.
    """

    stage: Stage
    confirmed: Message
    answers: list[str]
    recalled: Message
    asked: Request
    in_english: Request
    tried: list[Request]
    seen_by_boris: str
    results_for_boris: list[Result]
    still_there: Message


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def told(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Told]:
    async with set_up(tmp_path_factory.mktemp("told")) as stage:
        yield await _played(stage)
        stage.forgive_probes()
        stage.check()


async def _played(stage: Stage) -> Told:
    anna, boris = stage.person("Anna", "ru"), stage.person("Boris", "ru")
    _teach(stage)
    await stage.bot.launch()
    said = await anna.send("запомни: мою собаку зовут Бублик")
    confirmed = await anna.answer_after(said, containing="Запомнила")
    await stage.tg.wait_confirmed(said.update_id)
    stage.bot.kill()
    anna.redeliver(said.update_id)
    await stage.bot.launch()
    new = await anna.send("/new")
    await anna.answer_after(new)
    answers = [each.text for each in anna.answers_after(said) if each.message_id < new.message_id]
    recalled = await anna.answer_after(await anna.send(ASKED), containing="Бублик")
    asked = stage.api.asked[-1]
    await anna.answer_after(await anna.send(ASKED_IN_ENGLISH), containing="Бублик")
    in_english = stage.api.asked[-1]
    before = len(stage.api.asked)
    for words in (ASKED, "поищи хорошенько", "исправь чужое", "забудь чужое"):
        await boris.answer_after(await boris.send(words), containing="Готово")
    for command in ("/memory", "/memory собака", "/forget 1", "/forget all"):
        await boris.answer_after(await boris.send(command))
    tried = stage.api.asked[before:]
    still_there = await anna.answer_after(await anna.send("/memory"))
    return Told(
        stage,
        confirmed,
        answers,
        recalled,
        asked,
        in_english,
        tried,
        boris.transcript(),
        [result for request in tried for result in tool_results(request)],
        still_there,
    )


def _teach(stage: Stage) -> None:
    done = text("Готово.")
    stage.rules.when("запомни", tool_use("save_to_memory", {"content": DOG}), text("Запомнила."))
    stage.rules.when("пса", _from_context)
    stage.rules.when("my dog", _from_context)
    stage.rules.when("поищи", tool_use("search_memory", {"query": "как зовут собаку"}), done)
    stage.rules.when("исправь", tool_use("update_memory", {"id": 1, "content": "Собаки нет"}), done)
    stage.rules.when("забудь", tool_use("forget_memory", {"id": 1}), done)


def _from_context(request: Request) -> Answer:
    """Answer as a good model would: from the memories in the turn, with the date."""
    if known := MEMORY.search(last_user_text(request)):
        return text(f"Готово: **Бублик**, записано {known[2]}.")
    return text("Готово, но я этого не знаю.")


async def test_what_was_told_is_saved_through_the_tool_and_confirmed(told: Told) -> None:
    assert told.confirmed.text == "Запомнила."
    [result] = tool_results(told.stage.api.asked[1])
    assert (result.is_error, result.text) == (False, "Saved as memory 1 (fact).")


async def test_the_same_update_again_after_a_restart_is_answered_and_stored_once(told: Told) -> None:
    assert told.answers == ["Запомнила."]
    assert told.still_there.text.count(DOG) == 1


async def test_after_a_crash_and_in_a_new_conversation_the_answer_is_known_with_its_date(told: Told) -> None:
    today = datetime.now(UTC).date().isoformat()
    assert told.recalled.text == f"Готово: Бублик, записано {today}."
    assert len(told.asked.messages) == 1, "the new conversation has no history"


async def test_a_recalled_memory_stands_in_the_turn_of_the_person_with_its_tags(told: Told) -> None:
    [memory] = MEMORY.finditer(last_user_text(told.asked))
    assert memory.group(1, 3) == ("1", DOG)
    assert last_user_words(told.asked) == ASKED


async def test_no_memory_reaches_the_system_prompt_or_the_tools(told: Told) -> None:
    for request in told.stage.api.asked:
        fixed = json.dumps([request.body["system"], request.body["tools"]], ensure_ascii=False)
        assert "Бублик" not in fixed
        assert "Anna" not in fixed


async def test_a_question_in_another_language_finds_it(told: Told) -> None:
    assert DOG in last_user_text(told.in_english)


async def test_no_byte_of_it_is_sent_to_claude_for_another_chat(told: Told) -> None:
    sent = b"\n".join(request.raw for request in told.tried)
    assert len(told.tried) >= 7
    for form in ("Бублик".encode(), b"\\u0411\\u0443\\u0431\\u043b\\u0438\\u043a", "Анны".encode(), b"Anna"):
        assert form not in sent
        assert form.lower() not in sent.lower()


async def test_another_chat_sees_nothing_of_it_whatever_it_tries(told: Told) -> None:
    assert "Бублик" not in told.seen_by_boris
    search, update, forget = told.results_for_boris
    assert "<memory" not in search.text
    assert (update.is_error, forget.is_error) == (True, True)


async def test_another_chat_can_neither_change_nor_forget_it(told: Told) -> None:
    assert DOG in told.still_there.text
