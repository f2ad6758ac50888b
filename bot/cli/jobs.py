"""`jobs run`: the background work, once."""

from __future__ import annotations

from argparse import Namespace

from bot.app import open_app
from bot.cli.output import print_json, say
from bot.config import Config
from bot.jobs import JobOutcome, JobResult
from memory.errors import MnemogramError
from memory.lock import DirectoryLock
from memory.vectors import IndexSync

_SAID = {
    JobOutcome.DONE: "done, changed {changed}",
    JobOutcome.FAILED: "failed ({error}); it is tried again later",
    JobOutcome.WAITING: "not due yet",
    JobOutcome.BUSY: "another process is doing it",
    JobOutcome.LOST: "took too long and was given up",
}


async def run(config: Config, args: Namespace) -> int:
    """Beside a running bot the index is left to it; leases keep the two from doing the same work."""
    alone = DirectoryLock(config.storage.dir).holder() is None
    async with open_app(config, owner=alone, note=say) as app:
        results = [*await app.jobs.run_due(force=args.now), await _follow(app.index)]
    if args.json:
        print_json([_plain(result) for result in results])
    else:
        for result in results:
            print(
                f"{result.name}: {_SAID[result.outcome].format(changed=result.changed, error=result.error)}"
            )
    return int(any(result.outcome in (JobOutcome.FAILED, JobOutcome.LOST) for result in results))


async def _follow(index: IndexSync) -> JobResult:
    """Let the index follow, which in a running bot goes on all the time and is no job."""
    name = "follow the index"
    try:
        return JobResult(name, JobOutcome.DONE, await index.sync())
    except MnemogramError as error:
        return JobResult(name, JobOutcome.FAILED, error=type(error).__name__)


def _plain(result: JobResult) -> dict[str, object]:
    return {name: getattr(result, name) for name in JobResult.__slots__}
