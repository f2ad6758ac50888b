"""Warm copies of the chats that were asked last, each as it is in SQL at the moment of the question."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

from memory.chat_copy import ChatCopy
from memory.chat_held import Held, first_held, has_room, next_held, with_room, with_words
from memory.chat_reading import News, read_all, read_news
from memory.database import Database

P = ParamSpec("P")
T = TypeVar("T")

_LARGE = 10_000
"""What goes through more postings or rows than that is done in a thread."""

_WORN = 64
"""Dead rows that are never worth reading a chat anew."""


class ChatCopies:
    """Copies of whole chats within a limit of memory; those asked longest ago are dropped."""

    def __init__(self, database: Database, model_id: Callable[[], str], *, limit_bytes: int) -> None:
        """`model_id` names the model whose vectors are read.

        A chat whose vectors alone take more than `limit_bytes` is kept without them, and the chat that was
        asked last is always kept.
        """
        self.hits = self.misses = 0
        self.bytes = 0
        """How much memory all copies take, estimated for the words and exact for all else."""
        self._database = database
        self._model_id = model_id
        self._limit_bytes = limit_bytes
        self._held: OrderedDict[int, Held] = OrderedDict()
        # A lock is there as long as somebody holds it or waits for it.
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    async def get(self, chat_id: int) -> ChatCopy:
        """Return the chat as it is in SQL now, the same copy as long as nothing changes. Raises StorageError.

        One read transaction; what it costs depends on this chat alone.
        """
        async with self._locks.setdefault(chat_id, asyncio.Lock()):
            held = await self._up_to_date(chat_id)
            self._keep(chat_id, held)
        return held.copy

    def drop(self, chat_id: int | None = None) -> None:
        """Let the copy of a chat go, or all of them; the next question reads it anew."""
        for each in [*self._held] if chat_id is None else [chat_id]:
            if held := self._held.pop(each, None):
                self.bytes -= held.nbytes

    async def _up_to_date(self, chat_id: int) -> Held:
        """Bring what is held up to date or read the chat anew; cancelled anywhere, it leaves no trace."""
        held, model_id = self._held.get(chat_id), self._model_id()
        async with self._database.read() as conn:
            news = None
            if held and not _is_worn(held.copy):
                news = await read_news(conn, held.copy, held.columns.revisions, model_id)
            if held and news is not None:
                self.hits += 1
            else:
                self.misses += 1
                read = await read_all(conn, chat_id, model_id, self._limit_bytes)
        if held and news is not None:
            return await self._following(held, news) if news else held
        return await _done(len(read.words), first_held, chat_id, read)

    async def _following(self, held: Held, news: News) -> Held:
        old = held.copy
        work = old.words.work_to_add(len(news.words))
        words = await _done(work, with_words, old.words, news.columns.ids, news.words, len(old))
        to_copy = 0 if has_room(held, news) else len(old)
        return next_held(await _done(to_copy, with_room, held, news, self._limit_bytes), news, words)

    def _keep(self, chat_id: int, held: Held) -> None:
        if held is not self._held.get(chat_id):
            self.drop(chat_id)
            self._held[chat_id] = held
            self.bytes += held.nbytes
        self._held.move_to_end(chat_id)
        while len(self._held) > 1 and self.bytes > self._limit_bytes:
            self.drop(next(iter(self._held)))


async def _done(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do work on so many postings or rows, in a thread where it would hold up the event loop."""
    return work(*args, **kwargs) if size < _LARGE else await asyncio.to_thread(work, *args, **kwargs)


def _is_worn(copy: ChatCopy) -> bool:
    """Whether most of it is dead."""
    return copy.dead > max(_WORN, len(copy) // 2)
