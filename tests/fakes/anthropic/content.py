"""What the Messages API refuses in messages: roles, empty blocks, pairs of tool use and result, images."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.fakes.anthropic.refused import Refused

Message = Mapping[str, Any]
Block = Mapping[str, Any]

CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
KEYS = {
    "text": {"type", "text", "cache_control", "citations"},
    "image": {"type", "source", "cache_control", "transformations"},
    "document": {"type", "source", "cache_control", "citations", "context", "title"},
    "tool_use": {"type", "id", "name", "input", "cache_control", "caller", "toolset_name"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
}
ALLOWED = {
    "user": {"text", "image", "document", "tool_result"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
    "system": {"text"},
}
MAX_IMAGE = 10 * 1024 * 1024


def check_messages(messages: object, *, has_tools: bool) -> None:
    """Refuse messages that break a rule. Raises Refused."""
    if not isinstance(messages, list) or not messages:
        raise Refused("messages: at least one message is required")
    for index, message in enumerate(messages):
        _check_message(message, f"messages.{index}")
    _check_order(messages)
    _check_pairs(messages)
    if not has_tools and any(_of(message, "tool_use", "tool_result") for message in messages):
        raise Refused("Requests which include `tool_use` or `tool_result` blocks must define tools")


def check_text_block(block: object, path: str) -> None:
    """Refuse anything but a text block with visible text."""
    if not isinstance(block, Mapping) or block.get("type") != "text":
        raise Refused(f"{path}: Input should be a text block")
    _check_keys(block, path)
    _check_words(block.get("text"), path)


def blocks_of(message: Message) -> list[Block]:
    """Return the content as blocks, however it was written."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _check_message(message: object, path: str) -> None:
    if not isinstance(message, Mapping):
        raise Refused(f"{path}: Input should be a valid dictionary")
    for key in message.keys() - {"role", "content"}:
        raise Refused(f"{path}.{key}: Extra inputs are not permitted")
    role, content = message.get("role"), message.get("content")
    if role not in ALLOWED:
        raise Refused(f"{path}.role: Input should be 'user', 'assistant' or 'system'")
    if not isinstance(content, str | list):
        raise Refused(f"{path}.content: Input should be a valid string or list")
    if not content:
        raise Refused(f"{path}: all messages must have non-empty content")
    if isinstance(content, str):
        _check_words(content, path)
        return
    for index, block in enumerate(content):
        _check_block(block, role, f"{path}.content.{index}")


def _check_block(block: object, role: str, path: str) -> None:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(block, Mapping) or kind not in ALLOWED[role]:
        raise Refused(f"{path}: {kind!r} blocks are not permitted in {role} messages")
    _check_keys(block, path)
    match kind:
        case "text":
            _check_words(block.get("text"), path)
            if role == "user" and block.get("citations"):
                raise Refused(f"{path}.text.citations: not permitted in user messages")
        case "image":
            _check_image(block.get("source"), path)
        case "tool_use":
            _check_tool_use(block, path)
        case "tool_result":
            _check_tool_result(block, path)
        case "thinking":
            if not isinstance(block.get("thinking"), str) or not block.get("signature"):
                raise Refused(f"{path}.thinking.signature: Field required")


def _check_keys(block: Block, path: str) -> None:
    for key in block.keys() - KEYS[block["type"]]:
        raise Refused(f"{path}.{block['type']}.{key}: Extra inputs are not permitted")


def _check_words(words: object, path: str) -> None:
    if not isinstance(words, str):
        raise Refused(f"{path}.text: Input should be a valid string")
    if not words:
        raise Refused(f"{path}: text content blocks must be non-empty")
    if not words.strip():
        raise Refused(f"{path}: text content blocks must contain non-whitespace text")


