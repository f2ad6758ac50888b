"""The tool loop: one turn from request to answer, over any model, within limits, an end for every stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from bot.context import shrunk
from bot.ports import (
    ChatModel,
    Completed,
    ModelRequest,
    ModelUnavailable,
    PromptTooLong,
    Restarted,
    Step,
    Stop,
    TextDelta,
    ToolCall,
    ToolResult,
)
from bot.prompts import CONTINUE, GO_ON
from bot.tally import Tally, TurnResult
from memory.usage import Usage

__all__ = ["Limits", "Tools", "TurnResult", "run_turn"]

log = logging.getLogger(__name__)

MOST_OUTPUT_TOKENS = 64_000
TOOL_SECONDS = 30.0
TOOLS_SHARE_OF_TIME = 2 / 3
"""After this part of the time no more tools are run, so that some is left for the answer."""
MOST_SHRINKS = 8

OnText: TypeAlias = Callable[[str], Awaitable[None]]
OnTool: TypeAlias = Callable[[ToolCall], Awaitable[None]]
OnUsage: TypeAlias = Callable[[Usage], None]


class Tools(Protocol):
    """What the loop needs of a toolbox."""

    async def run(self, call: ToolCall) -> ToolResult: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What one turn may take: rounds with the model, tools run, and seconds in all."""

    max_steps: int = 6
    max_calls: int = 12
    turn_seconds: float = 240.0


async def run_turn(
    model: ChatModel,
    request: ModelRequest,
    toolbox: Tools,
    *,
    limits: Limits,
    on_text: OnText,
    on_tool: OnTool,
    on_usage: OnUsage,
) -> TurnResult:
    """Talk with the model and run its tools until there is an answer.

    `on_text` gets the whole answer so far, which may differ in its end from what it got before; `on_tool`
    comes before each tool, `on_usage` after each call, whatever becomes of the turn. Raises ModelError where
    there is no answer at all; cancelling passes through.
    """
    return await _Turn(model, request, toolbox, limits, on_text, on_tool, on_usage).run()


