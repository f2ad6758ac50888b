"""Leases: one holder at a time, and a late one is refused."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from memory.database import Database
from memory.errors import LeaseLost
from memory.leases import Leases
from tests.fakes.clock import FrozenClock

MINUTE = timedelta(minutes=1)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def leases(database: Database, clock: FrozenClock) -> Leases:
    return Leases(database, clock)


async def test_a_free_lease_is_taken_and_then_held(leases: Leases) -> None:
    first = await leases.acquire("purge", MINUTE)
    second = await leases.acquire("purge", MINUTE)

    assert first is not None
    assert second is None


async def test_leases_of_different_names_do_not_meet(leases: Leases) -> None:
    assert await leases.acquire("purge", MINUTE)
    assert await leases.acquire("close", MINUTE)


async def test_of_two_racing_workers_exactly_one_wins(database: Database, clock: FrozenClock) -> None:
    workers = [Leases(database, clock) for _ in range(2)]

    for name in ("purge", "close", "follow"):
        won = await asyncio.gather(*(worker.acquire(name, MINUTE) for worker in workers))
        assert sum(lease is not None for lease in won) == 1


async def test_of_two_workers_racing_for_an_expired_lease_exactly_one_wins(
    leases: Leases, clock: FrozenClock
) -> None:
    await leases.acquire("purge", MINUTE)
    clock.advance(MINUTE)

    won = await asyncio.gather(*(leases.acquire("purge", MINUTE) for _ in range(2)))

    assert sum(lease is not None for lease in won) == 1


async def test_a_lease_is_held_until_the_instant_it_expires(leases: Leases, clock: FrozenClock) -> None:
    await leases.acquire("purge", MINUTE)

    clock.advance(seconds=59.999)
    assert await leases.acquire("purge", MINUTE) is None
    clock.advance(seconds=0.001)
    assert await leases.acquire("purge", MINUTE) is not None


async def test_the_token_rises_with_every_holder(leases: Leases, clock: FrozenClock) -> None:
    tokens = []
    for _ in range(3):
        lease = await leases.acquire("purge", MINUTE)
        assert lease is not None
        tokens.append(lease.token)
        clock.advance(MINUTE)

    assert tokens == [1, 2, 3]


async def test_a_holder_whose_lease_was_taken_over_may_not_store_its_result(
    leases: Leases, database: Database, clock: FrozenClock
) -> None:
    late = await leases.acquire("purge", MINUTE)
    clock.advance(MINUTE)
    current = await leases.acquire("purge", MINUTE)
    assert late is not None
    assert current is not None

    with pytest.raises(LeaseLost):
        async with database.write() as conn:
            await leases.check(conn, late)
    async with database.write() as conn:
        await leases.check(conn, current)


async def test_a_holder_that_is_late_but_alone_may_store_its_result(
    leases: Leases, database: Database, clock: FrozenClock
) -> None:
    lease = await leases.acquire("purge", MINUTE)
    assert lease is not None
    clock.advance(hours=1)

    async with database.write() as conn:
        await leases.check(conn, lease)


async def test_a_released_lease_can_be_taken_at_once(leases: Leases) -> None:
    lease = await leases.acquire("purge", MINUTE)
    assert lease is not None

    await leases.release(lease)

    again = await leases.acquire("purge", MINUTE)
    assert again is not None
    assert again.token > lease.token


async def test_a_late_holder_does_not_release_the_lease_of_the_next(
    leases: Leases, clock: FrozenClock
) -> None:
    late = await leases.acquire("purge", MINUTE)
    assert late is not None
    clock.advance(MINUTE)
    await leases.acquire("purge", MINUTE)

    await leases.release(late)

    assert await leases.acquire("purge", MINUTE) is None


async def test_a_lease_from_a_clock_that_was_set_back_is_taken_over(
    leases: Leases, clock: FrozenClock
) -> None:
    old = await leases.acquire("purge", MINUTE)
    clock.advance(-60 * MINUTE)

    assert old is not None
    assert (taken := await leases.acquire("purge", MINUTE))
    assert taken.token > old.token
    assert await leases.acquire("purge", MINUTE) is None


async def test_a_worker_whose_clock_is_a_little_behind_respects_a_lease(
    leases: Leases, clock: FrozenClock
) -> None:
    await leases.acquire("purge", MINUTE)
    clock.advance(-MINUTE / 2)
    assert await leases.acquire("purge", MINUTE) is None
