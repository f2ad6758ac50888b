"""What the benchmarks of time are made of: filled chats, the ticker, and asking meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.filling import Sentences, fill, questions
from benchmarks.latency import FULL, QUICK, layout
from benchmarks.own_set import load
from benchmarks.stalls import ticking, while_asking
from benchmarks.talking import config_in
from benchmarks.timing import Spread
from bot.app import open_app
from memory.text import language_of
from memory.types import MemoryType, Query, Where
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import HashEmbedder

EVERYTHING = Where(types=tuple(MemoryType))


async def test_a_filled_chat_has_as_many_memories_as_it_should_and_can_be_searched(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    async with open_app(config_in(tmp_path), owner=False, clock=FrozenClock(), embedder=embedder) as app:
        await fill(app.database, {1: 45, 2: 20}, model_id=embedder.model_id, dimensions=embedder.dimensions)

        told = await app.memory.list(1, EVERYTHING, limit=100)
        hits = await app.memory.search(Query(1, told[0].text))

        assert len(told) == 45
        assert Counter(memory.type for memory in told)[MemoryType.FACT] == 6
        assert await app.memory.count(2, EVERYTHING) == 20
        assert told[0] in [hit.memory for hit in hits]
        assert (await app.index.check()).unembedded == 0


def test_made_up_sentences_are_in_both_languages_and_the_same_in_every_run() -> None:
    own = load()

    made = Sentences(own, seed=3).make(50)

    assert made == Sentences(own, seed=3).make(50)
    assert [language_of(one) for one in made[:2]] == ["ru", "en"]
    assert len(set(made)) == 50


def test_there_are_questions_enough_that_none_is_asked_twice() -> None:
    asked = questions(load())

    assert len(set(asked)) == len(asked) > 2 * FULL.questions


@pytest.mark.parametrize("whole", [*FULL.wholes, *QUICK.wholes])
def test_all_chats_together_have_as_many_memories_as_planned(whole: int) -> None:
    assert sum(layout(whole).values()) == whole


def test_what_grows_keeps_the_chats_that_it_has() -> None:
    smaller, bigger = layout(10_000), layout(30_000)

    assert smaller.items() <= bigger.items()


async def test_a_ticker_sees_how_long_the_loop_stands_still() -> None:
    with ticking() as ticker:
        until = time.perf_counter() + 0.03
        while time.perf_counter() < until:
            pass

    assert ticker.longest_ms >= 28
    assert ticker.busy_ms <= ticker.longest_ms + 2


async def test_somebody_asks_as_long_as_the_work_takes() -> None:
    asked = 0
    enough = asyncio.Event()

    async def ask() -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            enough.set()
        await asyncio.sleep(0)

    done, took = await while_asking(enough.wait(), ask)

    assert done
    assert len(took) >= 3


async def test_at_least_one_question_is_asked_while_the_work_is_done() -> None:
    async def nothing() -> None:
        """Is done at once."""

    _, took = await while_asking(nothing(), nothing)

    assert len(took) == 1


def test_a_spread_is_the_median_and_the_95th_percentile() -> None:
    assert Spread.of([float(each) for each in range(101)]) == Spread(50.0, 95.0)


def test_no_times_have_no_spread() -> None:
    with pytest.raises(ValueError, match="no times"):
        Spread.of([])
