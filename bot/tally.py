"""What a turn has said and done so far, and the result that this makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.ports import ToolResult
from bot.texts import text


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The answer and what the turn did. `text` is never empty.

    `forgotten` are the memories that it hid. A `refused` turn is not to be kept; `cut` says that the answer
    is not whole; `empty` that the model said nothing and `text` stands in its place.
    """

    text: str
    forgotten: tuple[int, ...] = ()
    refused: bool = False
    cut: bool = False
    empty: bool = False


@dataclass(slots=True)
class Tally:
    """Counts up a turn in progress. `said` is the text of its finished steps."""

    language: str
    said: list[str] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return len(self.results)

    def text_with(self, step_text: str) -> str:
        """Return the whole answer so far, the running step's text included."""
        return _joined([*self.said, step_text])

    def answer(self, step_text: str) -> TurnResult:
        """The answer, or where no step has said anything a sentence in its place."""
        if answer := self.text_with(step_text):
            return self._result(answer)
        return replace(self._result(text("loop-empty", self.language)), empty=True)

    def cut(self, step_text: str) -> TurnResult:
        """The answer as far as it came, with the remark that it is not whole."""
        result = self.answer(step_text)
        if not result.empty:
            whole = _joined([closed(result.text), text("loop-cut", self.language)])
            result = replace(result, text=whole)
        return replace(result, cut=True)

    def refused(self) -> TurnResult:
        return replace(self._result(text("loop-refused", self.language)), refused=True)

    def _result(self, answer: str) -> TurnResult:
        return TurnResult(
            answer, forgotten=tuple(memory_id for result in self.results for memory_id in result.forgotten)
        )


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(stripped for text in texts if (stripped := text.strip()))


def closed(answer: str) -> str:
    """Close a code block that a cut left open, so that what follows is no code."""
    fences = sum(line.lstrip().startswith("```") for line in answer.splitlines())
    return f"{answer}\n```" if fences % 2 else answer