def _check_tool_use(block: Block, path: str) -> None:
    if not isinstance(block.get("id"), str) or not CALL_ID.fullmatch(block["id"]):
        raise Refused(f"{path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not isinstance(block.get("input"), Mapping):
        raise Refused(f"{path}.tool_use.input: Input should be a valid dictionary")
    if not isinstance(block.get("name"), str) or not 1 <= len(block["name"]) <= 200:
        raise Refused(f"{path}.tool_use.name: String should have at least 1 character")


def _check_tool_result(block: Block, path: str) -> None:
    if not isinstance(block.get("tool_use_id"), str):
        raise Refused(f"{path}.tool_result.tool_use_id: Field required")
    if not isinstance(block.get("is_error", False), bool):
        raise Refused(f"{path}.tool_result.is_error: Input should be a valid boolean")
    content = block.get("content", "")
    if block.get("is_error") and not content:
        raise Refused(f"{path}.tool_result: content cannot be empty if `is_error` is true")
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if part.get("type") == "image":
            _check_image(part.get("source"), f"{path}.content.{index}")
        else:
            check_text_block(part, f"{path}.content.{index}")


def _check_order(messages: Sequence[Message]) -> None:
    if messages[0]["role"] != "user":
        raise Refused('messages: first message must use the "user" role')
    roles = [message["role"] for message in messages]
    for index, role in enumerate(roles):
        after = roles[index + 1] if index + 1 < len(roles) else "assistant"
        if role == "system" and (roles[index - 1] != "user" or after != "assistant"):
            raise Refused(f"messages.{index}: a system message must follow a user message and end its turn")
    if roles[-1] == "assistant":
        raise Refused(
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )


def _check_pairs(messages: Sequence[Message]) -> None:
    ids = [call["id"] for message in messages for call in _of(message, "tool_use")]
    if len(set(ids)) < len(ids):
        raise Refused("messages: `tool_use` ids must be unique")
    called: list[str] = []
    for index, message in enumerate(messages):
        _check_results(message, called, f"messages.{index}")
        called = [call["id"] for call in _of(message, "tool_use")]


def _check_results(message: Message, called: list[str], path: str) -> None:
    """Compare the results of one message with the calls of the message just before it."""
    answered = [result["tool_use_id"] for result in _of(message, "tool_result")]
    for call_id in answered:
        if call_id not in called:
            raise Refused(
                f"{path}.content: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if answered.count(call_id) > 1:
            raise Refused(
                f"{path}.content: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {call_id}"
            )
    if missing := [call_id for call_id in called if call_id not in answered]:
        raise Refused(
            f"{path}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}."
        )
    kinds = [block["type"] for block in blocks_of(message)]
    if answered and set(kinds[: len(answered)]) != {"tool_result"}:
        raise Refused(f"{path}.content: `tool_result` blocks must come first in the content")


def _of(message: Message, *kinds: str) -> list[Block]:
    return [block for block in blocks_of(message) if block["type"] in kinds]


def _check_image(source: object, path: str) -> None:
    if not isinstance(source, Mapping) or source.get("type") not in ("base64", "url", "file"):
        raise Refused(f"{path}.image.source: Field required")
    if source["type"] != "base64":
        return
    declared = source.get("media_type")
    if declared not in ("image/jpeg", "image/png", "image/gif", "image/webp"):
        raise Refused(f"{path}.image.source.base64.media_type: Input should be a supported image type")
    try:
        data = base64.b64decode(str(source.get("data", "")), validate=True)
    except binascii.Error:
        raise Refused(f"{path}.image.source.base64.data: Invalid base64 data") from None
    if len(str(source.get("data", ""))) > MAX_IMAGE:
        raise Refused(f"{path}.image.source.base64: image exceeds 10 MB maximum")
    found = _sniff(data)
    if found is None:
        raise Refused(f"{path}.image.source.base64.data: Could not process image")
    if found != declared:
        raise Refused(
            f"{path}.image.source.base64.data: Image does not match the provided media type {declared}"
        )


def _sniff(data: bytes) -> str | None:
    starts = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png", b"GIF8": "image/gif"}
    for magic, kind in starts.items():
        if data.startswith(magic):
            return kind
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None
