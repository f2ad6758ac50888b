"""Letting Mnemogram live through the conversations of a benchmark, on the path that every message takes."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.chats import Chat, Record
from bot.app import App
from bot.config import Config, Storage
from memory.sessions import Turn
from memory.types import Author, Incoming, MemoryType, Origin, Where

NEVER = timedelta(days=36_500)
"""Sessions end where the data say so, not by silence."""

TURNS = Where(types=(MemoryType.TURN,))


class MovedClock:
    """The time as the conversation goes on."""

    def __init__(self, time: datetime = datetime(2000, 1, 1, tzinfo=UTC)) -> None:
        self.time = time

    def now(self) -> datetime:
        return self.time


def config_in(directory: Path) -> Config:
    """A configuration without any network."""
    return Config(storage=Storage(dir=directory))


async def live_through(app: App, clock: MovedClock, chat_id: int, chat: Chat) -> dict[int, str]:
    """Say everything that was said in a chat and index it; return the record of each turn by memory id."""
    said: dict[int, str] = {}
    turn: Turn | None = None
    session = ""
    for record in chat.records:
        clock.time = max(record.said_at, clock.time) if record.session == session else record.said_at
        if session != record.session:
            await app.sessions.close_session(chat_id, 0)
            session, turn = record.session, None
        turn, message_id = await _say(app, chat_id, record, turn)
        said[message_id] = record.id
    await app.sessions.close_session(chat_id, 0)
    await app.jobs.run_due(force=True)
    await app.index.sync()
    turns = await app.memory.list(chat_id, TURNS, limit=len(chat.records))
    return {turn.id: said[turn.message_ids[0]] for turn in turns}


async def _say(app: App, chat_id: int, record: Record, asked: Turn | None) -> tuple[Turn | None, int]:
    """Store one record; the assistant answers what was said before. Return what waits for an answer now."""
    if record.by_assistant and asked:
        return None, (await app.sessions.finish_turn(asked, record.text)).id
    incoming = Incoming(
        chat_id=chat_id,
        author=Author(zlib.crc32(record.speaker.encode()), record.speaker),
        text=record.text,
        sent_at=record.said_at,
        source=record.id,
        origin=Origin.ASSISTANT if record.by_assistant else Origin.PERSON,
    )
    turn = await app.sessions.begin_turn(incoming, NEVER)
    return turn, turn.message.id


def asker_of(chat: Chat) -> str:
    """Who asks: the one person who talks with an assistant; nobody in particular where several talk."""
    people = {record.speaker for record in chat.records if not record.by_assistant}
    return people.pop() if len(people) == 1 else ""
