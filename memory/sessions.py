"""Conversations: each message is stored once, each question is answered once, silence ends a session."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

# PostgreSQL's ON CONFLICT is the SQL of SQLite as well; SQLAlchemy compiles this insert for both.
from sqlalchemy.dialects.postgresql import insert

from memory.forget import hidden_in
from memory.ports import Clock
from memory.session_rows import (
    ANSWER,
    DISCARDED,
    answer_values,
    finished_turns,
    open_in,
    question_values,
    reopen,
    shows,
    to_message,
    to_session,
)
from memory.tables import memories, messages, outgoing, sessions
from memory.text import clean
from memory.types import Incoming, Message, Session, SessionState, Status
from memory.usage import Usage, record_usage

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from memory.database import Database


@dataclass(frozen=True, slots=True)
class Turn:
    """A question in its session, with the answer when it has been stored already.

    `resumed` is true when the question was stored by an earlier attempt, which may have left traces.
    """

    session: Session
    message: Message
    answer: Message | None = None
    resumed: bool = False


class Sessions:
    """The conversations of every chat; each call is about one chat only."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def begin_turn(self, incoming: Incoming, idle: timedelta) -> Turn:
        """Store a person's message; the same source again gives the same turn as before.

        The thread's open session takes it, or a new one when nothing was said there for longer than `idle`.
        """
        now = self._clock.now()
        async with self._database.write() as conn:
            if known := await _known_turn(conn, incoming):
                return known
            session = await _current_session(conn, incoming, now, idle)
            statement = insert(messages).values(question_values(incoming, session)).on_conflict_do_nothing()
            row = (await conn.execute(statement.returning(*messages.c))).one_or_none()
            if row is not None:
                return Turn(session, to_message(row))
            known = await _known_turn(conn, incoming)
        assert known is not None, "another replica has just stored this source"
        return known

    async def finish_turn(
        self,
        turn: Turn,
        text: str,
        tokens: int = 0,
        usage: Sequence[Usage] = (),
        recalled: Collection[int] = (),
    ) -> Message:
        """Store the answer, what it cost and the session's new end, all or nothing.

        A question has one answer: when there is one already, that one is returned and nothing changes. What
        answers a question that was forgotten meanwhile, or rests on one of the `recalled` memories that was,
        is returned to be shown, but its text is not stored.
        """
        return await self._store_answer(turn, ANSWER, text, tokens, usage, recalled)

    async def discard(self, turn: Turn, text: str, usage: Sequence[Usage] = ()) -> Message:
        """End a turn that later prompts must not repeat, such as a refusal; `text` is what the person sees.

        It is stored like any answer, so that it is delivered once and the question is known when it comes
        again, but `history` leaves both out.
        """
        return await self._store_answer(turn, DISCARDED, text, 0, usage)

    async def message_by_source(self, chat_id: int, source: str) -> Message | None:
        """Return the message that came from there, once `begin_turn` has stored it."""
        async with self._database.read() as conn:
            return await _find(conn, chat_id, messages.c.source == source)

    async def mark_delivered(self, chat_id: int, answer_id: int) -> None:
        """Note that the person has seen the whole answer."""
        mine = (messages.c.chat_id == chat_id) & (messages.c.id == answer_id)
        async with self._database.write() as conn:
            await conn.execute(sa.update(messages).where(mine).values(delivered=True))

    async def history(self, chat_id: int, session_id: int, *, before_id: int, step: int) -> list[Message]:
        """Return the last finished turns before a message: question, answer, question, answer, oldest first.

        Once there are enough, between `step` and twice as many messages: the start moves by `step` messages
        at a time and stays in between, so that each prompt continues the last one. A turn that was
        discarded, of which either text was erased, or whose memory is forgotten is left out.
        """
        most = max(1, step // 2)
        async with self._database.read() as conn:
            hidden = await hidden_in(conn, chat_id, session_id)
            turns = finished_turns(chat_id, session_id, before_id, hidden)
            counted = turns.with_only_columns(sa.func.count(), maintain_column_froms=True).order_by(None)
            count: int = (await conn.execute(counted)).scalar_one()
            rows = (await conn.execute(turns.limit(most + count % most))).all()
        columns = len(messages.c)
        pairs = [(row[:columns], row[columns:]) for row in reversed(rows)]
        return [to_message(side) for pair in pairs for side in pair]

    async def record_outgoing(self, chat_id: int, message_id: int, part: int, platform_id: int) -> None:
        """Note which of the messenger's messages shows part number `part` of the answer to a question."""
        values = {"chat_id": chat_id, "message_id": message_id, "part": part, "platform_id": platform_id}
        statement = insert(outgoing).values(values)
        async with self._database.write() as conn:
            await conn.execute(
                statement.on_conflict_do_update(
                    index_elements=[outgoing.c.message_id, outgoing.c.part],
                    set_={"platform_id": platform_id},
                    where=outgoing.c.chat_id == chat_id,
                )
            )

    async def outgoing(self, chat_id: int, message_id: int) -> list[int]:
        """Return the messenger's ids of what shows the answer to a question, in the order of its parts."""
        query = sa.select(outgoing.c.platform_id).where(shows(chat_id, message_id))
        async with self._database.read() as conn:
            return list((await conn.execute(query.order_by(outgoing.c.part))).scalars())

    async def clear_outgoing(self, chat_id: int, message_id: int, *, from_part: int = 0) -> None:
        """Forget the parts from number `from_part` on, because they were taken back."""
        gone = shows(chat_id, message_id) & (outgoing.c.part >= from_part)
        async with self._database.write() as conn:
            await conn.execute(sa.delete(outgoing).where(gone))

    async def get(self, chat_id: int, session_id: int) -> Session | None:
        """Return a session of this chat."""
        query = sa.select(sessions).where(sessions.c.chat_id == chat_id, sessions.c.id == session_id)
        async with self._database.read() as conn:
            row = (await conn.execute(query)).one_or_none()
        return None if row is None else to_session(row)

    async def recent(self, chat_id: int, *, limit: int = 20, offset: int = 0) -> list[Session]:
        """Return the sessions of this chat, newest first."""
        query = sa.select(sessions).where(sessions.c.chat_id == chat_id).order_by(sessions.c.id.desc())
        async with self._database.read() as conn:
            return [to_session(row) for row in await conn.execute(query.limit(limit).offset(offset))]

    async def close_session(self, chat_id: int, thread_id: int) -> Session | None:
        """End the open session of a thread; ``None`` when there is none."""
        statement = sa.update(sessions).where(open_in(chat_id, thread_id)).values(state=SessionState.CLOSED)
        async with self._database.write() as conn:
            row = (await conn.execute(statement.returning(*sessions.c))).one_or_none()
        return None if row is None else to_session(row)

    async def close_idle(self, idle: timedelta) -> int:
        """End every session in which nothing was said for longer than `idle`; return how many."""
        silent = (sessions.c.state == SessionState.OPEN) & (sessions.c.last_at < self._clock.now() - idle)
        async with self._database.write() as conn:
            closed = await conn.execute(sa.update(sessions).where(silent).values(state=SessionState.CLOSED))
        return int(closed.rowcount)

    async def _store_answer(
        self,
        turn: Turn,
        kind: str,
        text: str,
        tokens: int,
        usage: Sequence[Usage],
        recalled: Collection[int] = (),
    ) -> Message:
        now = self._clock.now()
        text = clean(text)
        async with self._database.write() as conn:
            forgotten = await _is_forgotten(conn, turn.message, recalled)
            answer = answer_values(turn.message, kind, "" if forgotten else text, tokens, now)
            statement = insert(messages).values(answer).on_conflict_do_nothing()
            row = (await conn.execute(statement.returning(*messages.c))).one_or_none()
            if row is None:
                return await _stored_answer(conn, turn.message)
            await _touch(conn, turn.session.id, now)
            await reopen(conn, turn.message.chat_id, [turn.session.id])
            await record_usage(conn, turn.message.chat_id, now, usage)
        return replace(to_message(row), text=text)


async def _known_turn(conn: AsyncConnection, incoming: Incoming) -> Turn | None:
    question = await _find(conn, incoming.chat_id, messages.c.source == incoming.source)
    if question is None:
        return None
    session = (await conn.execute(sa.select(sessions).where(sessions.c.id == question.session_id))).one()
    return Turn(to_session(session), question, await _answer_to(conn, question), resumed=True)


async def _current_session(
    conn: AsyncConnection, incoming: Incoming, now: datetime, idle: timedelta
) -> Session:
    is_open = open_in(incoming.chat_id, incoming.thread_id)
    row = (await conn.execute(sa.select(sessions).where(is_open).with_for_update())).one_or_none()
    if row is not None and now - row.last_at <= idle:
        await _touch(conn, row.id, now)
        return replace(to_session(row), last_at=now)
    if row is not None:
        stale = sa.update(sessions).where(sessions.c.id == row.id)
        await conn.execute(stale.values(state=SessionState.CLOSED))
    fresh = {
        "chat_id": incoming.chat_id,
        "thread_id": incoming.thread_id,
        "state": SessionState.OPEN,
        "started_at": now,
        "last_at": now,
    }
    # Another replica may have opened one in this instant; then that one is taken.
    await conn.execute(insert(sessions).values(fresh).on_conflict_do_nothing())
    return to_session((await conn.execute(sa.select(sessions).where(is_open))).one())


async def _touch(conn: AsyncConnection, session_id: int, now: datetime) -> None:
    await conn.execute(sa.update(sessions).where(sessions.c.id == session_id).values(last_at=now))


async def _is_forgotten(conn: AsyncConnection, question: Message, recalled: Collection[int]) -> bool:
    """Tell whether a question, or a memory that the answer rests on, was forgotten while it was written.

    What the turn itself has forgotten does not count.
    """
    # The lock keeps the text as it is, but lets the indexing of the session refer to the message.
    text = sa.select(messages.c.text).where(messages.c.id == question.id).with_for_update(key_share=True)
    if question.text and not (await conn.execute(text)).scalar_one():
        return True
    rows = sa.select(memories.c.id, memories.c.status, memories.c.forgotten_in).where(
        memories.c.chat_id == question.chat_id, memories.c.id.in_(list(recalled))
    )
    found = {row.id: row for row in await conn.execute(rows)} if recalled else {}
    return any(
        memory_id not in found
        or (found[memory_id].status == Status.FORGOTTEN and found[memory_id].forgotten_in != question.id)
        for memory_id in recalled
    )


async def _stored_answer(conn: AsyncConnection, question: Message) -> Message:
    answer = await _answer_to(conn, question)
    assert answer is not None, "an answer that cannot be stored is there already"
    return answer


async def _answer_to(conn: AsyncConnection, question: Message) -> Message | None:
    return await _find(conn, question.chat_id, messages.c.reply_to == question.id)


async def _find(conn: AsyncConnection, chat_id: int, which: sa.ColumnElement[bool]) -> Message | None:
    query = sa.select(messages).where(messages.c.chat_id == chat_id, which)
    row = (await conn.execute(query)).one_or_none()
    return None if row is None else to_message(row)
