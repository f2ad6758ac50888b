"""SIGTERM: what runs is finished within the time there is, what is not goes on after the next start."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from tests.e2e.stage import Stage, set_up, until
from tests.fakes.anthropic import Answer, Hold, Request, last_user_words, text
from tests.fakes.telegram import Chat, Message

pytestmark = pytest.mark.asyncio(loop_scope="module")

DRAINING = "waiting for the running turns"
SHORT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Ended:
    """Three runs: one with time to drain, one with too little, one with nothing to do.

    `patient` is answered while the first run drains, `late` writes meanwhile; `cut` is being answered when
    the time of the second one is up.
    """

    patient: Chat
    late: Chat
    cut: Chat
    questions: dict[int, Message]
    statuses: tuple[int, int, int]
    seen_at_the_end_of_the_first: str
    seen_at_the_end_of_the_second: str
    seconds: tuple[float, float]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ended(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ended]:
    async with set_up(tmp_path_factory.mktemp("shutdown")) as stage:
        stage.rules.when("", _at_length)
        yield await _played(stage)
        stage.forgive_probes()
        stage.check()


async def _played(stage: Stage) -> Ended:
    patient, late, cut = stage.person("Patient"), stage.person("Late"), stage.person("Cut")
    questions: dict[int, Message] = {}
    await stage.bot.launch()
    hold = await _half_answered(stage, patient, questions)
    stage.bot.signal()
    await until(lambda: DRAINING in stage.bot.log)
    questions[late.id] = await late.send("tell me about rain")
    hold.release()
    first = await stage.bot.wait_ended()
    seen_first = patient.answers_after(questions[patient.id])[0].text

    stage.bot.env["MNEMOGRAM_TELEGRAM__DRAIN_SECONDS"] = str(SHORT_SECONDS)
    await stage.bot.launch()
    await late.answer_after(questions[late.id], containing="That is all.")
    await _half_answered(stage, cut, questions)
    started = time.monotonic()
    second = await stage.bot.terminate()
    took = time.monotonic() - started
    seen_second = cut.answers_after(questions[cut.id])[0].text

    await stage.bot.launch()
    await cut.answer_after(questions[cut.id], containing="That is all.")
    await cut.answer_after(await cut.send("/memory"))
    started = time.monotonic()
    third = await stage.bot.terminate()
    seconds = (took, time.monotonic() - started)
    return Ended(patient, late, cut, questions, (first, second, third), seen_first, seen_second, seconds)


async def _half_answered(stage: Stage, chat: Chat, questions: dict[int, Message]) -> Hold:
    words = f"tell me about snow number {chat.id}"
    hold = stage.api.hold(40, when=lambda request: last_user_words(request) == words)
    questions[chat.id] = await chat.send(words)
    await hold.reached()
    await chat.answer_after(questions[chat.id])
    return hold


def _at_length(request: Request) -> Answer:
    return text("Let me think about it. " * 40 + "That is all.")


async def test_every_end_that_was_asked_for_has_status_0(ended: Ended) -> None:
    assert ended.statuses == (0, 0, 0)


async def test_a_running_answer_is_finished_and_delivered_before_the_end(ended: Ended) -> None:
    assert ended.seen_at_the_end_of_the_first.endswith("That is all.")
    assert len(ended.patient.answers_after(ended.questions[ended.patient.id])) == 1


async def test_what_is_written_while_the_bot_ends_is_answered_after_the_next_start(ended: Ended) -> None:
    [answer] = ended.late.answers_after(ended.questions[ended.late.id])
    assert answer.text.endswith("That is all.")


async def test_an_answer_that_takes_too_long_stays_half_written_and_the_bot_ends_in_time(
    ended: Ended,
) -> None:
    assert "Let me think" in ended.seen_at_the_end_of_the_second
    assert "That is all." not in ended.seen_at_the_end_of_the_second
    assert ended.seconds[0] < SHORT_SECONDS + 15


async def test_an_interrupted_answer_is_written_anew_in_its_old_place(ended: Ended) -> None:
    answer, _ = ended.cut.answers_after(ended.questions[ended.cut.id])
    assert answer.text.endswith("That is all.")


async def test_a_bot_with_nothing_to_do_ends_quickly(ended: Ended) -> None:
    assert ended.seconds[1] < 10
