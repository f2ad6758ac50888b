"""Background work: due, leased, recorded, and never stopped by a failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from bot import jobs as jobs_module
from bot.app import open_app
from bot.config import Config
from bot.jobs import Job, JobOutcome, JobResult, Jobs, JobStatus
from bot.metrics import Metrics
from memory.database import Database, open_database
from memory.leases import Leases
from memory.types import Author, Incoming, MemoryType, Query, Where
from tests.fakes.clock import NOON, FrozenClock
from tests.fakes.embedder import HashEmbedder

HOUR = timedelta(hours=1)
DONE, FAILED, WAITING = JobOutcome.DONE, JobOutcome.FAILED, JobOutcome.WAITING


class Work:
    """A job's function that counts its runs and may be told to fail or to wait."""

    def __init__(self) -> None:
        self.runs = 0
        self.error: Exception | None = None
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.ended = False

    async def __call__(self) -> int:
        self.runs += 1
        self.begun.set()
        await self.may_end.wait()
        if self.error:
            raise self.error
        self.ended = True
        return self.runs


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
async def database(tmp_path: Path, clock: FrozenClock) -> AsyncIterator[Database]:
    database = await open_database(tmp_path, clock=clock)
    yield database
    await database.close()


class Program:
    """One process with its jobs."""

    def __init__(self, database: Database, clock: FrozenClock, tasks: Sequence[Job]) -> None:
        self.metrics = Metrics()
        self.leases = Leases(database, clock)
        self.jobs = Jobs(database, self.leases, clock, self.metrics, tasks)

    async def outcomes(self, *, force: bool = False) -> list[JobOutcome]:
        return [result.outcome for result in await self.jobs.run_due(force=force)]


