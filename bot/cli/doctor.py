"""`doctor`: looks at everything the program needs and says what to do about what is broken."""

from __future__ import annotations

import asyncio
import platform
import shutil
import sqlite3
import tempfile
import time
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import sqlalchemy as sa

from bot.app import open_app
from bot.cli.index import in_words
from bot.cli.output import print_json
from bot.cli.reach import Reached, reach_claude, reach_telegram
from bot.config import BUNDLED_MODEL, Config
from memory.database import FILE_NAME, Database, open_database
from memory.embeddings import load_embedder
from memory.errors import MnemogramError
from memory.lock import DirectoryLock
from memory.ports import Purpose, RealClock
from memory.rows import NO_TURN
from memory.tables import memories, messages
from memory.types import Status

LOW_DISK_MB = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one thing: a few words, and what to do where it is broken."""

    name: str
    ok: bool
    found: str
    todo: str = ""


Check: TypeAlias = Callable[[Config], Awaitable[Finding]]


async def doctor(config: Config, args: Namespace) -> int:
    findings = []
    for name, check in CHECKS.items():
        findings.append(await _attempt(name, check, config))
        if not args.json:
            print(_line(findings[-1]), flush=True)
    fine = all(finding.ok for finding in findings)
    if args.json:
        print_json({"ok": fine, "checks": [_plain(finding) for finding in findings]})
    return 0 if fine else 1


async def _attempt(name: str, check: Check, config: Config) -> Finding:
    """Run one check; that it cannot be done is a finding like any other."""
    try:
        return replace(await check(config), name=name)
    except MnemogramError as error:
        return Finding(name, ok=False, found=str(error))
    except Exception as error:  # noqa: BLE001  one broken part must not hide the others
        return Finding(name, ok=False, found=f"cannot be checked ({type(error).__name__})")


def _fine(found: str) -> Finding:
    return Finding("", ok=True, found=found)


def _broken(found: str, todo: str) -> Finding:
    return Finding("", ok=False, found=found, todo=todo)


async def _program(_: Config) -> Finding:
    system = f"{platform.system()} {platform.machine()}"
    return _fine(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {system}")


async def _configuration(config: Config) -> Finding:
    """A faulty configuration has ended the program already; what is left is a bot that answers nobody."""
    access = config.access
    if config.telegram.token.get_secret_value() and not access.admins and not access.users:
        return _broken("nobody may write to the bot", "set access.admins to your own Telegram id")
    return _fine("is complete")


async def _directory(config: Config) -> Finding:
    directory = config.storage.dir.absolute()
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    if not existing.is_dir() or not _writable(existing):
        return _broken(f"{directory} cannot be written", "give it to the user that runs the program")
    free = shutil.disk_usage(existing).free // 1_000_000
    if free < LOW_DISK_MB:
        return _broken(f"{directory} has {free} MB left", "free some space")
    return _fine(f"{directory}, {free} MB free{'' if directory.exists() else ', made at the first start'}")


def _writable(directory: Path) -> bool:
    """Try it: permissions alone say nothing about a read-only mount."""
    try:
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


async def _database(config: Config) -> Finding:
    if not _has_database(config):
        return _fine("none yet, made at the first start")
    url = config.storage.database_url.get_secret_value()
    database = await open_database(config.storage.dir, url, clock=RealClock())
    try:
        if damage := await database.damage():
            return _broken(f"is damaged: {damage}", "restore your last backup with `restore`")
        return _fine(f"{database.dialect} is sound, {await _counted(database)}")
    finally:
        await database.close()


def _has_database(config: Config) -> bool:
    """A server's database is there; to look into a file that is not would make it."""
    on_server = bool(config.storage.database_url.get_secret_value())
    return on_server or (config.storage.dir / FILE_NAME).exists()


async def _counted(database: Database) -> str:
    async with database.read() as conn:
        active = sa.select(sa.func.count()).where(memories.c.status == Status.ACTIVE, NO_TURN)
        known = (await conn.execute(active)).scalar_one()
        said = (await conn.execute(sa.select(sa.func.count()).select_from(messages))).scalar_one()
    return f"memories {known}, messages {said}"


async def _owner(config: Config) -> Finding:
    holder = DirectoryLock(config.storage.dir).holder()
    return _fine("no bot is running" if holder is None else f"the bot is running as process {holder or '?'}")


async def _embeddings(config: Config) -> Finding:
    notes: list[str] = []
    embedder = await asyncio.to_thread(
        load_embedder, config.embeddings.model, query_cache=0, note=notes.append
    )
    started = time.perf_counter()
    try:
        await embedder.embed(["Where does my dog sleep?"], Purpose.QUERY)
    finally:
        await embedder.close()
    if embedder.model_id.startswith(BUNDLED_MODEL) and config.embeddings.model != BUNDLED_MODEL:
        return _broken(
            notes[-1] if notes else "the configured model cannot be loaded", "see embeddings.model"
        )
    return _fine(f"{config.embeddings.model} works, {time.perf_counter() - started:.1f} s with loading")


async def _index(config: Config) -> Finding:
    if DirectoryLock(config.storage.dir).holder() is not None:
        return _fine("belongs to the running bot, which keeps it in step")
    if not _has_database(config):
        return _fine("none yet, made at the first start")
    async with open_app(config) as app:
        report = await app.index.check()
    # What it only has to follow yet, it follows by itself.
    apart = report.missing or report.extra
    return _broken(in_words(report), "run `index rebuild`") if apart else _fine(in_words(report))


async def _jobs(config: Config) -> Finding:
    if not _has_database(config):
        return _fine("none has run yet")
    async with open_app(config, owner=False) as app:
        failing = [status for status in await app.jobs.status() if status.failures]
    if failing:
        told = ", ".join(f"{job.name} {job.failures} times ({job.last_error})" for job in failing)
        return _broken(f"failing: {told}", "the log says why; `jobs run --now` tries again at once")
    return _fine("none is failing")


async def _claude(config: Config) -> Finding:
    if not config.claude.is_configured:
        return _fine("not configured, the built-in notebook answers")
    return _reached(await reach_claude(config.claude))


async def _telegram(config: Config) -> Finding:
    if not config.telegram.token.get_secret_value():
        return _fine("not configured, the conversation is in the console")
    return _reached(await reach_telegram(config.telegram))


def _reached(reached: Reached) -> Finding:
    return _broken(reached.fault, reached.todo) if reached.fault else _fine(reached.found)


CHECKS: Mapping[str, Check] = {
    "program": _program,
    "configuration": _configuration,
    "directory": _directory,
    "owner": _owner,
    "database": _database,
    "index": _index,
    "jobs": _jobs,
    "embeddings": _embeddings,
    "claude": _claude,
    "telegram": _telegram,
}


def _line(finding: Finding) -> str:
    todo = f"; {finding.todo}" if finding.todo else ""
    return f"{'✓' if finding.ok else '✗'} {finding.name}: {finding.found}{todo}"


def _plain(finding: Finding) -> dict[str, object]:
    return {name: getattr(finding, name) for name in Finding.__slots__}
