"""Thinking blocks are bound to everything that came before them: signing and checking."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.fakes.anthropic.content import Block, Message, blocks_of
from tests.fakes.anthropic.refused import Refused


class Binding:
    """Signs thinking blocks and refuses those that come back altered, dropped or behind another prefix."""

    def __init__(self) -> None:
        self._thoughts: dict[str, list[Block]] = {}  # by the id of a tool call in the same answer

    def sign(self, body: Mapping[str, Any], content: Sequence[Block], thinking: str) -> str:
        """Return the signature of a thought that follows `content` in the answer to `body`."""
        return _signature(body, body["messages"], content, thinking)

    def issued(self, content: Sequence[Block]) -> None:
        """Remember the thoughts of an answer that calls tools: they must come back with the results."""
        thoughts = _thoughts(content)
        for block in content:
            if block["type"] == "tool_use":
                self._thoughts[block["id"]] = thoughts

    def check(self, body: Mapping[str, Any]) -> None:
        """Raises Refused."""
        messages: Sequence[Message] = body["messages"]
        for index, message in enumerate(messages):
            if message["role"] == "assistant":
                self._check_prefix(body, index)
        for index in _tool_loop(messages):
            self._check_complete(messages[index], f"messages.{index}")

    def _check_prefix(self, body: Mapping[str, Any], index: int) -> None:
        before, blocks = body["messages"][:index], blocks_of(body["messages"][index])
        for place, block in enumerate(blocks):
            if block["type"] != "thinking":
                continue
            if block["signature"] != _signature(body, before, blocks[:place], block["thinking"]):
                raise Refused(
                    f"messages.{index}.content.{place}: Invalid `signature` in `thinking` block: "
                    "the block was altered, or what precedes it has changed."
                )

    def _check_complete(self, message: Message, path: str) -> None:
        blocks = blocks_of(message)
        for block in blocks:
            expected = self._thoughts.get(block["id"], []) if block["type"] == "tool_use" else []
            if expected and expected != _thoughts(blocks):
                raise Refused(
                    f"{path}.content: `thinking` blocks in the latest assistant message cannot be "
                    "modified or left out while its tools are being used."
                )


def _tool_loop(messages: Sequence[Message]) -> list[int]:
    """Return the places of the assistant messages that the running tool loop consists of."""
    found = []
    for index in range(len(messages) - 1, 0, -2):
        results = [block for block in blocks_of(messages[index]) if block["type"] == "tool_result"]
        if not results or messages[index - 1]["role"] != "assistant":
            break
        found.append(index - 1)
    return found


def _thoughts(blocks: Sequence[Block]) -> list[Block]:
    return [dict(block) for block in blocks if block["type"] in ("thinking", "redacted_thinking")]


def _signature(
    body: Mapping[str, Any], before: Sequence[Message], content: Sequence[Block], thinking: str
) -> str:
    system = body.get("system", "")
    prefix = {
        "model": body["model"],
        "system": blocks_of({"content": system}) if system else [],
        "tools": body.get("tools", []),
        "messages": _merged(before),
        "content": content,
        "thinking": thinking,
    }
    text = json.dumps(_bare(prefix), sort_keys=True)
    return "Sig" + hashlib.sha256(text.encode()).hexdigest()


def _merged(messages: Sequence[Message]) -> list[tuple[str, list[Block]]]:
    """Neighbours of one role count as one message, as they do for the API."""
    merged: list[tuple[str, list[Block]]] = []
    for message in messages:
        if merged and merged[-1][0] == message["role"]:
            merged[-1][1].extend(blocks_of(message))
        else:
            merged.append((message["role"], blocks_of(message)))
    return merged


def _bare(value: Any) -> Any:
    """Cache breakpoints may move and empty fields may go: they are no part of what is signed."""
    if isinstance(value, Mapping):
        return {
            key: _bare(item) for key, item in value.items() if key != "cache_control" and item is not None
        }
    if isinstance(value, list | tuple):
        return [_bare(item) for item in value]
    return value
