"""What fits into a request: token estimates, and a history that is trimmed in big steps."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.ports import ModelRequest, PastMessage, ToolSpec, TurnInput
from bot.prompts import turn_context
from memory.text import clean
from memory.tokens import estimate_tokens
from memory.types import Role

MESSAGE_OVERHEAD_TOKENS = 4
HISTORY_SHARE = 2 / 3
"""The part of what system prompt and tools leave over that history may fill; the rest is for the turn."""
MESSAGE_SHARE = 1 / 4
"""The part of the history's budget that one message may fill; of a longer one head and tail are kept."""

_GAP = "\n[…]\n"


def build_request(
    chat_id: int,
    system: str,
    tools: Sequence[ToolSpec],
    history: Sequence[PastMessage],
    turn: TurnInput,
    *,
    context_tokens: int,
    max_tokens: int,
) -> ModelRequest:
    """Return the request of a turn, with as much of `history` (oldest first) as `context_tokens` allow."""
    room = max(0, context_tokens - _fixed_tokens(system, tools))
    budget = int(room * HISTORY_SHARE)
    window, turn_tokens = trimmed_history(history, budget), _turn_tokens(turn)
    while window and _tokens(window) + turn_tokens > room:  # a long turn takes its room for this once
        window = _later_half(window)
    return ModelRequest(chat_id, system, tuple(tools), window, turn, max_tokens=max_tokens)


def trimmed_history(history: Sequence[PastMessage], budget_tokens: int) -> tuple[PastMessage, ...]:
    """Return the end of `history` that fits, as pairs that begin with the person, without empty texts.

    The start moves only when the budget is exceeded, and then so far that half of it is free again: between
    two such steps each history continues the last one byte for byte, so that the prompt cache holds. The
    result depends on `history` and budget alone.
    """
    window: deque[tuple[PastMessage, ...]] = deque()
    total = 0
    for pair in _turns(_shortened(message, int(budget_tokens * MESSAGE_SHARE)) for message in history):
        window.append(pair)
        total += _tokens(pair)
        if total > budget_tokens:
            while total > budget_tokens / 2:
                total -= _tokens(window.popleft())
    return tuple(message for pair in window for message in pair)


def shrunk(request: ModelRequest) -> ModelRequest | None:
    """Return the request with half of its history, then without what was recalled, then None."""
    if request.history:
        return replace(request, history=_later_half(request.history))
    if request.turn.recalled:
        return replace(request, turn=replace(request.turn, recalled=()))
    return None


def _later_half(history: Sequence[PastMessage]) -> tuple[PastMessage, ...]:
    """Return about the later half, beginning with the person; always less than there was."""
    later = list(history[(len(history) + 1) // 2 :])
    while later and later[0].role is not Role.USER:
        del later[0]
    return tuple(later)


def _turns(messages: Iterator[PastMessage]) -> Iterator[tuple[PastMessage, ...]]:
    """Group messages into turns: what the person says and the answers to it, each merged into one text."""
    turn: list[PastMessage] = []
    for message in messages:
        if not message.text or (not turn and message.role is not Role.USER):
            continue
        if turn and turn[-1].role is message.role:
            turn[-1] = PastMessage(message.role, f"{turn[-1].text}\n\n{message.text}")
        elif message.role is Role.USER and turn:
            yield tuple(turn)
            turn = [message]
        else:
            turn.append(message)
    if turn:
        yield tuple(turn)


def _shortened(message: PastMessage, most_tokens: int) -> PastMessage:
    text = clean(message.text)
    tokens = estimate_tokens(text)
    if tokens > most_tokens > 0:
        half = int(len(text) * most_tokens / tokens) // 2
        text = f"{text[:half].rstrip()}{_GAP}{text[len(text) - half :].lstrip()}"
    return PastMessage(message.role, text)


def _tokens(messages: Sequence[PastMessage]) -> int:
    return sum(estimate_tokens(message.text) + MESSAGE_OVERHEAD_TOKENS for message in messages)


def _turn_tokens(turn: TurnInput) -> int:
    return estimate_tokens(turn_context(turn)) + estimate_tokens(turn.text)


def _fixed_tokens(system: str, tools: Sequence[ToolSpec]) -> int:
    schemas = (json.dumps(tool.schema, ensure_ascii=False) for tool in tools)
    return estimate_tokens(system) + sum(
        estimate_tokens(f"{tool.name} {tool.description} {schema}")
        for tool, schema in zip(tools, schemas, strict=True)
    )
