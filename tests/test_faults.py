"""What fails on the way to the model: tried again or said at once, never shown twice or in its own words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from bot.ports import (
    Completed,
    ModelError,
    ModelMisconfigured,
    ModelUnavailable,
    PromptTooLong,
    Stop,
)
from tests.fakes.anthropic import (
    FakeAnthropic,
    HttpFault,
    StreamFault,
    bad_gateway,
    bad_key,
    clean_eof,
    error_event,
    forbidden,
    http_error,
    out_of_credit,
    overloaded,
    own_spend_limit,
    prompt_too_long,
    rate_limited,
    reset,
    server_error,
    spend_cap,
    stall,
    text,
    thinking,
    too_large,
    tool_results,
)
from tests.fakes.claude_rig import ANSWER, Rig, asked, looking, shown


@pytest_asyncio.fixture
async def api() -> AsyncIterator[FakeAnthropic]:
    async with FakeAnthropic() as server:
        yield server


@pytest_asyncio.fixture
async def rig(api: FakeAnthropic) -> AsyncIterator[Rig]:
    made = Rig(api)
    yield made
    await made.model.close()
    assert api.refusals == []


@pytest_asyncio.fixture
async def rig_of(api: FakeAnthropic) -> AsyncIterator[Callable[..., Rig]]:
    made: list[Rig] = []

    def make(**settings: Any) -> Rig:
        made.append(Rig(api, **settings))
        return made[-1]

    yield make
    for rig in made:
        await rig.model.close()


# Failures that pass


@pytest.mark.parametrize(
    "fault",
    [
        overloaded(),
        server_error(),
        bad_gateway(),
        http_error(408, "timeout_error", "slow"),
        http_error(409, "conflict_error", "conflict"),
        http_error(503, "api_error", "away"),
        rate_limited(),
        rate_limited(3),
        reset(),
        reset(2),
        clean_eof(0),
        clean_eof(2),
        error_event(),
        error_event(2, "api_error", "Internal server error"),
        error_event(2, "rate_limit_error", "later"),
    ],
)
async def test_what_passes_is_tried_again_and_the_answer_is_shown_once(
    rig: Rig, api: FakeAnthropic, fault: HttpFault | StreamFault
) -> None:
    api.script(text(ANSWER))
    api.fail(fault, times=2)

    result = await rig.turn(asked())

    assert result.text == ANSWER
    assert rig.reply.text == ANSWER
    assert all(ANSWER.startswith(seen) for seen in rig.reply.written)
    assert len(api.asked) == 3


async def test_waits_grow_and_what_the_server_wants_comes_first(rig: Rig, api: FakeAnthropic) -> None:
    api.script(overloaded(), overloaded(), text(ANSWER))
    await rig.ask(asked())
    api.script(rate_limited(7), text(ANSWER))
    await rig.ask(asked())

    assert rig.pauses == [0.5, 1.0, 7.0]


async def test_after_three_tries_the_model_counts_as_away(rig: Rig, api: FakeAnthropic) -> None:
    api.fail(overloaded(), times=None)

    with pytest.raises(ModelUnavailable) as caught:
        await rig.events(asked())

    assert caught.value.kind == "unavailable"
    assert len(api.asked) == 3


async def test_a_stream_that_always_breaks_leaves_what_came(rig: Rig, api: FakeAnthropic) -> None:
    api.script(text(ANSWER))
    api.fail(clean_eof(2), times=3)

    events = await rig.events(asked())

    completed = events[-1]
    assert isinstance(completed, Completed)
    assert completed.stop is Stop.CUT
    assert completed.text == shown(events) == ANSWER[:24]
    assert completed.usage is not None


async def test_a_long_retry_after_is_not_waited_for(rig: Rig, api: FakeAnthropic) -> None:
    api.fail(rate_limited(100), times=None)

    with pytest.raises(ModelUnavailable):
        await rig.events(asked())

    assert len(api.asked) == 1
    assert rig.pauses == []


async def test_a_retry_after_that_is_no_number_is_no_wish(rig: Rig, api: FakeAnthropic) -> None:
    odd = ["Wed, 21 Oct 2026 07:28:00 GMT", "nan", "inf", "-5"]
    for header in odd:
        api.fail(replace(rate_limited(), headers={"retry-after": header}))
        await rig.ask(asked())

    assert rig.pauses == [0.5, 0.5, 0.5, 0.0]


async def test_a_server_that_forbids_a_retry_is_obeyed(rig: Rig, api: FakeAnthropic) -> None:
    api.fail(replace(overloaded(), headers={"x-should-retry": "false"}))

    with pytest.raises(ModelUnavailable):
        await rig.events(asked())

    assert len(api.asked) == 1


@pytest.mark.parametrize("fault", [stall(), stall(0), stall(2)])
async def test_silence_ends_when_the_time_for_it_is_over(
    rig_of: Callable[..., Rig], api: FakeAnthropic, fault: StreamFault
) -> None:
    rig = rig_of(timeout_seconds=0.3)
    api.script(text(ANSWER))
    api.fail(fault, times=None)

    async with asyncio.timeout(10):
        try:
            end = (await rig.events(asked()))[-1]
        except ModelUnavailable:
            end = None

    assert end is None or (isinstance(end, Completed) and end.stop is Stop.CUT)
    assert len(api.asked) == 1


async def test_a_stream_that_never_ends_is_cut_at_the_end_of_the_turn(
    rig_of: Callable[..., Rig], api: FakeAnthropic
) -> None:
    rig = rig_of(turn_seconds=0.5)
    api.pace = 0.02
    api.script(text("word " * 1000))

    async with asyncio.timeout(10):
        completed = (await rig.events(asked()))[-1]

    assert isinstance(completed, Completed)
    assert completed.stop is Stop.CUT
    assert completed.text.startswith("word word")


async def test_nobody_there_means_away(rig_of: Callable[..., Rig]) -> None:
    rig = rig_of(base_url="http://127.0.0.1:9")

    with pytest.raises(ModelUnavailable):
        await rig.events(asked())

    assert len(rig.pauses) == 2


async def test_a_page_in_place_of_a_stream_means_away(rig: Rig, api: FakeAnthropic) -> None:
    api.fail(HttpFault(200, body="<html>Welcome to the hotel network</html>"), times=None)

    with pytest.raises(ModelUnavailable):
        await rig.events(asked())


# Failures that stay


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (bad_key(), "claude.api_key"),
        (forbidden(), "claude.api_key"),
        (out_of_credit(), "spending limit"),
        (spend_cap(), "spending limit"),
        (spend_cap("contract_spend_limit_reached"), "spending limit"),
        (own_spend_limit(), "spending limit"),
        (http_error(404, "not_found_error", "model: claude-unheard-of"), "claude.model"),
        (error_event(1, "authentication_error", "invalid x-api-key"), "claude.api_key"),
    ],
)
async def test_what_an_operator_must_mend_is_said_at_once(
    rig: Rig, api: FakeAnthropic, fault: HttpFault | StreamFault, says: str
) -> None:
    api.fail(fault, times=None)

    with pytest.raises(ModelMisconfigured) as caught:
        await rig.events(asked())

    assert says in str(caught.value)
    assert caught.value.kind == "misconfigured"
    assert len(api.asked) == 1


@pytest.mark.parametrize("fault", [prompt_too_long(), too_large()])
async def test_a_prompt_that_is_too_long_is_an_error_of_its_own(
    rig: Rig, api: FakeAnthropic, fault: HttpFault
) -> None:
    api.fail(fault)

    with pytest.raises(PromptTooLong):
        await rig.events(asked())

    assert len(api.asked) == 1


@pytest.mark.parametrize(
    "words",
    [
        "the request exceeds the available context size, try increasing it",
        "This model's maximum context length is 8192 tokens.",
        "input is too long for requested model",
    ],
)
async def test_other_servers_words_for_a_long_prompt_are_understood(
    rig: Rig, api: FakeAnthropic, words: str
) -> None:
    api.fail(http_error(400, "invalid_request_error", words))

    with pytest.raises(PromptTooLong):
        await rig.events(asked())


async def test_a_prompt_that_fills_up_inside_of_a_tool_loop_goes_on_with_less_history(
    rig: Rig, api: FakeAnthropic
) -> None:
    api.script(thinking("Hm.") + looking("dog"), text(ANSWER))
    api.fail(prompt_too_long(), when=lambda request: bool(tool_results(request)))

    result = await rig.turn(asked(*[(f"question {n}", f"answer {n}") for n in range(4)]))

    assert result.text == ANSWER
    # Thoughts are bound to the history, so the step cannot be sent back behind a shorter one: it is retold.
    assert "search_memory says" in api.asked[-1].words
    assert len(api.asked[-1].messages) == 5


async def test_the_server_s_own_words_never_get_into_an_error(rig: Rig, api: FakeAnthropic) -> None:
    errors: list[ModelError] = []
    for status in (400, 401, 402, 403, 404, 413, 418, 422, 429, 500, 529):
        api.fail(http_error(status, "some_error", "SECRET detail"), times=4)
        with pytest.raises(ModelError) as caught:
            await rig.events(asked())
        errors.append(caught.value)
        api.heal()

    assert not any("SECRET" in str(error) for error in errors)
    assert all(str(error).endswith(".") for error in errors)
