"""Background work: APScheduler ticks, rows say what is due, a lease lets one process do it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

# PostgreSQL's ON CONFLICT is the SQL of SQLite as well; SQLAlchemy compiles this insert for both.
from sqlalchemy.dialects.postgresql import insert

from bot.metrics import Metrics
from memory.errors import LeaseLost
from memory.leases import Lease, Leases
from memory.ports import Clock
from memory.tables import jobs

if TYPE_CHECKING:
    from apscheduler.schedulers.asyncio import AsyncIOScheduler

    from memory.database import Database

log = logging.getLogger(__name__)

LONGEST_RUN = timedelta(minutes=15)
"""A run that takes longer is cancelled."""

LEASE = LONGEST_RUN + timedelta(minutes=1)
"""Longer than any run, so that another process begins only after a crash."""

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Job:
    """Work that comes again every `every`, or with each tick; `run` returns how many things it changed."""

    name: str
    run: Callable[[], Awaitable[int]]
    every: timedelta | None = None


class JobOutcome(StrEnum):
    """What became of a job in one round."""

    DONE = "done"  # it ran to its end
    FAILED = "failed"  # it raised; it is tried again after a pause that doubles
    WAITING = "waiting"  # not due yet
    BUSY = "busy"  # another process is doing it
    LOST = "lost"  # it ran for so long that another process took over


@dataclass(frozen=True, slots=True)
class JobResult:
    """One job in one round; `error` is the class of what it raised."""

    name: str
    outcome: JobOutcome
    changed: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class JobStatus:
    """What is known of a job that has run; `failures` counts those since it last went well."""

    name: str
    last_run_at: datetime | None
    last_ok_at: datetime | None
    failures: int
    last_error: str


class Jobs:
    """Runs what is due, on each tick or when asked."""

    def __init__(
        self, database: Database, leases: Leases, clock: Clock, metrics: Metrics, tasks: Sequence[Job]
    ) -> None:
        self._database = database
        self._leases = leases
        self._clock = clock
        self._metrics = metrics
        self._tasks = tuple(tasks)
        self._scheduler: AsyncIOScheduler | None = None
        self._round: asyncio.Task[Any] | None = None

    async def run_due(self, *, force: bool = False) -> list[JobResult]:
        """Run every job that is due, or with `force` all of them, one after another.

        A job that fails does not stop the next. Raises StorageError where the rows cannot be read or written.
        """
        return [await self._attend(job, force=force) for job in self._tasks]

    async def status(self) -> list[JobStatus]:
        """Say how each of these jobs that has ever run is doing, by name."""
        own = jobs.c.name.in_([job.name for job in self._tasks])  # others may be left of earlier versions
        async with self._database.read() as conn:
            rows = await conn.execute(sa.select(jobs).where(own).order_by(jobs.c.name))
            return [_status(row) for row in rows]

    def start(self, tick: timedelta) -> None:
        """Run what is due now and then every `tick`, until `stop`."""
        from apscheduler.schedulers.asyncio import AsyncIOScheduler
        from apscheduler.triggers.interval import IntervalTrigger

        self._scheduler = AsyncIOScheduler(timezone=UTC)
        self._scheduler.add_job(
            self._tick,
            IntervalTrigger(seconds=tick.total_seconds(), timezone=UTC),
            name="tick",
            next_run_time=datetime.now(UTC),
            misfire_grace_time=None,
            coalesce=True,
            max_instances=1,
        )
        self._scheduler.start()

    async def stop(self, drain_seconds: float = 0) -> None:
        """Stop ticking, wait up to `drain_seconds` for the round that is running, then cancel it."""
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is None:
            return
        scheduler.pause()
        running = self._round
        if running is not None:
            await asyncio.wait([running], timeout=drain_seconds)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        scheduler.shutdown(wait=False)
        # The scheduler shuts down in a callback of the loop, not in the call itself.
        await asyncio.sleep(0)

    async def _tick(self) -> None:
        self._round = asyncio.current_task()
        try:
            await self.run_due()
        finally:
            self._round = None

    async def _attend(self, job: Job, *, force: bool) -> JobResult:
        if not (force or await self._is_due(job)):
            return JobResult(job.name, JobOutcome.WAITING)
        lease = await self._leases.acquire(f"job:{job.name}", LEASE)
        if lease is None:
            return JobResult(job.name, JobOutcome.BUSY)
        try:
            # Another process may have finished it between the look and the lease.
            if not (force or await self._is_due(job)):
                return JobResult(job.name, JobOutcome.WAITING)
            return await self._record(lease, await self._run(job))
        finally:
            await self._leases.release(lease)

    async def _is_due(self, job: Job) -> bool:
        async with self._database.read() as conn:
            row = (await conn.execute(sa.select(jobs).where(jobs.c.name == job.name))).one_or_none()
        return row is None or _is_due(job, _status(row), self._clock.now())

    async def _run(self, job: Job) -> JobResult:
        start = time.perf_counter()
        try:
            async with asyncio.timeout(LONGEST_RUN.total_seconds()):
                result = JobResult(job.name, JobOutcome.DONE, await job.run())
        except Exception as error:  # whatever goes wrong in one job must not stop the others
            log.error("a job failed", exc_info=error, extra={"job": job.name})
            self._metrics.failed("job", error)
            result = JobResult(job.name, JobOutcome.FAILED, error=type(error).__name__)
        self._metrics.job_seconds.labels(job.name).set(time.perf_counter() - start)
        return result

    async def _record(self, lease: Lease, result: JobResult) -> JobResult:
        try:
            async with self._database.write() as conn:
                await self._leases.check(conn, lease)
                await conn.execute(_mark(result, self._clock.now()))
        except LeaseLost:
            log.warning("a job took too long", extra={"job": result.name})
            result = JobResult(result.name, JobOutcome.LOST, result.changed, result.error)
        self._metrics.job_runs.labels(result.name, result.outcome).inc()
        return result


def _is_due(job: Job, status: JobStatus, now: datetime) -> bool:
    if status.last_run_at is None or now < status.last_run_at:  # a clock that was set back must not stop work
        return True
    return now - status.last_run_at >= _pause(job, status.failures)


def _pause(job: Job, failures: int) -> timedelta:
    if not failures:
        return job.every or timedelta()
    doublings = min(failures - 1, 10)
    return min(FIRST_PAUSE * (1 << doublings), LONGEST_PAUSE)


def _mark(result: JobResult, now: datetime) -> sa.Executable:
    if result.outcome is JobOutcome.DONE:
        news: dict[str, Any] = {"last_run_at": now, "last_ok_at": now, "failures": 0, "last_error": ""}
        first = news
    else:
        first = {"last_run_at": now, "failures": 1, "last_error": result.error}
        news = first | {"failures": jobs.c.failures + 1}
    statement = insert(jobs).values(name=result.name, **first)
    return statement.on_conflict_do_update(index_elements=[jobs.c.name], set_=news)


def _status(row: sa.Row[Any]) -> JobStatus:
    return JobStatus(
        name=row.name,
        last_run_at=row.last_run_at,
        last_ok_at=row.last_ok_at,
        failures=row.failures,
        last_error=row.last_error,
    )
