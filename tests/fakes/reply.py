"""A reply that collects what a person would see."""

from __future__ import annotations


class CollectedReply:
    """A `Reply` for tests: `written` and `notes` as they came, `finished` the answers delivered."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.notes: list[str] = []
        self.finished: list[str] = []

    @property
    def text(self) -> str:
        """What is shown now: the final answer, else what was written last."""
        return (self.finished or self.written or [""])[-1]

    async def write(self, text: str) -> None:
        self.written.append(text)

    async def note(self, text: str) -> None:
        self.notes.append(text)

    async def finish(self, text: str) -> None:
        self.finished.append(text)
