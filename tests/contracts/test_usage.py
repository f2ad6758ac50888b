"""The account of what models cost."""

from __future__ import annotations

import pytest

from memory.database import Database
from memory.usage import Totals, Usage, UsageLog
from tests.fakes.clock import NOON, FrozenClock


@pytest.fixture
def usage(database: Database) -> UsageLog:
    return UsageLog(database)


async def test_a_chat_without_calls_costs_nothing(usage: UsageLog) -> None:
    totals = await usage.totals(1)

    assert totals == Totals(0, 0, 0, 0, 0, 0.0)
    assert totals.cached_share == 0.0


async def test_the_calls_of_a_chat_are_summed_up_and_the_cached_share_is_known(usage: UsageLog) -> None:
    rows = [Usage("sonnet", 10, 80, 10, 5, 0.5), Usage("haiku", 0, 100, 0, 5, 0.25, "summary")]

    await usage.record(1, NOON, rows)

    totals = await usage.totals(1)
    assert totals == Totals(2, 10, 180, 10, 10, 0.75)
    assert totals.cached_share == pytest.approx(0.9)


async def test_one_chats_calls_are_not_in_anothers_account(usage: UsageLog) -> None:
    await usage.record(1, NOON, [Usage("sonnet", 10)])
    await usage.record(-2, NOON, [Usage("sonnet", 20)])

    assert (await usage.totals(1)).input_tokens == 10
    assert (await usage.totals(-2)).input_tokens == 20
    assert (await usage.totals(None)).input_tokens == 30


async def test_the_account_can_begin_at_a_moment(usage: UsageLog) -> None:
    clock = FrozenClock()
    await usage.record(1, clock.now(), [Usage("sonnet", 1)])
    later = clock.advance(days=1)
    await usage.record(1, later, [Usage("sonnet", 10)])

    assert (await usage.totals(1, since=later)).input_tokens == 10


async def test_more_tokens_than_fit_into_32_bits_are_summed_up(usage: UsageLog) -> None:
    await usage.record(1, NOON, [Usage("sonnet", 2_000_000_000)] * 3)

    assert (await usage.totals(1)).input_tokens == 6_000_000_000
