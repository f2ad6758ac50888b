"""What /forget is about: some memories of a chat, or all that it has left."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from memory.errors import MemoryNotFound
from memory.service import MemoryService
from memory.types import Memory, Receipt, Status

_NUMBERS = re.compile(r"(?:[#№]\s?)?\d{1,18}(?:[\s,]+(?:[#№]\s?)?\d{1,18})*\.?")
_ALL = ("all", "everything", "все", "всё")


@dataclass(frozen=True, slots=True)
class Some:
    """Some memories."""

    memory: MemoryService
    chat_id: int
    ids: Collection[int]

    async def forget(self, undo: timedelta | None) -> Receipt:
        return await self.memory.forget(self.chat_id, self.ids, undo=undo)


@dataclass(frozen=True, slots=True)
class Everything:
    """All memories, and the words of all messages."""

    memory: MemoryService
    chat_id: int

    async def forget(self, undo: timedelta | None) -> Receipt:
        return await self.memory.forget_all(self.chat_id, undo=undo)


Selection: TypeAlias = Some | Everything


def means_all(words: str) -> bool:
    """Tell whether a person asks for everything, in either language."""
    return words.strip().casefold() in _ALL


def numbers_in(words: str) -> list[int]:
    """Return the numbers of memories where a person names nothing else: "12", "#1, 2", "№ 3."."""
    return [int(number) for number in re.findall(r"\d+", words)] if _NUMBERS.fullmatch(words.strip()) else []


async def chosen_by(memory: MemoryService, chat_id: int, words: str) -> Sequence[Memory]:
    """Return the active memories that are meant: those with these numbers, or those with these words."""
    found = [await active(memory, chat_id, number) for number in numbers_in(words)]
    return [each for each in found if each is not None] or await memory.matching(chat_id, words)


async def active(memory: MemoryService, chat_id: int, memory_id: int) -> Memory | None:
    """Return a memory that search can find, or ``None``."""
    try:
        found = await memory.get(chat_id, memory_id)
    except MemoryNotFound:
        return None
    return found if found.status == Status.ACTIVE else None


async def take_back(memory: MemoryService, chat_id: int) -> Receipt | None:
    """Undo the last forget, whoever did it; ``None`` when there is none that can be undone."""
    last = await memory.last_forgotten(chat_id)
    return await memory.restore(chat_id, last) if last else None
