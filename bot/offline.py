"""The brain without a key: a memory notebook that keeps what it is told and answers with what it was told."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import count

from bot.intents import Ask, Intent, Note, Talk, intent_of
from bot.ports import (
    Completed,
    ModelEvent,
    ModelRequest,
    Stop,
    TextDelta,
    ToolCall,
    ToolResult,
    TurnInput,
)
from bot.texts import date_text, shortened, text
from bot.tool_arguments import MAX_QUERY_CHARS
from memory.cues import ends_asking
from memory.ranking import RELEVANT
from memory.types import Hit, Memory, MemoryType, Origin

SHOWN_HITS = 3
SHOWN_CHARS = 400
"""Characters of one memory in an answer."""
CLEAR_LEAD = 0.6
"""A hit whose score is below this share of the best one's is left out: it would only blur the answer."""

_ORIGIN_KEYS = {
    Origin.DOCUMENT: "offline-memory-document",
    Origin.ASSISTANT: "offline-memory-assistant",
    Origin.DERIVED: "offline-memory-assistant",
    Origin.FORWARDED: "offline-memory-forwarded",
}


class OfflineModel:
    """A `ChatModel` that works through the same tools as any other, and is free."""

    def __init__(self) -> None:
        self._numbers = count(1)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer from the words of the turn alone; the history plays no part. Raises nothing."""
        decided = self._decide(request)
        if isinstance(decided, ToolCall):
            yield Completed("", (decided,), Stop.TOOLS, content=decided)
            return
        for piece in _pieces(decided):
            yield TextDelta(piece)
        yield Completed(decided, (), Stop.END, content=decided)

    def _decide(self, request: ModelRequest) -> str | ToolCall:
        turn = request.turn
        intent = intent_of(turn.text, turn.origin)
        if request.steps:
            return _report(turn, intent, _answered(request))
        match intent:
            case Talk(key=key):
                return text(key, turn.language)
            case Note(content=content, type=kind) if request.tools_allowed:
                return self._call("save_to_memory", content=content, type=kind.value)
            case Note():
                return text("offline-not-saved", turn.language)
            case Ask(topic=topic) if not turn.recalled and request.tools_allowed:
                return self._call("search_memory", query=topic[:MAX_QUERY_CHARS])
            case Ask():
                return _recollection(turn, intent, turn.recalled)

    def _call(self, name: str, **arguments: str) -> ToolCall:
        return ToolCall(f"offline-{next(self._numbers)}", name, arguments)


def _answered(request: ModelRequest) -> list[tuple[ToolCall, ToolResult]]:
    """Pair the calls of this turn with their results, by id."""
    results = {result.call_id: result for step in request.steps for result in step.results}
    calls = [call for step in request.steps for call in step.calls]
    return [(call, results[call.id]) for call in calls if call.id in results]


def _report(turn: TurnInput, intent: Intent, answered: Sequence[tuple[ToolCall, ToolResult]]) -> str:
    """Say what the tools did, by what code returned; a save without a record id is none."""
    saves = [_saved(turn, call, result) for call, result in answered if call.name == "save_to_memory"]
    if saves:
        return "\n".join(saves)
    searches = [result for call, result in answered if call.name == "search_memory"]
    if searches and all(result.is_error for result in searches):
        return text("offline-search-failed", turn.language)
    hits = [hit for result in searches for hit in result.hits if hit.score.relevance >= RELEVANT]
    return _recollection(turn, intent, hits)


def _saved(turn: TurnInput, call: ToolCall, result: ToolResult) -> str:
    if result.is_error or result.memory_id is None:
        return text("offline-storage" if result.broken else "offline-not-saved", turn.language)
    key = "offline-saved" if result.created else "offline-known"
    content = shortened(str(call.arguments["content"]), SHOWN_CHARS)
    return text(key, turn.language, id=result.memory_id, text=content)


def _recollection(turn: TurnInput, intent: Intent, hits: Sequence[Hit]) -> str:
    """The memories that answer, best first, each with its date and who said it."""
    everything = isinstance(intent, Ask) and intent.everything
    lines = [_line(turn, hit.memory) for hit in _clearest(hits)]
    shown = "\n".join(lines if len(lines) == 1 else [f"- {line}" for line in lines])
    pointer = text("offline-everything", turn.language) if everything else ""
    return "\n\n".join(part for part in (shown, pointer) if part) or text("offline-nothing", turn.language)


def _clearest(hits: Sequence[Hit]) -> Sequence[Hit]:
    telling = [hit for hit in hits if _tells(hit.memory)]
    best = max((hit.score.relevance for hit in telling), default=0.0)
    return [hit for hit in telling if hit.score.relevance >= CLEAR_LEAD * best][:SHOWN_HITS]


def _tells(memory: Memory) -> bool:
    """Whether it says anything: an earlier question or answer of the same conversation does not."""
    if memory.type is not MemoryType.TURN:
        return True
    return memory.origin is Origin.PERSON and not ends_asking(memory.text)


def _line(turn: TurnInput, memory: Memory) -> str:
    day = date_text(memory.valid_from.astimezone(turn.now.tzinfo).date(), turn.language)
    key = _ORIGIN_KEYS.get(memory.origin) or _said_key(turn, memory)
    return text(
        key,
        turn.language,
        date=day,
        text=shortened(memory.text, SHOWN_CHARS),
        **{name: value for name, value in _names(memory).items() if value},
    )


def _said_key(turn: TurnInput, memory: Memory) -> str:
    if not memory.speaker:
        return "offline-memory-unsigned"
    return "offline-memory-yours" if memory.speaker == turn.speaker else "offline-memory"


def _names(memory: Memory) -> dict[str, str]:
    return {"speaker": memory.speaker, "document": memory.document}


def _pieces(answer: str) -> Iterator[str]:
    """Cut an answer into a few words at a time, as it would be written; joined they are the answer."""
    yield from re.findall(r"(?:\S+\s*){1,6}|\s+", answer)
