"""The longest stalls of the event loop at the heaviest work of a running bot, while another chat asks."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.asking import Asker, asker_in
from benchmarks.filling import Sentences
from benchmarks.own_set import load
from benchmarks.stalls import ticking, while_asking
from benchmarks.timing import Spread
from bot.app import App
from memory.types import Author, Incoming, MemoryType, NewMemory, Origin

IDLE_SECONDS = 3.0
AT_ONCE = 25
"""Messages that are being remembered at the same time."""

_SAID_AT = datetime(2026, 1, 1, tzinfo=UTC)
_LONG = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Stalled:
    """The longest stall during some work, the time the loop's own thread worked in it, and the questions
    of another chat meanwhile."""

    during: str
    longest_ms: float
    busy_ms: float
    question_ms: Spread | None


class Work:
    """What is done to one app. Chat `asked` is there already; the others are new."""

    def __init__(self, app: App, asker: Asker, asked: int, count: int) -> None:
        self._app = app
        self._asker = asker
        self._asked = asked
        self._texts = Sentences(load(), seed=7).make(2 * count)
        self._chats = itertools.count(1_000_001)

    async def nothing(self) -> Stalled:
        """What the machine itself does to an idle loop: the other stalls cannot be shorter."""
        with ticking() as ticker:
            await asyncio.sleep(IDLE_SECONDS)
        return Stalled("nothing at all", round(ticker.longest_ms, 1), round(ticker.busy_ms, 1), None)

    async def questions(self) -> Stalled:
        return await self._watched("questions alone", asyncio.sleep(IDLE_SECONDS))

    async def remember(self, count: int) -> Stalled:
        return await self._watched(f"remembering {count} memories", self._remember(self._texts[:count]))

    async def finished(self, count: int) -> Stalled:
        chat_id = next(self._chats)
        await hold_conversation(self._app, chat_id, self._texts[:count])
        return await self._watched(f"indexing a conversation of {count} messages", self._index())

    async def first_question(self, chat_id: int, size: int) -> Stalled:
        return await self._watched(f"the first question to a chat of {size:,}", self._asker.search(chat_id))

    async def _watched(self, during: str, work: Awaitable[object]) -> Stalled:
        """Let Chroma's follower catch up within the watch: its writing is a part of the work."""

        async def all_of_it() -> None:
            await work
            await self._app.index.sync()

        with ticking() as ticker:
            _, took = await while_asking(all_of_it(), lambda: self._asker.search(self._asked))
        return Stalled(during, round(ticker.longest_ms, 1), round(ticker.busy_ms, 1), Spread.of(took))

    async def _remember(self, texts: Sequence[str]) -> None:
        chat_id = next(self._chats)
        for start in range(0, len(texts), AT_ONCE):
            some = texts[start : start + AT_ONCE]
            news = [NewMemory(chat_id, text, MemoryType.FACT, Origin.PERSON) for text in some]
            await asyncio.gather(*map(self._app.memory.remember, news))

    async def _index(self) -> None:
        await self._app.jobs.run_due(force=True)


async def hold_conversation(app: App, chat_id: int, texts: Sequence[str]) -> None:
    """Store a conversation of so many messages, every second one an answer, and end it."""
    for number in range(0, len(texts) - 1, 2):
        asked = Incoming(
            chat_id=chat_id,
            author=Author(1, "Vera"),
            text=texts[number],
            sent_at=_SAID_AT + timedelta(minutes=number),
            source=str(number),
            origin=Origin.PERSON,
        )
        turn = await app.sessions.begin_turn(asked, _LONG)
        await app.sessions.finish_turn(turn, texts[number + 1])
    await app.sessions.close_session(chat_id, 0)


async def stalls(directory: Path, asked: int, big: tuple[int, int], count: int) -> list[Stalled]:
    """Do each kind of work once; `big` is a chat that nobody has asked yet, and its size."""
    async with asker_in(directory, indexed=True) as (app, asker):
        await app.start()
        work = Work(app, asker, asked, count)
        await asker.search(asked)
        return [
            await work.nothing(),
            await work.questions(),
            await work.remember(count),
            await work.finished(count),
            await work.first_question(*big),
        ]
