"""How conversations are written as rows: queries and values, without a transaction of their own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from memory.rows import batches
from memory.tables import messages, outgoing, sessions
from memory.text import clean
from memory.types import Incoming, Message, Origin, Role, Session, SessionState

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# The source of an answer begins with a word that says whether later prompts may show its turn.
ANSWER = "answer"
DISCARDED = "discarded"


def open_in(chat_id: int, thread_id: int) -> sa.ColumnElement[bool]:
    """The one session of a thread that takes new messages."""
    return sa.and_(
        sessions.c.chat_id == chat_id,
        sessions.c.thread_id == thread_id,
        sessions.c.state == SessionState.OPEN,
    )


def shows(chat_id: int, message_id: int) -> sa.ColumnElement[bool]:
    """What shows the answer to this question."""
    return (outgoing.c.chat_id == chat_id) & (outgoing.c.message_id == message_id)


def finished_turns(chat_id: int, session_id: int, before_id: int, hidden: Collection[int]) -> sa.Select[Any]:
    """Question and answer side by side, the newest turn first.

    What is discarded or erased is left out, and turns of which either message is `hidden`.
    """
    answers = messages.alias("answers")
    seen = [side.c.id.not_in(batch) for side in (messages, answers) for batch in batches(hidden)]
    return (
        sa.select(messages, answers)
        .join(answers, (answers.c.reply_to == messages.c.id) & (answers.c.chat_id == messages.c.chat_id))
        .where(
            messages.c.chat_id == chat_id,
            messages.c.session_id == session_id,
            messages.c.id < before_id,
            messages.c.text != "",
            answers.c.text != "",
            answers.c.source.startswith(f"{ANSWER}:"),
            *seen,
        )
        .order_by(messages.c.id.desc())
    )


def said_in(chat_id: int, session_id: int) -> sa.Select[Any]:
    """The messages of a session that have text, in their order, without those of discarded turns."""
    answers = messages.alias("answers")
    refused = sa.exists().where(
        answers.c.reply_to == messages.c.id, answers.c.source.startswith(f"{DISCARDED}:")
    )
    refusal = messages.c.reply_to.is_not(None) & messages.c.source.startswith(f"{DISCARDED}:")
    return (
        sa.select(messages)
        .where(messages.c.chat_id == chat_id, messages.c.session_id == session_id, messages.c.text != "")
        .where(~refused, ~refusal)
        .order_by(messages.c.id)
    )


async def reopen(conn: AsyncConnection, chat_id: int, session_ids: Collection[int]) -> None:
    """Let sessions be indexed once more, because messages have come into them since."""
    done = sessions.c.state.in_([SessionState.INDEXED, SessionState.FAILED])
    for batch in batches(session_ids):
        mine = sa.update(sessions).where(sessions.c.chat_id == chat_id, sessions.c.id.in_(batch), done)
        await conn.execute(mine.values(state=SessionState.CLOSED, attempts=0))


def question_values(incoming: Incoming, session: Session) -> dict[str, object]:
    return {
        "chat_id": incoming.chat_id,
        "session_id": session.id,
        "role": Role.USER,
        "text": clean(incoming.text),
        "sent_at": incoming.sent_at,
        "source": incoming.source,
        "speaker": clean(incoming.author.name),
        "speaker_id": incoming.author.id,
        "origin": incoming.origin,
    }


def answer_values(question: Message, kind: str, text: str, tokens: int, now: datetime) -> dict[str, object]:
    return {
        "chat_id": question.chat_id,
        "session_id": question.session_id,
        "role": Role.ASSISTANT,
        "text": text,
        "sent_at": now,
        "source": f"{kind}:{question.id}",
        "origin": Origin.ASSISTANT,
        "tokens": tokens,
        "reply_to": question.id,
    }


def to_message(row: Sequence[Any]) -> Message:
    values = dict(zip(messages.c.keys(), row, strict=True))
    role, origin = Role(values.pop("role")), Origin(values.pop("origin"))
    return Message(role=role, origin=origin, **values)


def to_session(row: sa.Row[Any]) -> Session:
    return Session(
        id=row.id,
        chat_id=row.chat_id,
        thread_id=row.thread_id,
        state=SessionState(row.state),
        started_at=row.started_at,
        last_at=row.last_at,
        summary=row.summary,
        compressed_to=row.compressed_to,
    )
