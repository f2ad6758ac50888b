"""The `/` commands of the console, each answered with a text."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from zoneinfo import ZoneInfo

from bot.conversation import Conversation
from bot.selection import Everything, Selection, Some, chosen_by, means_all, numbers_in, take_back
from bot.showing import around, speaker_of, why
from bot.texts import date_text, shortened, text, whole_minutes
from memory.search import RELEVANT
from memory.service import MemoryService
from memory.sessions import Sessions
from memory.types import NO_THREAD, Author, Hit, Memory, MemoryType, Query

PAGE = 10
"""Memories in one list."""

NOBODY = Author(0, "")

_YES = ("y", "yes", "д", "да")
_NO = ("n", "no", "н", "нет")
_SEARCH = re.compile(r"search(?:\s+|$)", re.IGNORECASE)


@dataclass(slots=True)
class ConsoleCommands:
    """Works on one chat. What waits for a "yes" is kept between two lines."""

    conversation: Conversation
    memory: MemoryService
    sessions: Sessions
    chat_id: int
    undo: timedelta
    zone: ZoneInfo
    neighbours: int = 1
    author: Author = NOBODY
    _asked: Selection | None = field(default=None, init=False)

    async def run(self, line: str, language: str) -> str | None:
        """Return the answer to a command or to the question a command asked; None for any other line."""
        asked, self._asked = self._asked, None
        if asked and line.casefold() in _YES:
            return await self._forgotten(asked, language)
        if asked and line.casefold() in _NO:
            return text("console-kept", language)
        if not line.startswith("/"):
            return None
        name, _, words = line[1:].partition(" ")
        command = self._commands().get(name.casefold())
        return await command(words.strip(), language) if command else text("console-unknown", language)

    def _commands(self) -> dict[str, Callable[[str, str], Awaitable[str]]]:
        return {
            "help": self._help,
            "start": self._help,
            "new": self._new,
            "memory": self._memories,
            "forget": self._forget,
            "undo": self._undo,
            "stop": self._stop,
        }

    async def _help(self, _: str, language: str) -> str:
        return text("console-help", language)

    async def _new(self, _: str, language: str) -> str:
        closed = await self.sessions.close_session(self.chat_id, NO_THREAD)
        return text("console-new" if closed else "console-new-already", language)

    async def _stop(self, _: str, language: str) -> str:
        stopped = self.conversation.stop(self.chat_id, NO_THREAD)
        return text("console-stopped" if stopped else "console-nothing-to-stop", language)

    async def _memories(self, words: str, language: str) -> str:
        words = _SEARCH.sub("", words, count=1)
        if words and not numbers_in(words):
            return await self._search(words, language)
        return await self._page(max([1, *numbers_in(words)]), language)

    async def _search(self, words: str, language: str) -> str:
        asked = Query(
            self.chat_id,
            words,
            k=PAGE,
            floor=RELEVANT,
            asker=self.author.name,
            zone=self.zone,
            neighbours=self.neighbours,
        )
        hits = await self.memory.search(asked)
        return "\n".join(self._found(hit, language) for hit in hits) or text("console-not-found", language)

    async def _page(self, page: int, language: str) -> str:
        known = await self.memory.count(self.chat_id)
        offset = min(page - 1, max(0, known - 1) // PAGE) * PAGE
        shown = await self.memory.list(self.chat_id, limit=PAGE, offset=offset)
        heading = text("console-memories", language, count=known)
        next_page = offset // PAGE + 2
        more = text("console-more", language, page=next_page) if offset + len(shown) < known else ""
        return "\n".join(filter(None, [heading, self._listed(shown, language), more]))

    async def _forget(self, words: str, language: str) -> str:
        if not words:
            return text("console-forget-what", language)
        if means_all(words):
            self._asked = Everything(self.memory, self.chat_id)
            return text("console-forget-sure-all", language, count=await self.memory.count(self.chat_id))
        chosen = await chosen_by(self.memory, self.chat_id, words)
        if not chosen:
            return text("console-not-found", language)
        some = Some(self.memory, self.chat_id, [memory.id for memory in chosen])
        if len(chosen) == 1 and self.undo:
            return await self._forgotten(some, language)
        self._asked = some
        question = text("console-forget-sure", language, count=len(chosen))
        return f"{self._listed(chosen[:PAGE], language)}\n{question}"

    async def _forgotten(self, chosen: Selection, language: str) -> str:
        receipt = await chosen.forget(self.undo or None)
        if not receipt.purge_at:
            return text("console-forgotten-for-good", language, count=receipt.memories)
        minutes = whole_minutes(self.undo)
        return text("console-forgotten", language, count=receipt.memories, minutes=minutes)

    async def _undo(self, _: str, language: str) -> str:
        restored = await take_back(self.memory, self.chat_id)
        if restored is None:
            return text("console-restored-nothing", language)
        return text("console-restored", language, count=restored.memories)

    def _listed(self, memories: Sequence[Memory], language: str) -> str:
        return "\n".join(self._line(memory, language) for memory in memories)

    def _found(self, hit: Hit, language: str) -> str:
        """A hit, and below it why it was found and what was said around it."""
        below = [why(hit, language, self.author), *around(hit, language)]
        return "\n".join([self._line(hit.memory, language), *(f"{'':7}{line}" for line in below)])

    def _line(self, memory: Memory, language: str) -> str:
        day = date_text(memory.valid_from.astimezone(self.zone).date(), language)
        speaker = speaker_of(memory, language) if memory.type is MemoryType.TURN else ""
        said = f"{speaker}: {memory.text}" if speaker else memory.text
        return f"{memory.id:>5}  {day}  {shortened(said, 160)}"
