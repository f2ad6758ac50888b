"""The tool loop: an answer for every stop, tools within limits, no text twice and none in silence."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest

from bot.loop import _ON_STOP, Limits, TurnResult, run_turn
from bot.ports import (
    ModelRequest,
    ModelUnavailable,
    PastMessage,
    PromptTooLong,
    Stop,
    ToolCall,
    ToolResult,
    TurnInput,
)
from bot.prompts import CONTINUE
from bot.texts import text
from bot.tool_arguments import TOOL_SPECS
from memory.types import Role
from memory.usage import Usage
from tests.fakes.model import Line, Saying, ScriptedModel, also, hangs, restarts, says, wants
from tests.fakes.reply import CollectedReply

NOW = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
CUT = text("loop-cut", "en")
EMPTY = text("loop-empty", "en")
REFUSED = text("loop-refused", "en")


class RecordingTools:
    """Answers every call and remembers it; "broken" raises, "saves" stores memory 7, "knows" knows 8."""

    def __init__(self) -> None:
        self.ran: list[ToolCall] = []

    async def run(self, call: ToolCall) -> ToolResult:
        self.ran.append(call)
        if call.name == "broken":
            raise RuntimeError("secret path /home/somebody")
        stored = {"saves": 7, "knows": 8}.get(call.name)
        forgotten = (9,) if call.name == "forgets" else ()
        return ToolResult(
            call.id,
            f"{call.name} done",
            memory_id=stored,
            created=call.name != "knows",
            forgotten=forgotten,
        )


def request(*, turns: int = 0, language: str = "en") -> ModelRequest:
    history = [
        message
        for number in range(turns)
        for message in (
            PastMessage(Role.USER, f"question {number}"),
            PastMessage(Role.ASSISTANT, f"answer {number}"),
        )
    ]
    turn = TurnInput("What is new?", "Ann", NOW, NOW, language, profile="", recalled=())
    return ModelRequest(1, "system", TOOL_SPECS, tuple(history), turn, max_tokens=1000)


class Played:
    """A turn that was played, with everything that it left behind."""

    def __init__(
        self, *script: Line, limits: Limits | None = None, asked: ModelRequest | None = None
    ) -> None:
        self.model = ScriptedModel(*script)
        self.tools = RecordingTools()
        self.reply = CollectedReply()
        self.usages: list[Usage] = []
        self._limits = limits or Limits()
        self._asked = asked or request()

    async def run(self) -> TurnResult:
        return await run_turn(
            self.model,
            self._asked,
            self.tools,
            limits=self._limits,
            on_text=self.reply.write,
            on_tool=self._note,
            on_usage=self.usages.append,
        )

    async def _note(self, call: ToolCall) -> None:
        await self.reply.note(call.name)

    @property
    def names(self) -> list[str]:
        return [call.name for call in self.tools.ran]

    @property
    def last(self) -> ModelRequest:
        return self.model.requests[-1]


def test_every_stop_has_a_row_in_the_table() -> None:
    assert set(_ON_STOP) == set(Stop)


async def test_text_at_the_end_is_the_answer_and_is_shown_as_it_comes() -> None:
    turn = Played(says("Nothing much."))

    result = await turn.run()

    assert result.text == "Nothing much."
    assert turn.reply.written == ["Nothin", "Nothing much."]
    assert (result.refused, result.cut, result.empty) == (False, False, False)


async def test_an_empty_end_is_asked_once_to_continue_without_the_empty_turn_being_repeated() -> None:
    turn = Played(says("  \n"), says("Here I am."))

    result = await turn.run()

    assert result.text == "Here I am."
    [nudge] = turn.last.steps
    assert (nudge.content, nudge.note) == (None, CONTINUE)


@pytest.mark.parametrize("language", ["en", "ru"])
async def test_an_end_that_stays_empty_becomes_one_sentence(language: str) -> None:
    turn = Played(says(""), says(""), asked=request(language=language))

    result = await turn.run()

    assert result.text == text("loop-empty", language)
    assert result.empty
    assert turn.model.left == 0


async def test_an_empty_end_after_tools_keeps_the_pairs_of_calls_and_results_whole() -> None:
    turn = Played(wants("search"), says(""), says("Found it."))

    result = await turn.run()

    assert result.text == "Found it."
    searched, nudge = turn.last.steps
    assert [answer.call_id for answer in searched.results] == [call.id for call in searched.calls]
    assert nudge.calls == ()


async def test_tools_are_run_in_order_with_one_result_for_each_call() -> None:
    turn = Played(also(also(wants("a"), "b", x=1), "a"), says("Done."))

    result = await turn.run()

    assert result.text == "Done."
    assert turn.names == ["a", "b", "a"] == turn.reply.notes
    [step] = turn.last.steps
    assert [answer.call_id for answer in step.results] == [call.id for call in step.calls]
    assert [answer.text for answer in step.results] == ["a done", "b done", "a done"]


async def test_the_content_of_a_step_goes_back_to_the_model_as_it_came() -> None:
    first = wants("a", saying="One moment.")
    turn = Played(first, says("Done."))

    await turn.run()

    assert turn.last.steps[0].content is first


async def test_texts_of_several_steps_are_joined_by_a_blank_line() -> None:
    turn = Played(wants("a", saying="Let me look. "), says("Found it."))

    result = await turn.run()

    assert result.text == "Let me look.\n\nFound it."
    assert turn.reply.text == result.text


async def test_a_failing_tool_gives_an_error_result_without_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    turn = Played(also(wants("broken"), "a"), says("It did not work."))

    with caplog.at_level(logging.DEBUG):
        result = await turn.run()

    assert result.text == "It did not work."
    failed, fine = turn.last.steps[0].results
    assert failed.is_error
    assert not fine.is_error
    assert "secret" not in failed.text + caplog.text
    assert caplog.records[0].__dict__["error"] == "RuntimeError"


async def test_the_result_tells_what_was_forgotten() -> None:
    turn = Played(also(wants("saves"), "forgets"), says("Done."))

    assert (await turn.run()).forgotten == (9,)


async def test_what_each_call_cost_is_told_even_when_a_later_one_fails() -> None:
    turn = Played(wants("a"), says(""), ModelUnavailable("away"))

    with pytest.raises(ModelUnavailable):
        await turn.run()

    assert len(turn.usages) == 2


@pytest.mark.parametrize("stop", [stop for stop in Stop if stop is not Stop.TOOLS])
async def test_tools_run_only_when_the_model_stopped_for_them(stop: Stop) -> None:
    turn = Played(*[wants("saves", saying="Saving it.", stop=stop)] * 9)

    result = await turn.run()

    assert turn.tools.ran == []
    assert result.text


async def test_a_stop_for_tools_without_a_call_counts_as_an_end() -> None:
    assert (await Played(says("All right.", Stop.TOOLS)).run()).text == "All right."


async def test_a_call_cut_by_the_length_is_thrown_away_and_asked_for_again_with_more_room() -> None:
    turn = Played(
        wants("saves", saying="I will sa", stop=Stop.LENGTH),
        wants("saves", content="tea"),
        says("Saved."),
    )

    result = await turn.run()

    assert result.text == "Saved."
    assert [call.arguments for call in turn.tools.ran] == [{"content": "tea"}]
    assert [asked.max_tokens for asked in turn.model.requests] == [1000, 2000, 2000]
    assert turn.model.requests[1].steps == ()


async def test_a_call_that_is_cut_twice_is_never_run_and_the_answer_says_that_it_is_cut() -> None:
    turn = Played(*[wants("saves", saying="I will save it.", stop=Stop.LENGTH)] * 2)

    result = await turn.run()

    assert result.text == f"I will save it.\n\n{CUT}"
    assert result.cut
    assert turn.tools.ran == []


async def test_a_text_cut_by_the_length_is_the_answer_with_a_mark() -> None:
    turn = Played(says("Once upon a ti", Stop.LENGTH))

    result = await turn.run()

    assert result.text == f"Once upon a ti\n\n{CUT}"
    assert result.cut


async def test_the_mark_does_not_stand_inside_of_an_open_code_block() -> None:
    result = await Played(says("Look:\n```python\nprint(", Stop.LENGTH)).run()

    assert result.text == f"Look:\n```python\nprint(\n```\n\n{CUT}"


async def test_a_length_used_up_by_thinking_is_tried_once_more_and_then_said() -> None:
    turn = Played(*[says("", Stop.LENGTH)] * 2)

    result = await turn.run()

    assert result.text == EMPTY
    assert result.cut
    assert result.empty


async def test_the_room_for_an_answer_does_not_grow_beyond_what_servers_take() -> None:
    turn = Played(says("", Stop.LENGTH), asked=replace(request(), max_tokens=64_000))

    assert (await turn.run()).text == EMPTY


async def test_a_paused_answer_is_handed_back_and_continued() -> None:
    paused = says("First half.", Stop.PAUSE)
    turn = Played(paused, says("Second half."))

    result = await turn.run()

    assert result.text == "First half.\n\nSecond half."
    [step] = turn.last.steps
    assert (step.content, step.results) == (paused, ())


async def test_a_call_in_a_paused_answer_gets_a_result_though_it_is_not_run() -> None:
    turn = Played(wants("saves", stop=Stop.PAUSE), says("Done."))

    await turn.run()

    [step] = turn.last.steps
    assert [answer.call_id for answer in step.results] == [call.id for call in step.calls]
    assert step.results[0].is_error


async def test_a_model_that_only_pauses_comes_to_an_end() -> None:
    turn = Played(*[says("Wait.", Stop.PAUSE)] * 3, limits=Limits(max_steps=3))

    assert (await turn.run()).text == "Wait.\n\nWait.\n\nWait."


async def test_a_refusal_is_told_and_marked_so_that_the_turn_is_not_kept() -> None:
    turn = Played(says("Well, you co", Stop.REFUSAL))

    result = await turn.run()

    assert result.text == REFUSED
    assert result.refused
    assert turn.model.left == 0


async def test_a_prompt_that_is_too_long_is_halved_until_it_fits() -> None:
    turn = Played(
        PromptTooLong("too long"),
        says("so fa", Stop.TOO_LONG),
        says("It fits."),
        asked=request(turns=8),
    )

    result = await turn.run()

    assert result.text == "It fits."
    assert [len(asked.history) for asked in turn.model.requests] == [16, 8, 4]
    assert all(asked.history[0].role is Role.USER for asked in turn.model.requests)


async def test_a_prompt_that_is_too_long_without_any_history_is_an_error_of_its_kind() -> None:
    with pytest.raises(PromptTooLong) as caught:
        await Played(PromptTooLong("too long")).run()

    assert caught.value.kind == "too-long"


async def test_a_context_that_fills_up_while_answering_leaves_the_text_with_a_mark() -> None:
    result = await Played(says("As far as this", Stop.TOO_LONG)).run()

    assert result.text == f"As far as this\n\n{CUT}"


async def test_a_cut_stream_with_text_is_an_answer_with_a_mark() -> None:
    result = await Played(says("Half of", Stop.CUT)).run()

    assert result.text == f"Half of\n\n{CUT}"


async def test_a_cut_stream_without_text_means_that_the_model_is_away() -> None:
    with pytest.raises(ModelUnavailable):
        await Played(says("", Stop.CUT)).run()


async def test_a_stream_that_begins_anew_replaces_its_text_instead_of_repeating_it() -> None:
    turn = Played(wants("a", saying="Looking."), restarts("I found th", "I fo", then=says("I found three.")))

    result = await turn.run()

    assert result.text == "Looking.\n\nI found three."
    assert turn.reply.text == result.text
    assert not any("I found thI" in shown or shown.count("I fo") > 1 for shown in turn.reply.written)


async def test_the_last_step_has_no_tools_so_that_there_is_always_an_answer() -> None:
    turn = Played(wants("a"), wants("a"), says("That is all."), limits=Limits(max_steps=3))

    result = await turn.run()

    assert result.text == "That is all."
    assert [asked.tools_allowed for asked in turn.model.requests] == [True, True, False]
    assert turn.last.tools == TOOL_SPECS


async def test_a_model_that_calls_tools_all_the_same_is_asked_once_for_words() -> None:
    turn = Played(wants("a"), wants("a"), says("Sorry, here it is."), limits=Limits(max_steps=2))

    result = await turn.run()

    assert result.text == "Sorry, here it is."
    assert turn.names == ["a"]


async def test_a_model_that_wants_nothing_but_tools_ends_in_a_sentence() -> None:
    turn = Played(*[wants("a")] * 3, limits=Limits(max_steps=2))

    assert (await turn.run()).text == EMPTY
    assert turn.names == ["a"]


async def test_calls_beyond_the_limit_are_answered_but_not_run() -> None:
    turn = Played(also(also(wants("a"), "b"), "c"), says("Enough."), limits=Limits(max_calls=2))

    await turn.run()

    assert turn.names == ["a", "b"]
    assert [answer.is_error for answer in turn.last.steps[0].results] == [False, False, True]
    assert not turn.last.tools_allowed


async def test_when_time_runs_out_what_was_written_is_the_answer() -> None:
    turn = Played(hangs("Half an ans", asyncio.Event().wait), limits=Limits(turn_seconds=0.05))

    result = await turn.run()

    assert result.text == f"Half an ans\n\n{CUT}"
    assert turn.model.closed == 1


async def test_when_time_runs_out_in_silence_the_model_counts_as_away() -> None:
    with pytest.raises(ModelUnavailable):
        await Played(hangs("", asyncio.Event().wait), limits=Limits(turn_seconds=0.05)).run()


async def test_when_little_time_is_left_no_more_tools_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.loop.TOOLS_SHARE_OF_TIME", 0.0)
    turn = Played(says("Quick."))

    result = await turn.run()

    assert result.text == "Quick."
    assert not turn.last.tools_allowed


async def test_cancelling_passes_through_and_ends_the_stream() -> None:
    reached = asyncio.Event()

    async def wait() -> None:
        reached.set()
        await asyncio.Event().wait()

    turn = Played(hangs("Half", wait))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(turn.run())
        await reached.wait()
        running.cancel()

    assert running.cancelled()
    assert turn.model.closed == 1


async def test_cancelling_inside_of_a_tool_passes_through() -> None:
    reached = asyncio.Event()

    class SlowTools(RecordingTools):
        async def run(self, call: ToolCall) -> ToolResult:
            reached.set()
            await asyncio.Event().wait()
            return cast(ToolResult, None)

    turn = Played(wants("a"))
    turn.tools = SlowTools()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(turn.run())
        await reached.wait()
        running.cancel()

    assert running.cancelled()


async def test_an_error_of_the_model_passes_through_after_tools_too() -> None:
    turn = Played(wants("saves"), ModelUnavailable("away"))

    with pytest.raises(ModelUnavailable):
        await turn.run()


async def test_nothing_is_shown_for_blank_text() -> None:
    turn = Played(Saying(" \n ", stop=Stop.END), says("Now."))

    await turn.run()

    assert all(shown.strip() for shown in turn.reply.written)
