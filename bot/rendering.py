"""A request of the loop as the body of a Messages API call, in the vendor's full form or a minimal one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, TypeAlias

from bot.ports import ModelRequest, PastMessage, Step, ToolResult, ToolSpec
from bot.prompts import ANSWER_NOW, turn_context, words_of
from memory.text import clean
from memory.types import Role

Block: TypeAlias = dict[str, Any]
Body: TypeAlias = dict[str, Any]

OPTIONAL = frozenset({"cache_control", "output_config", "tool_choice", "thinking"})
"""Parameters that a model may not know; an answer is possible without them.

"thinking" stands for the thoughts of earlier steps that are sent back: it is no parameter of ours.
"""
EPHEMERAL: Mapping[str, str] = {"type": "ephemeral"}
NO_WORDS = "(a message without text)"
NO_RESULT = "(no output)"
THOUGHTS = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class Said:
    """What the model said in one step, verbatim, and the fingerprint of all that stood before it."""

    blocks: tuple[Block, ...]
    prefix: str


@dataclass(frozen=True, slots=True)
class Style:
    """How a server wants its requests. A `plain` one gets the minimum that all of them understand."""

    model: str
    effort: str = "low"
    optional: frozenset[str] = OPTIONAL
    plain: bool = False

    def sends(self, parameter: str) -> bool:
        return not self.plain and parameter in self.optional

    def without(self, parameters: frozenset[str]) -> Style:
        """Return the style that leaves these out too; the same one where nothing is left to leave out."""
        return self if self.plain else replace(self, optional=self.optional - parameters)


def render(request: ModelRequest, style: Style) -> Body:
    """Return the body of a call.

    Equal requests give equal bytes, and one that continues another begins with its bytes, or the prompt
    cache is lost.
    """
    body: Body = {"model": style.model, "max_tokens": request.max_tokens}
    if style.sends("cache_control"):
        body["cache_control"] = EPHEMERAL
    if style.sends("output_config"):
        body["output_config"] = {"effort": style.effort}
    body["system"] = _system(request.system, style)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in sorted(request.tools, key=lambda tool: tool.name)]
        if not request.tools_allowed and style.sends("tool_choice"):
            body["tool_choice"] = {"type": "none"}
    body["messages"] = _messages(request, style)
    return body


def said(blocks: Sequence[Block], request: ModelRequest, style: Style) -> Said:
    """Return the content of a step for the request that it answers."""
    return Said(tuple(blocks), _fingerprint(request, style.model))


def _system(system: str, style: Style) -> str | list[Block]:
    text = clean(system)
    return [_marked(_text(text))] if style.sends("cache_control") else text


def _tool(tool: ToolSpec) -> Block:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}


def _messages(request: ModelRequest, style: Style) -> list[Block]:
    history = [_message(past.role, _text(past.text)) for past in _spoken(request.history)]
    if history and style.sends("cache_control"):
        # What follows is new in every turn: without this mark no turn would find what the last one cached.
        history[-1]["content"] = [_marked(block) for block in history[-1]["content"]]
    turn = [
        _text(turn_context(request.turn)),
        _text(words_of(request.turn.text, request.turn.origin) or NO_WORDS),
    ]
    steps = request.steps
    if not _is_replayable(request, style):
        turn.insert(1, _text(_retold(steps)))
        steps = tuple(Step(None, note=step.note) for step in steps)
    messages = [*history, _message(Role.USER, *turn)]
    for step in steps:
        messages.extend(_step(step, style))
    if not request.tools_allowed and not style.sends("tool_choice"):
        messages.append(_message(Role.USER, _text(ANSWER_NOW)))
    return _plain(_merged(messages)) if style.plain else _merged(messages, only=Role.USER)


def _spoken(history: Sequence[PastMessage]) -> Iterator[PastMessage]:
    """The messages with words in them, from the first one of a person on."""
    begun = False
    for past in history:
        words = clean(past.text)
        begun = begun or (past.role is Role.USER and bool(words))
        if begun and words:
            yield PastMessage(past.role, words)


def _step(step: Step, style: Style) -> Iterator[Block]:
    """The assistant's message verbatim, then one message with every result first, in the order of calls."""
    if isinstance(step.content, Said):
        blocks = [block for block in step.content.blocks if not (style.plain and _is_thought(block))]
        if blocks:
            yield _message(Role.ASSISTANT, *blocks)
    after = [_result(result) for result in step.results]
    if step.note:
        after.append(_text(step.note))
    if after:
        yield _message(Role.USER, *after)


def _result(result: ToolResult) -> Block:
    block = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": clean(result.text) or NO_RESULT,
    }
    return block | {"is_error": True} if result.is_error else block


def _is_replayable(request: ModelRequest, style: Style) -> bool:
    """Whether the steps can be sent back as they were.

    Thoughts are signed over all that stood before them: behind a history that was shortened in the meantime,
    or sent to another model, they are refused, and so is the step without them.
    """
    fingerprint = _fingerprint(request, style.model)
    return all(
        isinstance(step.content, Said)
        and (
            style.plain
            or not any(map(_is_thought, step.content.blocks))
            or (style.sends("thinking") and step.content.prefix == fingerprint)
        )
        for step in request.steps
        if step.content is not None
    )


def _is_thought(block: Block) -> bool:
    return block.get("type") in THOUGHTS


def _retold(steps: Sequence[Step]) -> str:
    """Say in words what the steps have brought, for a prompt that cannot hold the steps themselves."""
    lines = ["<done>"]
    for step in steps:
        blocks = step.content.blocks if isinstance(step.content, Said) else ()
        lines += [_element("said", block["text"]) for block in blocks if block.get("type") == "text"]
        results = {result.call_id: result.text for result in step.results}
        for call in step.calls:
            arguments = json.dumps(dict(call.arguments), ensure_ascii=False, sort_keys=True)
            lines.append(_element("tool", f"{call.name} {arguments}: {results.get(call.id, NO_RESULT)}"))
    return "\n".join([*lines, "</done>"])


def _element(name: str, words: str) -> str:
    return f"<{name}>{escape(clean(words), quote=False)}</{name}>"


def _fingerprint(request: ModelRequest, model: str) -> str:
    """Identify what stands before the steps of a request."""
    tools = [(tool.name, tool.description, tool.schema) for tool in request.tools]
    history = [(past.role, past.text) for past in request.history]
    before = [model, request.system, tools, history, turn_context(request.turn), request.turn.text]
    return hashlib.sha256(json.dumps(before, sort_keys=True).encode()).hexdigest()


def _message(role: Role, *blocks: Block) -> Block:
    return {"role": role.value, "content": list(blocks)}


def _text(words: str) -> Block:
    return {"type": "text", "text": words}


def _marked(block: Block) -> Block:
    return block | {"cache_control": EPHEMERAL}


def _merged(messages: Sequence[Block], only: Role | None = None) -> list[Block]:
    """Put neighbours of one role, or of this one role, into one message."""
    merged: list[Block] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"] and only in (None, message["role"]):
            merged[-1]["content"] += message["content"]
        else:
            merged.append(message)
    return merged


def _plain(messages: Sequence[Block]) -> list[Block]:
    """Write a content that is only text as one string, which every server understands."""
    return [message | {"content": _string(message["content"]) or message["content"]} for message in messages]


def _string(blocks: Sequence[Block]) -> str:
    is_text = all(block["type"] == "text" for block in blocks)
    return "\n\n".join(block["text"] for block in blocks) if is_text else ""
