"""What /forget is about: some memories of a chat, or all that it has left."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from memory.errors import MemoryNotFound
from memory.service import MemoryService
from memory.types import Memory, Receipt, Status

_ALL = ("all", "everything", "все", "всё")


@dataclass(frozen=True, slots=True)
class Some:
    """Some memories.

    What a process was killed over, before it could say so, may be done again: the second time must say the
    same.
    """

    memory: MemoryService
    chat_id: int
    ids: Collection[int]

    async def forget(self, undo: timedelta | None) -> Receipt:
        receipt = await self.memory.forget(self.chat_id, self.ids, undo=undo)
        if not receipt.memories and await self.memory.restore(self.chat_id, self.ids):
            receipt = await self.memory.forget(self.chat_id, self.ids, undo=undo)
        return receipt

    async def restore(self) -> int:
        if restored := await self.memory.restore(self.chat_id, self.ids):
            return restored
        return sum([await active(self.memory, self.chat_id, each) is not None for each in self.ids])


@dataclass(frozen=True, slots=True)
class Everything:
    """All memories, and the words of all messages."""

    memory: MemoryService
    chat_id: int

    async def forget(self, undo: timedelta | None) -> Receipt:
        return await self.memory.forget_all(self.chat_id, undo=undo)

    async def restore(self) -> int:
        return await self.memory.restore_all(self.chat_id) or await self.memory.count(self.chat_id)


Selection: TypeAlias = Some | Everything


def means_all(words: str) -> bool:
    """Tell whether a person asks for everything, in either language."""
    return words.strip().casefold() in _ALL


async def active(memory: MemoryService, chat_id: int, memory_id: int) -> Memory | None:
    """Return a memory that search can find, or ``None``."""
    try:
        found = await memory.get(chat_id, memory_id)
    except MemoryNotFound:
        return None
    return found if found.status == Status.ACTIVE else None
