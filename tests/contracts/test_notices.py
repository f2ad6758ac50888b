"""What was said besides answers: known for ever, each bot's apart from another's."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.notices import Notices
from memory.database import Database
from memory.errors import StorageError
from memory.sessions import Sessions
from memory.types import Author, Incoming
from tests.fakes.clock import NOON, FrozenClock

CHAT, OTHER = 1, 2


@pytest.fixture
def notices(database: Database) -> Notices:
    return Notices(database, "tg:42")


async def answered(database: Database, source: str, platform_id: int) -> int:
    """Store a question whose answer is shown by this message; return its number."""
    sessions = Sessions(database, FrozenClock())
    incoming = Incoming(CHAT, Author(CHAT, "Anna"), "What?", NOON, source)
    turn = await sessions.begin_turn(incoming, timedelta(minutes=5))
    await sessions.record_outgoing(CHAT, turn.message.id, 0, platform_id)
    return turn.message.id


async def test_answers_notices_and_later_questions_are_taken(database: Database, notices: Notices) -> None:
    first = await answered(database, "tg:42:9", 12)
    await answered(database, "tg:42:10", 13)
    await notices.keep(CHAT, 11)
    await notices.keep(OTHER, 14)

    assert await notices.taken(0, first) == {9, 10, 11, 12, 13, 14}
    assert await notices.taken(0, first + 1) == {10, 11, 12, 13, 14}
    assert await notices.taken(12, first) == {13, 14}
    assert await notices.newest() == 14


async def test_what_is_on_its_way_is_not_taken(database: Database, notices: Notices) -> None:
    question = await answered(database, "tg:42:9", -9)

    assert await notices.taken(0, question) == {9}
    assert await notices.newest() == 0


async def test_another_bot_counts_its_messages_for_itself(database: Database, notices: Notices) -> None:
    await Notices(database, "tg:421").keep(CHAT, 11)
    question = await answered(database, "tg:421:9", 12)

    assert await notices.taken(0, question) == frozenset()
    assert await notices.newest() == 0


async def test_a_notice_that_is_noted_twice_is_one(notices: Notices) -> None:
    await notices.keep(CHAT, 11)
    await notices.keep(CHAT, 11)

    assert await notices.taken(0, 0) == {11}


async def test_a_fault_of_the_database_does_not_reach_who_has_sent_the_notice(
    database: Database, notices: Notices, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise StorageError("The disk is full.")

    monkeypatch.setattr(database, "write", full)

    await notices.keep(CHAT, 11)
