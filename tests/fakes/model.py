"""A model that follows a script; a test reads as the dialogue that it plays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from bot.ports import Completed, ModelEvent, ModelRequest, Restarted, Stop, TextDelta, ToolCall
from memory.usage import Usage

USAGE = Usage("scripted", input_tokens=100, cache_read_tokens=50, output_tokens=10, cost_usd=0.001)


@dataclass(frozen=True, slots=True)
class Saying:
    """One answer. `broken` are the beginnings of it that were yielded before a stream broke."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    stop: Stop = Stop.END
    broken: tuple[str, ...] = ()
    usage: Usage | None = USAGE
    wait: Callable[[], Awaitable[object]] | None = None


Line: TypeAlias = Saying | Exception | Callable[[ModelRequest], Saying]
"""What the model does when it is asked: say something, fail, or say what follows from the request."""


def says(text: str, stop: Stop = Stop.END) -> Saying:
    return Saying(text, stop=stop)


def wants(name: str, /, *, saying: str = "", stop: Stop = Stop.TOOLS, **arguments: Any) -> Saying:
    """An answer that calls a tool; `also` adds another call to it."""
    return Saying(saying, ((name, arguments),), stop)


def also(first: Saying, name: str, /, **arguments: Any) -> Saying:
    return replace(first, calls=(*first.calls, (name, arguments)))


def restarts(*beginnings: str, then: Saying) -> Saying:
    """An answer whose stream breaks after each of the beginnings."""
    return replace(then, broken=beginnings)


def hangs(text: str, wait: Callable[[], Awaitable[object]]) -> Saying:
    """An answer that stops after `text` until `wait` returns."""
    return Saying(text, wait=wait)


class ScriptedModel:
    """A `ChatModel` for tests. `requests` are those that it got; `closed` counts streams that were ended."""

    def __init__(self, *script: Line) -> None:
        self.requests: list[ModelRequest] = []
        self.closed = 0
        self._script = list(script)
        self._calls = 0

    @property
    def left(self) -> int:
        """How many lines of the script were not played."""
        return len(self._script)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Play the next line. Raises AssertionError where the script has ended."""
        self.requests.append(request)
        assert self._script, (
            f"the model was asked a time more than its script has lines: {request.steps[-1:]}"
        )
        line = self._script.pop(0)
        if isinstance(line, Exception):
            raise line
        saying = line if isinstance(line, Saying) else line(request)
        try:
            for event in self._events(saying):
                yield event
            if saying.wait:
                await saying.wait()
            yield self._completed(saying)
        finally:
            self.closed += 1

    def _events(self, saying: Saying) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        for beginning in saying.broken:
            events += [TextDelta(beginning), Restarted()]
        half = len(saying.text) // 2
        return events + [TextDelta(piece) for piece in (saying.text[:half], saying.text[half:]) if piece]

    def _completed(self, saying: Saying) -> Completed:
        calls = []
        for name, arguments in saying.calls:
            self._calls += 1
            calls.append(ToolCall(f"call-{self._calls}", name, arguments))
        return Completed(saying.text, tuple(calls), saying.stop, content=saying, usage=saying.usage)
