"""The durable inbox: kept until dealt with, never twice, never for ever."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.inbox import MAX_STARTS, Attempt, Backlog, Inbox, RawUpdate
from memory.database import Database
from memory.tables import inbox as table
from tests.fakes.clock import NOON, FrozenClock

BOT = 4_200_000_001


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def inbox(database: Database, clock: FrozenClock) -> Inbox:
    return Inbox(database, clock, BOT)


def update(update_id: int, chat_id: int = 1, payload: str = '{"text": "hi"}') -> RawUpdate:
    return RawUpdate(update_id, chat_id, payload)


async def put(inbox: Inbox, updates: Sequence[RawUpdate]) -> list[int]:
    return [item.id for item in await inbox.put(updates)]


async def payloads(database: Database) -> list[str | None]:
    async with database.read() as conn:
        return list((await conn.execute(sa.select(table.c.payload).order_by(table.c.id))).scalars())


async def test_updates_wait_in_the_order_in_which_they_came(inbox: Inbox) -> None:
    items = await inbox.put([update(30, payload="a"), update(10, payload="b")])
    items += await inbox.put([update(20, payload="c")])

    waiting = await inbox.pending()

    assert waiting == items
    assert [item.payload for item in waiting] == ["a", "b", "c"]
    assert [item.received_at for item in waiting] == [NOON] * 3


async def test_an_update_that_is_delivered_twice_waits_once(inbox: Inbox) -> None:
    [first] = await put(inbox, [update(7)])

    ids = await put(inbox, [update(7), update(8)])

    assert len(ids) == 1
    assert [item.update_id for item in await inbox.pending()] == [7, 8]
    assert first not in ids


async def test_a_batch_that_holds_an_update_twice_keeps_it_once(inbox: Inbox) -> None:
    assert len(await put(inbox, [update(7), update(7)])) == 1


async def test_nothing_to_put_is_nothing_to_do(inbox: Inbox) -> None:
    assert await put(inbox, []) == []


async def test_an_update_that_was_dealt_with_is_known_when_it_comes_again(inbox: Inbox) -> None:
    [item] = await put(inbox, [update(7)])
    await inbox.done(item)

    assert await put(inbox, [update(7)]) == []
    assert await inbox.pending() == []


async def test_the_payload_goes_as_soon_as_the_update_is_over(inbox: Inbox, database: Database) -> None:
    done, failed, _ = await put(inbox, [update(1), update(2), update(3, payload="kept")])

    await inbox.done(done)
    await inbox.failed(failed, "ValueError")

    assert await payloads(database) == [None, None, "kept"]


async def test_an_update_in_work_is_found_again_after_a_restart(
    inbox: Inbox, database: Database, clock: FrozenClock
) -> None:
    [item] = await put(inbox, [update(7)])
    await inbox.started(item)

    [found] = await Inbox(database, clock, BOT).pending()

    assert (found.id, found.attempts) == (item, 1)


async def test_an_update_that_never_comes_to_an_end_is_given_up(inbox: Inbox, database: Database) -> None:
    [item] = await put(inbox, [update(7)])

    starts = [await inbox.started(item) for _ in range(MAX_STARTS + 1)]

    assert starts == [*[Attempt.BEGUN] * MAX_STARTS, Attempt.GIVEN_UP]
    assert await inbox.started(item) is Attempt.OVER
    assert await inbox.pending() == []
    assert await payloads(database) == [None]


async def test_attempts_that_were_stopped_in_good_order_do_not_count(inbox: Inbox) -> None:
    [item] = await put(inbox, [update(7)])

    for _ in range(MAX_STARTS + 1):
        assert await inbox.started(item) is Attempt.BEGUN
        await inbox.released(item)
    await inbox.released(item)

    assert [found.attempts for found in await inbox.pending()] == [0]


async def test_an_update_that_is_over_is_not_started_again(inbox: Inbox) -> None:
    done, failed = await put(inbox, [update(1), update(2)])
    await inbox.done(done)
    await inbox.failed(failed, "ValueError")

    assert await inbox.started(done) is Attempt.OVER
    assert await inbox.started(failed) is Attempt.OVER


async def test_a_failed_update_does_not_hold_up_the_next(inbox: Inbox) -> None:
    first, second = await put(inbox, [update(1), update(2)])

    await inbox.failed(first, "ValidationError")

    assert [item.id for item in await inbox.pending()] == [second]


async def test_two_bots_with_one_database_do_not_see_each_others_updates(
    inbox: Inbox, database: Database, clock: FrozenClock
) -> None:
    other = Inbox(database, clock, BOT + 1)
    [mine] = await put(inbox, [update(7)])

    [theirs] = await put(other, [update(7)])

    assert await other.started(mine) is Attempt.OVER
    await other.done(mine)
    assert [item.id for item in await inbox.pending()] == [mine]
    assert [item.id for item in await other.pending()] == [theirs]


async def test_the_backlog_says_how_many_wait_and_since_when(inbox: Inbox, clock: FrozenClock) -> None:
    assert await inbox.backlog() == Backlog(0, None)
    [first] = await put(inbox, [update(1)])
    later = clock.advance(minutes=5)
    await put(inbox, [update(2), update(3)])

    assert await inbox.backlog() == Backlog(3, NOON)
    await inbox.done(first)
    assert await inbox.backlog() == Backlog(2, later)


async def test_only_what_is_over_and_old_is_pruned(inbox: Inbox, clock: FrozenClock) -> None:
    done, failed, _ = await put(inbox, [update(1), update(2), update(3)])
    await inbox.done(done)
    await inbox.failed(failed, "ValueError")

    clock.advance(days=14)
    assert await inbox.prune() == 0
    clock.advance(seconds=1)
    [young] = await put(inbox, [update(4)])
    await inbox.done(young)
    assert await inbox.prune() == 2

    assert [item.update_id for item in await inbox.pending()] == [3]
    assert await put(inbox, [update(4)]) == []


async def test_how_long_finished_ids_are_kept_can_be_chosen(inbox: Inbox, clock: FrozenClock) -> None:
    [item] = await put(inbox, [update(1)])
    await inbox.done(item)
    clock.advance(hours=2)

    assert await inbox.prune(timedelta(hours=1)) == 1
