"""The adapter of the Messages API at the strict fake, with what its tests ask and read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bot import config
from bot.claude import ClaudeModel
from bot.context import build_request
from bot.loop import Limits, TurnResult, run_turn
from bot.ports import (
    Completed,
    ModelEvent,
    ModelRequest,
    PastMessage,
    Restarted,
    TextDelta,
    ToolCall,
    ToolResult,
    TurnInput,
)
from bot.prompts import SYSTEM
from bot.tool_arguments import TOOL_SPECS
from memory.types import Role
from tests.fakes.anthropic import (
    Answer,
    FakeAnthropic,
    tool_use,
)
from tests.fakes.reply import CollectedReply

NOW = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
ANSWER = "Your dog is called Biscuit, since March."
TURN = TurnInput("What is my dog called?", "Ann", NOW, NOW, "en", profile="", recalled=())


class Rig:
    """A model at the fake server. `pauses` are the waits between tries, which take no time here."""

    def __init__(self, api: FakeAnthropic, **settings: Any) -> None:
        self.api = api
        self.pauses: list[float] = []
        wanted = {"api_key": api.key, "base_url": api.url, "timeout_seconds": 30} | settings
        self.model = ClaudeModel(config.Claude.model_validate(wanted), pause=self._pause, chance=lambda: 0.0)

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def ask(self, request: ModelRequest) -> Completed:
        """Return the end of the stream, after checking that the text before it agrees."""
        events = await self.events(request)
        completed = events[-1]
        assert isinstance(completed, Completed)
        assert shown(events).strip() == completed.text.strip()
        return completed

    async def events(self, request: ModelRequest) -> list[ModelEvent]:
        return [event async for event in self.model.stream(request)]

    async def turn(self, request: ModelRequest, *, limits: Limits | None = None) -> TurnResult:
        self.reply = CollectedReply()
        return await run_turn(
            self.model,
            request,
            EchoTools(),
            limits=limits or Limits(),
            on_text=self.reply.write,
            on_tool=lambda call: self.reply.note(call.name),
            on_usage=lambda _: None,
        )


class EchoTools:
    async def run(self, call: ToolCall) -> ToolResult:
        return ToolResult(call.id, f"{call.name} says {call.arguments}", is_error=not call.arguments)


def shown(events: Sequence[ModelEvent]) -> str:
    """What a person sees at the end: a restart takes back what came before it."""
    seen = ""
    for event in events:
        match event:
            case TextDelta(text=delta):
                seen += delta
            case Restarted():
                seen = ""
            case Completed():
                pass
    return seen


def asked(*history: tuple[str, str], words: str = TURN.text, **more: Any) -> ModelRequest:
    past = [
        PastMessage(role, said)
        for question, answer in history
        for role, said in ((Role.USER, question), (Role.ASSISTANT, answer))
    ]
    turn = replace(TURN, text=words)
    request = build_request(7, SYSTEM, TOOL_SPECS, past, turn, context_tokens=60_000, max_tokens=2000)
    return replace(request, **more)


def looking(words: str = "dog") -> Answer:
    return tool_use("search_memory", {"query": words})
