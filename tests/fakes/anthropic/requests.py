"""What was sent to the fake model, and readers of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came; ``body`` is empty when it was no JSON object."""

    path: str
    body: Mapping[str, Any]
    raw: bytes
    headers: Mapping[str, str]

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        return list(self.body.get("messages", ()))

    @property
    def tool_names(self) -> list[str]:
        return [str(tool["name"]) for tool in self.body.get("tools", ())]

    @property
    def words(self) -> str:
        """Everything sent, escapes resolved, for "this was never sent" checks."""
        return json.dumps(self.body, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool of the bot answered."""

    id: str
    text: str
    is_error: bool


def last_user_text(request: Request) -> str:
    """Return all text of the last message that answers no tool, blocks joined by line breaks."""
    return "\n".join(_last_words(request))


def last_user_words(request: Request) -> str:
    """Return only its last text block: what the person wrote, without the context before it."""
    return next(reversed(_last_words(request)), "")


def tool_results(request: Request) -> list[Result]:
    """Return the results in the very last message; none unless the request goes on after a tool call."""
    content = request.messages[-1]["content"] if request.messages else ""
    if isinstance(content, str):
        return []
    return [
        Result(block["tool_use_id"], "\n".join(_texts(block.get("content", ""))), bool(block.get("is_error")))
        for block in content
        if block["type"] == "tool_result"
    ]


def tool_rounds(request: Request) -> int:
    """Return how often tools have run since the person wrote."""
    rounds = 0
    for message in reversed(request.messages):
        if message["role"] == "user" and not _answers_tools(message):
            break
        rounds += message["role"] == "user"
    return rounds


def _last_words(request: Request) -> list[str]:
    for message in reversed(request.messages):
        if message["role"] == "user" and not _answers_tools(message):
            return _texts(message["content"])
    return []


def _answers_tools(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    return not isinstance(content, str) and any(block["type"] == "tool_result" for block in content)


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content] if content else []
    blocks = content if isinstance(content, Sequence) else ()
    return [block["text"] for block in blocks if block["type"] == "text"]
