"""What the fake model says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from tests.fakes.anthropic.faults import Fault, StreamFault
from tests.fakes.anthropic.requests import Request


@dataclass(frozen=True, slots=True)
class Text:
    """Words to be shown."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Thoughts; the server signs them when they are sent."""

    thinking: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A wish to run a tool. ``id`` is made by the server when empty; ``cut`` stops inside the arguments."""

    name: str
    input: Mapping[str, Any]
    id: str = ""
    cut: bool = False


Block: TypeAlias = Text | Thinking | ToolUse


@dataclass(frozen=True, slots=True)
class Answer:
    """One response. ``stop_reason`` follows from the blocks when it is empty; answers add up by ``+``."""

    blocks: tuple[Block, ...]
    stop_reason: str = ""
    stop_details: Mapping[str, Any] | None = None
    fault: StreamFault | None = None

    def __add__(self, other: Answer) -> Answer:
        return replace(
            other, blocks=self.blocks + other.blocks, stop_reason=other.stop_reason or self.stop_reason
        )

    def stopped(self, reason: str) -> Answer:
        """Return the same answer with another stop reason, an unknown one included."""
        return replace(self, stop_reason=reason)

    def broken(self, fault: StreamFault) -> Answer:
        """Return an answer that goes wrong on its way and is used up by that."""
        return replace(self, fault=fault)

    @property
    def reason(self) -> str:
        tools = any(isinstance(block, ToolUse) for block in self.blocks)
        return self.stop_reason or ("tool_use" if tools else "end_turn")


Brain: TypeAlias = Callable[[Request], Answer | Fault]


def text(words: str) -> Answer:
    return Answer((Text(words),))


def thinking(thoughts: str = "") -> Answer:
    """Thoughts; empty ones are what models send whose thinking is not displayed."""
    return Answer((Thinking(thoughts),))


def tool_use(name: str, arguments: Mapping[str, Any], call_id: str = "") -> Answer:
    return Answer((ToolUse(name, arguments, call_id),))


def json_answer(value: object) -> Answer:
    """An answer to a request for structured output."""
    return text(json.dumps(value, ensure_ascii=False))


def empty() -> Answer:
    """No content at all with end_turn, as happens after tool results."""
    return Answer((), "end_turn")


def refusal(words: str = "", category: str | None = None) -> Answer:
    blocks = (Text(words),) if words else ()
    details = {"type": "refusal", "category": category, "explanation": "Declined by policy."}
    return Answer(blocks, "refusal", details)


def cut_tool_use(name: str, arguments: Mapping[str, Any]) -> Answer:
    """A tool call that max_tokens cuts in the middle of its arguments."""
    return Answer((ToolUse(name, arguments, cut=True),), "max_tokens")
