"""How long a search takes by the size of the chat and of everything, and how long the event loop stalls.

Run `python -m benchmarks.latency`, or with `--quick` for sizes that are filled within some minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.asking import Asked, Place, apart, ask, index
from benchmarks.busy import Stalled, stalls
from benchmarks.filling import fill
from benchmarks.timing import machine
from memory.bundled_model import DIMENSIONS, MODEL_ID
from memory.database import open_database
from memory.ports import RealClock

SMALL_CHAT = 100
MIDDLE_CHAT = 1_000
ASKED = 10
"""Small chats that are asked, in turn."""

_ONE = 1  # the id of a chat that is alone, or the middle one
_SMALL = 1_000  # the id of the first small chat


@dataclass(frozen=True, slots=True)
class Plan:
    """In memories: everything, made of small chats and a middle one; single chats; a heavy piece of work.

    `questions` are those of each sample.
    """

    wholes: tuple[int, ...]
    chats: tuple[int, ...]
    work: int
    questions: int


FULL = Plan((1_000, 100_000, 300_000), (1_000, 10_000, 100_000), 500, 150)
QUICK = Plan((1_000, 10_000, 30_000), (1_000, 3_000, 10_000), 500, 60)


def measure(plan: Plan, directory: Path) -> Iterator[Asked | Stalled]:
    """Fill chats below the directory and measure them, the smallest first, the stalls last."""
    yield from _by_whole(plan, directory)
    for size in plan.chats:
        one = directory / f"chat-{size}"
        _fill(one, {_ONE: size})
        _tell(f"indexing {size:,} memories with Chroma")
        apart(index, one)
        yield apart(ask, Place(one, size, size, (_ONE,), indexed=True), plan.questions)
    stalled, big = directory / "stalls", max(MIDDLE_CHAT, *plan.chats[:-1])
    _fill(stalled, {_ONE: MIDDLE_CHAT, _SMALL: big})
    apart(index, stalled)
    yield from apart(stalls, stalled, _ONE, (_SMALL, big), plan.work)


def layout(whole: int) -> dict[int, int]:
    """The chats of so many memories, by id, with their sizes: small ones and, where there is room, a middle
    one."""
    middle = {_ONE: MIDDLE_CHAT} if whole > MIDDLE_CHAT else {}
    small = (whole - sum(middle.values())) // SMALL_CHAT
    return middle | {_SMALL + number: SMALL_CHAT for number in range(small)}


def _by_whole(plan: Plan, directory: Path) -> Iterator[Asked]:
    """The same chats while everything around them grows; as their vectors are in memory, without Chroma."""
    alone, growing, filled = directory / "middle", directory / "whole", dict[int, int]()
    _fill(alone, {_ONE: MIDDLE_CHAT})
    yield apart(ask, Place(alone, MIDDLE_CHAT, MIDDLE_CHAT, (_ONE,), indexed=False), plan.questions)
    for whole in plan.wholes:
        _fill(growing, dict(layout(whole).items() - filled.items()))
        filled = layout(whole)
        some = tuple(range(_SMALL, _SMALL + ASKED))
        yield apart(ask, Place(growing, whole, SMALL_CHAT, some, indexed=False), plan.questions)
        if _ONE in filled:
            yield apart(ask, Place(growing, whole, MIDDLE_CHAT, (_ONE,), indexed=False), plan.questions)


def _fill(directory: Path, chats: Mapping[int, int]) -> None:
    """Write the chats into a database, which is made where there is none."""
    directory.mkdir(exist_ok=True)
    total = sum(chats.values())

    async def filled() -> None:
        database = await open_database(directory, clock=RealClock())
        try:
            await fill(
                database,
                chats,
                model_id=MODEL_ID,
                dimensions=DIMENSIONS,
                progress=lambda done: _tell(f"filling: {done:,} of {total:,} memories"),
            )
        finally:
            await database.close()

    asyncio.run(filled())


def _tell(what: str) -> None:
    print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)


def line(one: Asked | Stalled) -> str:
    """Return one result as it is told while the others are made."""
    if isinstance(one, Stalled):
        return f"{one.during}: stands still for {one.longest_ms:.0f} ms, {one.busy_ms:.0f} ms of it at work"
    return (
        f"{one.memories:,} memories, {one.chat_size:,} in the chat: search {one.search_ms.p50:.0f} / "
        f"{one.search_ms.p95:.0f} ms, of it {one.rest_ms.p50:.1f} / {one.rest_ms.p95:.1f} without embedding, "
        f"which alone takes {one.embedding_ms.p50:.0f} / {one.embedding_ms.p95:.0f}"
    )


def main(arguments: argparse.Namespace) -> None:
    plan = QUICK if arguments.quick else FULL
    searches, stalled = list[Asked](), list[Stalled]()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as directory:
        for one in measure(plan, Path(directory)):
            _tell(line(one) + "\n")
            (searches if isinstance(one, Asked) else stalled).append(one)  # type: ignore[arg-type]
    found = {
        "quick": arguments.quick,
        "encoder": MODEL_ID,
        "machine": machine(),
        "searches": [asdict(one) for one in searches],
        "stalls": [asdict(one) for one in stalled],
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "latency.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer questions")
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    parser.add_argument("--scratch", type=Path, default=None, help="where to fill the databases: 3 GB")
    return parser.parse_args()


if __name__ == "__main__":
    main(_arguments())
