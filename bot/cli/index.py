"""`index check` and `index rebuild`: the vector index against the database, which is the truth."""

from __future__ import annotations

import dataclasses
from argparse import Namespace

from bot.app import open_app
from bot.cli.output import print_json, progress, say
from bot.config import Config
from memory.vectors import IndexReport


async def check(config: Config, args: Namespace) -> int:
    async with open_app(config, note=say) as app:
        await app.index.sync()
        report = await app.index.check()
    if args.json:
        print_json({"ok": report.ok, **dataclasses.asdict(report)})
    else:
        print(in_words(report))
    return 0 if report.ok else 1


async def rebuild(config: Config, args: Namespace) -> int:
    async with open_app(config, note=say) as app:
        await app.index.rebuild(progress("Indexed"))
        report = await app.index.check()
    if args.json:
        print_json({"ok": report.ok, **dataclasses.asdict(report)})
    else:
        print(f"Built anew: {in_words(report)}")
    return 0 if report.ok else 1


def in_words(report: IndexReport) -> str:
    counts = f"memories {report.memories}, in the index {report.entries}"
    if report.ok:
        return f"{counts}; they agree."
    faults = {
        "missing": report.missing,
        "too many": report.extra,
        "without a vector": report.unembedded,
        "changes to follow": report.behind,
    }
    told = ", ".join(f"{name} {count}" for name, count in faults.items() if count)
    return f"{counts}; {told} (a running bot catches up by itself, `index rebuild` does it now)."
