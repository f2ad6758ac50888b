"""A message as the API sends it: whole, or as server-sent events in small pieces."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.anthropic.answers import Answer, Block, Text, Thinking, ToolUse
from tests.fakes.anthropic.binding import Binding
from tests.fakes.anthropic.cache import Counted, tokens_of

TEXT_PIECE = 12
JSON_PIECE = 7


@dataclass(frozen=True, slots=True)
class Event:
    """One event as bytes. Faults are counted in deltas of text and of arguments."""

    payload: bytes
    is_delta: bool = False


def render(
    answer: Answer, body: Mapping[str, Any], counted: Counted, binding: Binding, ids: itertools.count[int]
) -> dict[str, Any]:
    """Turn an answer into the message of the API, with ids, signatures and usage."""
    content: list[dict[str, Any]] = []
    for block in answer.blocks:
        content.append(_block(block, body, content, binding, ids))
    binding.issued(content)
    return {
        "id": f"msg_{next(ids):024d}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": answer.reason,
        "stop_sequence": None,
        "stop_details": answer.stop_details,
        "usage": _usage(answer, counted),
    }


def events(message: Mapping[str, Any], answer: Answer) -> Iterator[Event]:
    """Yield the stream of a message."""
    usage = message["usage"]
    start = {**message, "content": [], "stop_reason": None, "stop_details": None}
    yield _event("message_start", message={**start, "usage": {**usage, "output_tokens": 1}})
    if not answer.blocks:
        yield _event("ping")
    for index, (block, source) in enumerate(zip(message["content"], answer.blocks, strict=True)):
        yield _event("content_block_start", index=index, content_block=_opened(block))
        if index == 0:
            yield _event("ping")
        for delta in _deltas(block, source):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    delta = {key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    yield _event("message_delta", delta=delta, usage=_totals(usage))
    yield _event("message_stop")


def error_payload(error: Mapping[str, Any]) -> bytes:
    return _event("error", error=dict(error)).payload


def _block(
    block: Block,
    body: Mapping[str, Any],
    before: Sequence[Mapping[str, Any]],
    binding: Binding,
    ids: itertools.count[int],
) -> dict[str, Any]:
    match block:
        case Text(words):
            return {"type": "text", "text": words, "citations": None}
        case Thinking(thoughts):
            signature = binding.sign(body, before, thoughts)
            return {"type": "thinking", "thinking": thoughts, "signature": signature}
        case ToolUse(name, arguments, call_id, cut):
            call_id = call_id or f"toolu_{next(ids):022d}"
            return {"type": "tool_use", "id": call_id, "name": name, "input": {} if cut else dict(arguments)}


def _usage(answer: Answer, counted: Counted) -> dict[str, Any]:
    output = sum(tokens_of(_words(block)) for block in answer.blocks) + 2
    return {
        "input_tokens": counted.rest,
        "cache_read_input_tokens": counted.read,
        "cache_creation_input_tokens": counted.written,
        "cache_creation": {"ephemeral_5m_input_tokens": counted.written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
    }


def _totals(usage: Mapping[str, Any]) -> dict[str, Any]:
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    return {name: usage[name] for name in names}


def _words(block: Block) -> str:
    match block:
        case Text(words) | Thinking(words):
            return words
        case ToolUse(name, arguments):
            return name + json.dumps(dict(arguments), ensure_ascii=False)


def _opened(block: Mapping[str, Any]) -> dict[str, Any]:
    empty = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: empty.get(key, value) for key, value in block.items()}


def _deltas(block: Mapping[str, Any], source: Block) -> Iterator[dict[str, Any]]:
    match source:
        case Text(words):
            for piece in _cut(words, TEXT_PIECE):
                yield {"type": "text_delta", "text": piece}
        case Thinking(thoughts):
            for piece in _cut(thoughts, TEXT_PIECE):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case ToolUse(_, arguments):
            written = json.dumps(dict(arguments), ensure_ascii=False)
            yield {"type": "input_json_delta", "partial_json": ""}
            for piece in _cut(written[: len(written) * 2 // 3] if source.cut else written, JSON_PIECE):
                yield {"type": "input_json_delta", "partial_json": piece}


def _cut(words: str, size: int) -> list[str]:
    return [words[start : start + size] for start in range(0, len(words), size)]


def _event(name: str, **data: Any) -> Event:
    line = json.dumps({"type": name, **data}, ensure_ascii=False)
    delta = data.get("delta", {})
    return Event(
        f"event: {name}\ndata: {line}\n\n".encode(),
        bool(delta.get("text") or delta.get("partial_json")),
    )