class _Turn:
    """A turn in progress. Each row of `_ON_STOP` either returns the result or prepares the next call."""

    def __init__(
        self,
        model: ChatModel,
        request: ModelRequest,
        toolbox: Tools,
        limits: Limits,
        on_text: OnText,
        on_tool: OnTool,
        on_usage: OnUsage,
    ) -> None:
        self._model = model
        self._request = request
        self._toolbox = toolbox
        self._limits = limits
        self._on_text = on_text
        self._on_tool = on_tool
        self._on_usage = on_usage
        self._started = asyncio.get_running_loop().time()
        self._tally = Tally(request.turn.language)
        self._nudged = False
        self._enlarged = False
        self._shrinks = 0

    async def run(self) -> TurnResult:
        while True:
            if self._is_last_step():
                self._request = replace(self._request, tools_allowed=False)
            completed = await self._call()
            if completed.usage:
                self._on_usage(completed.usage)
            if (result := await _ON_STOP[completed.stop](self, completed)) is not None:
                return result

    def _is_last_step(self) -> bool:
        return (
            len(self._request.steps) >= self._limits.max_steps - 1
            or self._tally.calls >= self._limits.max_calls
            or self._elapsed() > self._limits.turn_seconds * TOOLS_SHARE_OF_TIME
        )

    async def _call(self) -> Completed:
        """Stream one call. Too long a prompt, and time that runs out, come back as stops."""
        shown: list[str] = []
        try:
            async with asyncio.timeout_at(self._started + self._limits.turn_seconds):
                return await self._stream(shown)
        except PromptTooLong:
            return Completed("", (), Stop.TOO_LONG, content=None)
        except TimeoutError:
            log.warning("a turn ran out of time", extra={"chat_id": self._request.chat_id})
            return Completed("".join(shown), (), Stop.CUT, content=None)

    async def _stream(self, shown: list[str]) -> Completed:
        events = self._model.stream(self._request)
        try:
            async for event in events:
                match event:
                    case TextDelta(text=delta):
                        shown.append(delta)
                        await self._show("".join(shown))
                    case Restarted():
                        shown.clear()
                    case Completed():
                        return event
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()
        return Completed("".join(shown), (), Stop.CUT, content=None)

    async def _show(self, step_text: str) -> None:
        if answer := self._tally.text_with(step_text):
            await self._on_text(answer)

    async def on_end(self, completed: Completed) -> TurnResult | None:
        if completed.text.strip():
            return self._tally.answer(completed.text)
        if not self._nudged:
            self._nudged = True
            self._next(Step(None, note=CONTINUE))
            return None
        return self._tally.answer("")

    async def on_tools(self, completed: Completed) -> TurnResult | None:
        if not completed.calls or not self._request.tools_allowed:
            return await self.on_end(completed)
        results = [await self._run_tool(call) for call in completed.calls]
        self._finish_step(completed, results)
        return None

    async def on_length(self, completed: Completed) -> TurnResult | None:
        """Cut inside a text: that is the answer. Cut inside a tool's arguments or in thought: once more."""
        whole_text = completed.text.strip() and not completed.calls
        larger = min(2 * self._request.max_tokens, MOST_OUTPUT_TOKENS)
        if whole_text or self._enlarged or larger <= self._request.max_tokens:
            return self._tally.cut(completed.text)
        self._enlarged = True
        self._request = replace(self._request, max_tokens=larger)
        return None

    async def on_pause(self, completed: Completed) -> TurnResult | None:
        if not self._request.tools_allowed:
            return self._tally.answer(completed.text)
        # Should a paused answer hold a call, its id still needs a result.
        self._finish_step(completed, [_not_run(call) for call in completed.calls], note=GO_ON)
        return None

    async def on_refusal(self, completed: Completed) -> TurnResult:
        del completed  # what was written before a refusal is not to be used
        return self._tally.refused()

    async def on_too_long(self, completed: Completed) -> TurnResult | None:
        smaller = shrunk(self._request) if self._shrinks < MOST_SHRINKS else None
        if smaller is not None:
            self._shrinks += 1
            self._request = smaller
            return None
        if self._tally.text_with(completed.text):
            return self._tally.cut(completed.text)
        raise PromptTooLong(
            "The message is too long for the model's context window; send less of it at once."
        )

    async def on_cut(self, completed: Completed) -> TurnResult:
        if self._tally.text_with(completed.text):
            return self._tally.cut(completed.text)
        raise ModelUnavailable("The model did not answer in time; try again in a moment.")

    async def _run_tool(self, call: ToolCall) -> ToolResult:
        """Run a tool; whatever goes wrong in it becomes a result, since each call needs one."""
        if self._tally.calls >= self._limits.max_calls:
            result = _not_run(call)
        else:
            await self._on_tool(call)
            result = await self._guarded(call)
        self._tally.results.append(result)
        return result

    async def _guarded(self, call: ToolCall) -> ToolResult:
        try:
            async with asyncio.timeout(TOOL_SECONDS):
                return await self._toolbox.run(call)
        except Exception as error:  # noqa: BLE001  the boundary of the tools
            log.error("a tool failed", extra={"tool": call.name, "error": type(error).__name__})
            words = "The tool failed and nothing is known to have changed. Answer without it and say so."
            return ToolResult(call.id, words, is_error=True, broken=True)

    def _finish_step(self, completed: Completed, results: Sequence[ToolResult], note: str = "") -> None:
        self._tally.said.append(completed.text)
        self._next(Step(completed.content, completed.calls, tuple(results), note))

    def _next(self, step: Step) -> None:
        self._request = replace(self._request, steps=(*self._request.steps, step))

    def _elapsed(self) -> float:
        return asyncio.get_running_loop().time() - self._started


_ON_STOP: Mapping[Stop, Callable[[_Turn, Completed], Awaitable[TurnResult | None]]] = {
    Stop.END: _Turn.on_end,
    Stop.TOOLS: _Turn.on_tools,
    Stop.LENGTH: _Turn.on_length,
    Stop.PAUSE: _Turn.on_pause,
    Stop.REFUSAL: _Turn.on_refusal,
    Stop.TOO_LONG: _Turn.on_too_long,
    Stop.CUT: _Turn.on_cut,
}
"""What each stop means: every member of `Stop` has its row."""


def _not_run(call: ToolCall) -> ToolResult:
    words = "Not run: this turn has used up its tool calls. Answer now with what you have."
    return ToolResult(call.id, words, is_error=True)
