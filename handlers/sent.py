"""Which messages show an answer: kept in SQL, so that a restart edits them instead of sending others."""

from __future__ import annotations

import logging
from itertools import count, islice
from typing import Protocol

from bot.notices import Notices
from memory.errors import StorageError
from memory.types import Message

log = logging.getLogger(__name__)


class SentStore(Protocol):
    """Where it is kept which messages show an answer; `memory.sessions.Sessions` does it."""

    async def message_by_source(self, chat_id: int, source: str) -> Message | None: ...
    async def outgoing(self, chat_id: int, message_id: int) -> list[int]: ...
    async def record_outgoing(self, chat_id: int, message_id: int, part: int, platform_id: int) -> None: ...
    async def clear_outgoing(self, chat_id: int, message_id: int, *, from_part: int = 0) -> None: ...


def channel_of(bot_id: int) -> str:
    """Return what the sources of a bot's messages begin with: each bot counts its messages from 1."""
    return f"tg:{bot_id}"


def on_its_way(after: int) -> int:
    """Return what stands for the id of a message that is being sent, and will have one above `after`.

    After a crash it may be in the chat, or not.
    """
    return -after


class SentParts:
    """The messages that show the answer to one question, kept so that a restart edits them."""

    def __init__(self, store: SentStore, notices: Notices, chat_id: int, source: str) -> None:
        self._store = store
        self._notices = notices
        self._chat_id = chat_id
        self._source = source

    async def load(self) -> list[int]:
        """Return the ids of what an earlier attempt has sent, by part; see `on_its_way` for others."""
        question = await self._question()
        return [] if question is None else await self._store.outgoing(self._chat_id, question)

    async def free(self, after: int, limit: int) -> list[int]:
        """Return the first ids above `after` of which nobody knows what they are. Raises StorageError."""
        taken = await self._notices.taken(after, await self._question() or 0)
        return list(islice((each for each in count(after + 1) if each not in taken), limit))

    async def record(self, part: int, platform_id: int) -> None:
        """Keep one id. A fault is only logged: it matters after a crash, and the answer matters now."""
        try:
            if (question := await self._question()) is not None:
                await self._store.record_outgoing(self._chat_id, question, part, platform_id)
        except StorageError as error:
            log.warning("a sent message was not recorded", extra={"error": type(error).__name__})

    async def clear(self, from_part: int) -> None:
        """Forget the ids of parts that are not in the chat. A fault is only logged."""
        try:
            if (question := await self._question()) is not None:
                await self._store.clear_outgoing(self._chat_id, question, from_part=from_part)
        except StorageError as error:
            log.warning("sent messages were not cleared", extra={"error": type(error).__name__})

    async def _question(self) -> int | None:
        message = await self._store.message_by_source(self._chat_id, self._source)
        return None if message is None else message.id
