"""The adapter of the Messages API, over a real socket, against a server as strict as the real one."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from bot import config
from bot.claude import ClaudeModel
from bot.loop import Limits
from bot.ports import (
    Completed,
    ModelMisconfigured,
    PastMessage,
    Step,
    Stop,
    TextDelta,
    ToolCall,
    ToolResult,
)
from bot.prompts import ANSWER_NOW, CONTINUE, SYSTEM
from memory.errors import ConfigError
from memory.types import Role
from tests.fakes.anthropic import (
    Answer,
    FakeAnthropic,
    cut_tool_use,
    empty,
    http_error,
    overloaded,
    refusal,
    text,
    thinking,
    tool_results,
    tool_use,
)
from tests.fakes.claude_rig import ANSWER, TURN, Rig, asked, looking, shown


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


# The way there and back


async def test_text_comes_in_pieces_and_the_end_has_all_of_it(rig: Rig, api: FakeAnthropic) -> None:
    api.script(text(ANSWER))

    events = await rig.events(asked())

    assert shown(events) == ANSWER
    assert sum(isinstance(event, TextDelta) for event in events) > 2
    [completed] = [event for event in events if isinstance(event, Completed)]
    assert (completed.text, completed.stop, completed.calls) == (ANSWER, Stop.END, ())


async def test_the_request_is_full_of_what_the_vendor_offers_and_of_nothing_that_is_refused(
    rig: Rig, api: FakeAnthropic
) -> None:
    await rig.ask(asked(("Hello", "Hello!")))

    [request] = api.asked
    assert set(request.body) == {
        "model",
        "max_tokens",
        "system",
        "tools",
        "messages",
        "stream",
        "cache_control",
        "output_config",
    }
    assert request.body["system"] == [
        {"type": "text", "text": SYSTEM.strip(), "cache_control": {"type": "ephemeral"}}
    ]
    assert request.body["output_config"] == {"effort": "low"}
    assert request.tool_names == sorted(request.tool_names)
    assert request.headers["authorization"] == f"Bearer {api.key}"


async def test_the_person_s_words_come_last_behind_the_context(rig: Rig, api: FakeAnthropic) -> None:
    await rig.ask(asked(("Hello", "Hello!"), words="What is new?"))

    question, answer, turn = api.asked[0].messages
    assert (question["role"], question["content"][0]["text"]) == ("user", "Hello")
    assert (answer["role"], answer["content"][0]["text"]) == ("assistant", "Hello!")
    context, words = turn["content"]
    assert context["text"].startswith("<context>\n<now>2026-11-30 20:00, Monday")
    assert words == {"type": "text", "text": "What is new?"}


async def test_a_tool_loop_hands_back_thoughts_and_calls_verbatim_and_all_results_in_order(
    rig: Rig, api: FakeAnthropic
) -> None:
    api.script(
        thinking("Let me see.") + text("One moment.") + looking("dog") + looking("пёс"),
        thinking() + tool_use("save_to_memory", {"content": "Ann asked"}),
        text(ANSWER),
    )

    result = await rig.turn(asked(("Hello", "Hello!")))

    assert result.text == f"One moment.\n\n{ANSWER}"
    second, third = api.asked[1:]
    assert [answer.text for answer in tool_results(second)] == [
        "search_memory says {'query': 'dog'}",
        "search_memory says {'query': 'пёс'}",
    ]
    kinds = [[block["type"] for block in message["content"]] for message in third.messages[3:]]
    assert kinds == [
        ["thinking", "text", "tool_use", "tool_use"],
        ["tool_result", "tool_result"],
        ["thinking", "tool_use"],
        ["tool_result"],
    ]


async def test_usage_and_cost_of_a_call_are_counted(rig: Rig, api: FakeAnthropic) -> None:
    completed = await rig.ask(asked())

    usage, counted = completed.usage, api.usages[0]
    assert usage is not None
    assert usage.model == "claude-sonnet-5-5"
    assert usage.input_tokens == counted["input_tokens"]
    assert usage.cache_write_tokens == counted["cache_creation_input_tokens"] > 500
    assert usage.output_tokens == counted["output_tokens"]
    assert 0.001 < usage.cost_usd < 0.01


async def test_the_next_turn_and_the_next_step_read_what_was_cached(rig: Rig, api: FakeAnthropic) -> None:
    talk = [(f"question {number} " + "word " * 200, f"answer {number}") for number in range(5)]
    api.script(looking(), text(ANSWER), text("Later."))

    await rig.turn(asked(*talk))
    await rig.ask(asked(*talk, (TURN.text, ANSWER), words="And my cat?"))

    first, second, next_turn = api.usages
    assert second["cache_read_input_tokens"] >= first["cache_creation_input_tokens"] > 1000
    total = sum(next_turn[name] for name in ("input_tokens", "cache_read_input_tokens"))
    total += next_turn["cache_creation_input_tokens"]
    assert next_turn["cache_read_input_tokens"] > 0.8 * total


async def test_the_last_step_keeps_the_tools_and_chooses_none(rig: Rig, api: FakeAnthropic) -> None:
    api.script(looking(), text(ANSWER))

    await rig.turn(asked(), limits=Limits(max_steps=2))

    first, last = api.asked
    assert "tool_choice" not in first.body
    assert last.body["tool_choice"] == {"type": "none"}
    assert last.tool_names == first.tool_names


async def test_an_empty_answer_after_a_tool_is_nudged_behind_the_results(
    rig: Rig, api: FakeAnthropic
) -> None:
    api.script(looking(), empty(), looking("cat"), text(ANSWER))

    result = await rig.turn(asked())

    assert result.text == ANSWER
    kinds = [block["type"] for block in api.asked[2].messages[-1]["content"]]
    assert kinds == ["tool_result", "text"]
    assert api.asked[2].messages[-1]["content"][-1]["text"] == CONTINUE
    assert api.asked[3].messages[: len(api.asked[2].messages)] == api.asked[2].messages


async def test_a_paused_answer_is_continued(rig: Rig, api: FakeAnthropic) -> None:
    api.script(text("First half.").stopped("pause_turn"), text("Second half."))

    assert (await rig.turn(asked())).text == "First half.\n\nSecond half."


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", Stop.END),
        ("stop_sequence", Stop.END),
        ("tool_use", Stop.TOOLS),
        ("max_tokens", Stop.LENGTH),
        ("pause_turn", Stop.PAUSE),
        ("refusal", Stop.REFUSAL),
        ("model_context_window_exceeded", Stop.TOO_LONG),
        ("something_new", Stop.END),
    ],
)
async def test_every_reason_to_stop_has_its_meaning(
    rig: Rig, api: FakeAnthropic, reason: str, stop: Stop
) -> None:
    api.script(text(ANSWER).stopped(reason))

    assert (await rig.ask(asked())).stop is stop


async def test_a_refusal_carries_no_answer_into_the_turn(rig: Rig, api: FakeAnthropic) -> None:
    api.script(refusal("I will n"))

    result = await rig.turn(asked())

    assert result.refused
    assert "I will" not in result.text


async def test_a_call_that_was_cut_keeps_no_part_of_its_arguments(rig: Rig, api: FakeAnthropic) -> None:
    cut = cut_tool_use("save_to_memory", {"content": "tea", "type": "fact"})
    api.script(cut, cut.stopped("tool_use"))

    by_length, by_the_model = await rig.ask(asked()), await rig.ask(asked())

    assert (by_length.stop, by_the_model.stop) == (Stop.LENGTH, Stop.TOOLS)
    assert [call.arguments for call in (*by_length.calls, *by_the_model.calls)] == [{}, {}]


async def test_a_call_that_was_cut_is_made_again_with_more_room(rig: Rig, api: FakeAnthropic) -> None:
    api.script(
        text("I sa") + cut_tool_use("save_to_memory", {"content": "tea"}),
        tool_use("save_to_memory", {"content": "tea"}),
        text("Saved."),
    )

    result = await rig.turn(asked())

    assert result.text == "Saved."
    assert [request.body["max_tokens"] for request in api.asked] == [2000, 4000, 4000]


async def test_a_thought_between_two_texts_does_not_glue_them_together(rig: Rig, api: FakeAnthropic) -> None:
    api.script(text("First.") + thinking("Hm.") + text("Second."))

    assert (await rig.ask(asked())).text == "First.\n\nSecond."


async def test_an_empty_text_of_the_model_is_not_sent_back(rig: Rig, api: FakeAnthropic) -> None:
    api.script(Answer((*text("").blocks, *looking().blocks)), text(ANSWER))
    api.thinking = False

    assert (await rig.turn(asked())).text == ANSWER


@pytest.mark.parametrize("bad", ["\ud83d alone", "a\x00b", "\udc00"])
async def test_bad_characters_anywhere_do_not_break_a_request(rig: Rig, api: FakeAnthropic, bad: str) -> None:
    history = [PastMessage(Role.USER, bad), PastMessage(Role.ASSISTANT, f"{bad} too")]
    turn = replace(TURN, text=bad, speaker=bad, profile=bad)
    call = ToolCall("toolu_1", "search_memory", {"query": "x"})
    request = asked(history=tuple(history), turn=turn)
    api.script(looking(), text(ANSWER))
    first = await rig.ask(request)
    step = Step(first.content, first.calls, (ToolResult(first.calls[0].id, bad),))

    assert (await rig.ask(replace(request, steps=(step,)))).text == ANSWER
    assert call.name == first.calls[0].name


@pytest.mark.parametrize("words", ["", "  \n "])
async def test_a_message_without_words_is_no_empty_block(rig: Rig, words: str) -> None:
    assert (await rig.ask(asked(words=words))).text


async def test_a_history_with_holes_becomes_one_that_alternates(rig: Rig, api: FakeAnthropic) -> None:
    history = (
        PastMessage(Role.ASSISTANT, "Good morning!"),
        PastMessage(Role.USER, " "),
        PastMessage(Role.USER, "One"),
        PastMessage(Role.USER, "Two"),
        PastMessage(Role.ASSISTANT, ""),
    )

    await rig.ask(asked(history=history))

    [message] = api.asked[0].messages
    assert [block["text"] for block in message["content"]][:2] == ["One", "Two"]


# Parameters that a model may not know


@pytest.mark.parametrize(
    ("message", "left_out"),
    [
        ("output_config.effort: this model does not support effort", {"output_config"}),
        ("cache_control: Extra inputs are not permitted", {"cache_control"}),
        ("Extra inputs are not permitted", {"cache_control", "output_config"}),
    ],
)
async def test_an_optional_parameter_that_is_refused_is_left_out_from_then_on(
    rig: Rig, api: FakeAnthropic, message: str, left_out: set[str]
) -> None:
    api.fail(http_error(400, "invalid_request_error", message))

    await rig.ask(asked())
    await rig.ask(asked())

    offered, *others = [{"cache_control", "output_config"} & set(request.body) for request in api.asked]
    assert offered == {"cache_control", "output_config"}
    assert others == [offered - left_out] * 2
    assert rig.pauses == []


async def test_a_refusal_that_has_other_reasons_costs_no_parameter(rig: Rig, api: FakeAnthropic) -> None:
    api.fail(http_error(400, "invalid_request_error", "messages.0: something else"), times=2)

    with pytest.raises(ModelMisconfigured):
        await rig.events(asked())
    await rig.ask(asked())

    assert "cache_control" in api.asked[-1].body


# Other servers


async def test_a_compatible_server_gets_the_minimum(rig_of: Callable[..., Rig], api: FakeAnthropic) -> None:
    rig = rig_of(profile="compatible")
    api.thinking = False
    api.script(looking(), text(ANSWER))

    result = await rig.turn(asked(("Hello", "Hello!")), limits=Limits(max_steps=2))

    assert result.text == ANSWER
    assert api.refusals == []
    first, last = api.asked
    assert set(first.body) == {"model", "max_tokens", "system", "tools", "messages", "stream"}
    assert first.body["system"] == SYSTEM.strip()
    assert [type(message["content"]) for message in first.messages] == [str, str, str]
    assert set(last.body) == set(first.body)
    assert last.messages[-1]["content"][-1]["text"] == ANSWER_NOW
    assert first.headers["x-api-key"] == api.key


async def test_a_compatible_server_gets_no_thoughts_back(
    rig_of: Callable[..., Rig], api: FakeAnthropic
) -> None:
    rig = rig_of(profile="compatible")
    api.thinking = False
    first = await rig.ask(asked())
    api.script(thinking("Hm.") + looking())
    step = await rig.ask(asked())
    results = tuple(ToolResult(call.id, "nothing") for call in step.calls)
    request = asked(steps=(Step(step.content, step.calls, results),))

    with pytest.raises(ModelMisconfigured):  # the fake wants them, since it signs them
        await rig.events(request)

    assert first.text
    assert "thinking" not in [block["type"] for block in api.asked[-1].messages[1]["content"]]


async def test_a_server_of_one_s_own_may_ask_for_no_key() -> None:
    async with FakeAnthropic(key="none") as api:
        model = ClaudeModel(config.Claude.model_validate({"base_url": api.url, "profile": "compatible"}))
        events = [event async for event in model.stream(asked())]
        await model.close()

    assert shown(events) == "I see."


@pytest.mark.parametrize("key", ["", "  ", "sk ant", "sk-ant-ключ", "sk-ant\n-x"])
def test_a_key_that_cannot_be_one_is_refused_at_the_start_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ClaudeModel(config.Claude.model_validate({"api_key": key}))

    assert "claude.api_key" in str(caught.value)
    assert "sk" not in str(caught.value)


# Ending and logging


async def test_cancelling_passes_through_at_once(rig: Rig, api: FakeAnthropic) -> None:
    hold = api.hold(2)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(rig.turn(asked()))
        await hold.reached()
        running.cancel()

    assert running.cancelled()


async def test_two_chats_stream_side_by_side(rig: Rig, api: FakeAnthropic) -> None:
    hold = api.hold(1, when=lambda request: "slow" in request.words)
    async with asyncio.TaskGroup() as group:
        slow = group.create_task(rig.ask(asked(words="slow one")))
        await hold.reached()
        quick = await rig.ask(asked(words="quick one"))
        hold.release()

    assert quick.text == slow.result().text == "I see."


async def test_no_log_line_holds_the_key_or_what_was_said(
    rig: Rig, api: FakeAnthropic, caplog: pytest.LogCaptureFixture
) -> None:
    api.script(overloaded(), http_error(400, "invalid_request_error", "effort SECRET"), text(ANSWER))

    with caplog.at_level(logging.DEBUG, logger="bot"):
        await rig.turn(asked(words="my PRIVATE words"))

    logged = " ".join(str(vars(record)) for record in caplog.records if record.name.startswith("bot"))
    assert "OverloadedError" in logged
    assert not any(word in logged for word in (api.key, "PRIVATE", "SECRET", ANSWER))


def test_an_environment_variable_cannot_make_the_sdk_log_what_was_said() -> None:
    script = "import logging, bot.claude; print(logging.getLogger('anthropic').getEffectiveLevel())"
    environment = os.environ | {"ANTHROPIC_LOG": "debug"}

    printed = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)

    assert int(printed.stdout) >= logging.WARNING