async def test_a_job_that_never_ran_is_due_and_says_what_it_changed(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    program = Program(database, clock, [Job("close", work, HOUR)])

    assert await program.jobs.run_due() == [JobResult("close", DONE, 1)]


async def test_a_job_is_due_again_after_its_time(database: Database, clock: FrozenClock, work: Work) -> None:
    program = Program(database, clock, [Job("close", work, HOUR)])
    await program.outcomes()

    clock.advance(minutes=59)
    assert await program.outcomes() == [WAITING]
    clock.advance(minutes=1)
    assert await program.outcomes() == [DONE]


async def test_a_job_without_a_time_of_its_own_runs_with_every_tick(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    program = Program(database, clock, [Job("follow", work)])

    assert [await program.outcomes() for _ in range(3)] == [[DONE]] * 3


async def test_everything_runs_at_once_when_it_is_forced(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    program = Program(database, clock, [Job("close", work, HOUR)])
    await program.outcomes()

    assert await program.outcomes(force=True) == [DONE]


async def test_a_restart_does_not_make_a_job_due(database: Database, clock: FrozenClock, work: Work) -> None:
    tasks = [Job("close", work, HOUR)]
    await Program(database, clock, tasks).outcomes()

    assert await Program(database, clock, tasks).outcomes() == [WAITING]


async def test_a_clock_that_was_set_back_does_not_stop_a_job(database: Database, work: Work) -> None:
    tasks = [Job("close", work, HOUR)]
    await Program(database, FrozenClock(NOON + 100 * HOUR), tasks).outcomes()

    assert await Program(database, FrozenClock(NOON), tasks).outcomes() == [DONE]


async def test_a_job_that_fails_does_not_stop_the_next(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    broken = Work()
    broken.error = ValueError("my dog is called Bublik")
    program = Program(database, clock, [Job("broken", broken), Job("works", work)])

    results = await program.jobs.run_due()

    assert results == [JobResult("broken", FAILED, error="ValueError"), JobResult("works", DONE, 1)]
    failures = program.metrics.registry.get_sample_value(
        "mnemogram_errors_total", {"where": "job", "error": "ValueError"}
    )
    assert failures == 1


async def test_what_failed_is_recorded_by_class_and_a_success_clears_it(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    program = Program(database, clock, [Job("close", work)])
    work.error = ValueError("my dog is called Bublik")
    await program.outcomes()
    await program.outcomes(force=True)

    assert await program.jobs.status() == [JobStatus("close", NOON, None, 2, "ValueError")]
    work.error = None
    await program.outcomes(force=True)
    assert await program.jobs.status() == [JobStatus("close", NOON, NOON, 0, "")]


async def test_a_failing_job_is_tried_again_after_pauses_that_double_up_to_an_hour(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    program = Program(database, clock, [Job("follow", work)])
    work.error = ValueError()
    await program.outcomes()

    for minutes in (1, 2, 4, 8, 16, 32, 60, 60):
        clock.advance(timedelta(minutes=minutes), seconds=-1)
        assert await program.outcomes() == [WAITING]
        clock.advance(seconds=1)
        assert await program.outcomes() == [FAILED]


async def test_a_rare_job_that_failed_does_not_wait_for_its_next_time(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    program = Program(database, clock, [Job("prune", work, 24 * HOUR)])
    work.error = ValueError()
    await program.outcomes()
    work.error = None

    clock.advance(minutes=1)

    assert await program.outcomes() == [DONE]


async def test_two_processes_do_not_do_the_same_job_at_once(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    tasks = [Job("follow", work)]
    one, other = Program(database, clock, tasks), Program(database, clock, tasks)
    work.may_end.clear()

    async with asyncio.TaskGroup() as group:
        running = group.create_task(one.outcomes())
        await work.begun.wait()
        beside = await other.outcomes(force=True)
        work.may_end.set()

    assert beside == [JobOutcome.BUSY]
    assert running.result() == [DONE]
    assert await other.outcomes() == [DONE]


async def test_a_job_of_a_process_that_was_killed_is_taken_over_when_its_lease_ends(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    program = Program(database, clock, [Job("follow", work)])
    await program.leases.acquire("job:follow", jobs_module.LEASE)

    assert await program.outcomes() == [JobOutcome.BUSY]
    clock.advance(jobs_module.LEASE)
    assert await program.outcomes() == [DONE]


async def test_a_job_that_was_taken_over_records_nothing(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    late, next_one = (Program(database, clock, [Job("follow", work)]) for _ in range(2))
    work.may_end.clear()

    async with asyncio.TaskGroup() as group:
        running = group.create_task(late.outcomes())
        await work.begun.wait()
        clock.advance(jobs_module.LEASE)
        await next_one.leases.acquire("job:follow", HOUR)
        work.may_end.set()

    assert running.result() == [JobOutcome.LOST]
    assert await late.jobs.status() == []


async def test_a_job_that_hangs_is_cancelled_and_counts_as_failed(
    database: Database, clock: FrozenClock, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "LONGEST_RUN", timedelta(milliseconds=10))
    work.may_end.clear()

    results = await Program(database, clock, [Job("follow", work)]).jobs.run_due()

    assert results == [JobResult("follow", FAILED, error="TimeoutError")]


async def test_the_scheduler_runs_what_is_due_at_once_and_again_with_the_next_tick(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    jobs = Program(database, clock, [Job("follow", work)]).jobs

    jobs.start(timedelta(seconds=0.05))
    async with asyncio.timeout(20):
        for _ in range(3):
            await work.begun.wait()
            work.begun.clear()
    await jobs.stop(drain_seconds=20)

    assert work.runs >= 3


async def test_stopping_waits_for_the_job_that_is_running(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    jobs = Program(database, clock, [Job("follow", work)]).jobs
    work.may_end.clear()
    jobs.start(HOUR)
    await work.begun.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(jobs.stop(drain_seconds=20))
        work.may_end.set()

    assert work.ended
    [status] = await jobs.status()
    assert status.last_ok_at == NOON


async def test_stopping_cancels_what_does_not_end_in_time_and_gives_its_lease_back(
    database: Database, clock: FrozenClock, work: Work
) -> None:
    program = Program(database, clock, [Job("follow", work)])
    work.may_end.clear()
    program.jobs.start(HOUR)
    await work.begun.wait()

    await program.jobs.stop(drain_seconds=0.01)

    assert not work.ended
    assert await program.jobs.status() == []
    work.may_end.set()
    assert await program.outcomes() == [DONE]


async def test_stopping_what_was_never_started_does_nothing(database: Database, clock: FrozenClock) -> None:
    await Program(database, clock, []).jobs.stop()


async def test_a_conversation_that_has_fallen_silent_is_found_by_search_after_the_next_round(
    tmp_path: Path, clock: FrozenClock
) -> None:
    config = Config.model_validate({"storage": {"dir": tmp_path / "data"}})
    async with open_app(config, clock=clock, embedder=HashEmbedder()) as app:
        said = Incoming(1, Author(7, "Anna"), "the boiler was serviced in May", NOON, "m:1")
        turn = await app.sessions.begin_turn(said, HOUR)
        await app.sessions.finish_turn(turn, "Good to know.")
        clock.advance(hours=2)

        outcomes = {result.name: result for result in await app.jobs.run_due()}
        await app.index.sync()

        assert outcomes["index finished conversations"].changed == 1
        turns = Where(types=(MemoryType.TURN,))
        [hit, *_] = await app.memory.search(Query(1, "when was the boiler serviced?", turns))
        assert hit.memory.text == "the boiler was serviced in May"
        assert (await app.index.check()).entries == 2
        assert await app.memory.count(1) == 0
