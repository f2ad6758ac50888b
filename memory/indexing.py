"""Indexing finished conversations: each message of a closed session becomes a turn that search can find."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from memory.database import Database
from memory.errors import EmbedderUnavailable, StorageError
from memory.forget import hidden_in
from memory.ports import Clock, Embedder, Purpose
from memory.rows import delete_memories, writing
from memory.session_rows import said_in, to_message
from memory.tables import sessions
from memory.turns import beginning, insert_turns, turns_in
from memory.types import Message, SessionState, StoredVector

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

log = logging.getLogger(__name__)

MAX_TRIES = 5
"""After so many a session is FAILED: one that cannot be indexed must not be tried for ever."""

EMBED_BATCH = 32

EMBEDDED_IN_ONE_RUN = 1_000
"""Some minutes of work. The index's follower embeds what is beyond, so that a long backlog is found by its
words at once."""


@dataclass(frozen=True, slots=True)
class _Closed:
    """A session that waits to be indexed."""

    id: int
    chat_id: int


@dataclass(frozen=True, slots=True)
class _Todo:
    """What a session lacks: messages without a turn, and turns of which the message was discarded since."""

    said: list[Message]
    withdrawn: list[int]


class Indexing:
    """Turns closed sessions into memories of type TURN, each wholly or not at all, and once.

    Sessions may come back: an answer that was late and messages from an import are added to what is there.
    """

    def __init__(
        self, database: Database, embedder: Embedder, clock: Clock, *, changed: Callable[[], None]
    ) -> None:
        """`changed` tells the index's follower that there is news."""
        self._database = database
        self._embedder = embedder
        self._clock = clock
        self._changed = changed

    async def index_closed(self) -> int:
        """Index every closed session, the oldest first; return how many.

        One that fails does not stop the next; the first failure is raised at the end. A session of which a
        message is hidden by a forget waits until that is purged or undone. Raises StorageError at once.
        """
        indexed, left, failures = 0, EMBEDDED_IN_ONE_RUN, list[Exception]()
        for session in await self._closed():
            try:
                turns = await self._index(session, left)
            except StorageError:
                raise
            except Exception as error:  # noqa: BLE001 — one session must not stop the others; raised below
                failures.append(error)
                log.warning(
                    "a session could not be indexed",
                    extra={"session": session.id, "error": type(error).__name__},
                )
                continue
            if turns is not None:
                indexed, left = indexed + 1, max(0, left - turns)
        if failures:
            raise failures[0]
        return indexed

    async def _closed(self) -> list[_Closed]:
        closed = sessions.c.state == SessionState.CLOSED
        query = sa.select(sessions.c.id, sessions.c.chat_id).where(closed)
        async with self._database.read() as conn:
            rows = await conn.execute(query.order_by(sessions.c.last_at, sessions.c.id))
            return [_Closed(row.id, row.chat_id) for row in rows]

    async def _index(self, session: _Closed, embed_at_most: int) -> int | None:
        """Index one session; return how many turns it got, ``None`` when it is not its time."""
        async with self._database.read() as conn:
            todo = await _todo(conn, session)
        if todo is None or not await self._started(session):
            return None
        try:
            found = await self._embed(todo.said[:embed_at_most])
            stored = await self._store(session, found)
        except (asyncio.CancelledError, StorageError):
            await self._released(session)
            raise
        if stored is None:
            await self._released(session)
        else:
            self._changed()
        return stored

    async def _started(self, session: _Closed) -> bool:
        """Count a try before the work begins, as that may end the process; or give up after `MAX_TRIES`."""
        mine = _is_closed(session)
        one_more = sa.update(sessions).where(mine, sessions.c.attempts < MAX_TRIES)
        async with self._database.write() as conn:
            if (await conn.execute(one_more.values(attempts=sessions.c.attempts + 1))).rowcount:
                return True
            given_up = sa.update(sessions).where(mine).values(state=SessionState.FAILED)
            if not (await conn.execute(given_up)).rowcount:
                return False  # another process was faster
        log.error("the indexing of a session was given up", extra={"session": session.id})
        return False

    async def _released(self, session: _Closed) -> None:
        """The work was stopped for no fault of the session, so this try does not count against it."""
        mine = sa.update(sessions).where(_is_closed(session), sessions.c.attempts > 0)
        async with self._database.write() as conn:
            await conn.execute(mine.values(attempts=sessions.c.attempts - 1))

    async def _embed(self, said: Sequence[Message]) -> dict[int, StoredVector]:
        """The vectors by message; what an unavailable embedder leaves is embedded by the index's follower."""
        found: dict[int, StoredVector] = {}
        for start in range(0, len(said), EMBED_BATCH):
            batch = said[start : start + EMBED_BATCH]
            texts = [beginning(message.text) for message in batch]
            try:
                made = await self._embedder.embed(texts, Purpose.PASSAGE)
            except EmbedderUnavailable:
                break
            for message, vector in zip(batch, made, strict=True):
                found[message.id] = StoredVector(self._embedder.model_id, vector)
        return found

    async def _store(self, session: _Closed, found: Mapping[int, StoredVector]) -> int | None:
        """Insert what is still to be indexed, and mark the session, in one transaction.

        Whatever came or went since the texts were read is seen here: a message without a vector in `found`
        is stored bare.
        """
        async with writing(self._database) as conn:
            locked = sa.select(sessions.c.id).where(_is_closed(session)).with_for_update(key_share=True)
            if (await conn.execute(locked)).first() is None:
                return None
            todo = await _todo(conn, session)
            if todo is None:
                return None
            await delete_memories(conn, session.chat_id, todo.withdrawn)
            await insert_turns(conn, todo.said, found, self._clock.now())
            done = sa.update(sessions).where(_is_closed(session))
            await conn.execute(done.values(state=SessionState.INDEXED, attempts=0))
        return len(todo.said)


def _is_closed(session: _Closed) -> sa.ColumnElement[bool]:
    return (sessions.c.id == session.id) & (sessions.c.state == SessionState.CLOSED)


async def _todo(conn: AsyncConnection, session: _Closed) -> _Todo | None:
    """What the session lacks; ``None`` while any of it is hidden by a forget."""
    rows = (await conn.execute(said_in(session.chat_id, session.id))).all()
    said = {row.id: row for row in rows}
    if not said.keys().isdisjoint(await hidden_in(conn, session.chat_id, session.id)):
        return None
    known = await turns_in(conn, session.chat_id, session.id)
    return _Todo(
        said=[to_message(row) for message_id, row in said.items() if message_id not in known],
        withdrawn=[turn_id for message_id, turn_id in known.items() if message_id not in said],
    )
