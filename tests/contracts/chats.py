"""What the tests of memory say and remember."""

from __future__ import annotations

import itertools
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from memory.database import Database
from memory.tables import messages, sessions, words
from memory.text import stems
from memory.types import MemoryType, NewMemory, Origin, Role, SessionState
from tests.fakes.clock import NOON

CHAT = -1_001_234_567_890
OTHER_CHAT = 7_000_000_002
ANNA = "Анна"

_numbers = itertools.count(1)


def fact(text: str, *, chat_id: int = CHAT, **more: Any) -> NewMemory:
    values = {"type": MemoryType.FACT, "origin": Origin.PERSON, "speaker": ANNA} | more
    return NewMemory(chat_id=chat_id, text=text, **values)


async def open_session(
    database: Database, *, chat_id: int = CHAT, summary: str = "", thread_id: int = 0, at: datetime = NOON
) -> int:
    row = {"chat_id": chat_id, "thread_id": thread_id, "summary": summary, "started_at": at, "last_at": at}
    async with database.write() as conn:
        session = sa.insert(sessions).values(**row, state=SessionState.CLOSED).returning(sessions.c.id)
        session_id: int = (await conn.execute(session)).scalar_one()
    return session_id


async def say(
    database: Database,
    text: str,
    *,
    chat_id: int = CHAT,
    session_id: int | None = None,
    reply_to: int | None = None,
) -> int:
    """Store a message of a person, or with `reply_to` an answer to it; return its id."""
    session_id = session_id or await open_session(database, chat_id=chat_id)
    row = {
        "chat_id": chat_id,
        "session_id": session_id,
        "role": Role.ASSISTANT if reply_to else Role.USER,
        "origin": Origin.ASSISTANT if reply_to else Origin.PERSON,
        "text": text,
        "sent_at": NOON,
        "source": f"answer:{reply_to}" if reply_to else f"test:{next(_numbers)}",
        "reply_to": reply_to,
        "delivered": bool(reply_to),
    }
    async with database.write() as conn:
        inserted = sa.insert(messages).values(row).returning(messages.c.id)
        message_id: int = (await conn.execute(inserted)).scalar_one()
    return message_id


async def text_of(database: Database, message_id: int) -> str:
    async with database.read() as conn:
        query = sa.select(messages.c.text).where(messages.c.id == message_id)
        text: str = (await conn.execute(query)).scalar_one()
    return text


async def having(database: Database, question: str, *, chat_id: int = CHAT) -> list[int]:
    """The ids of the memories that have all the words of a question, as the index tells."""
    found: set[int] | None = None
    async with database.read() as conn:
        for stem in stems(question):
            mine = sa.select(words.c.memory_id).where(words.c.chat_id == chat_id, words.c.word == stem)
            ids = set((await conn.execute(mine)).scalars())
            found = ids if found is None else found & ids
    return sorted(found or ())
