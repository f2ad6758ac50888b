"""The conversation in a terminal: reads lines, streams answers, and works through pipes as well."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TextIO
from uuid import uuid4

from bot.console_commands import ConsoleCommands
from bot.conversation import Conversation
from bot.texts import text
from memory.errors import MnemogramError
from memory.ports import Clock
from memory.text import language_of
from memory.types import NO_THREAD, Author, Incoming

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ERASE_LINE = "\r\x1b[K"


class ConsoleReply:
    """A `Reply` that prints. `live` streams the answer and shows notes; otherwise only the end is printed."""

    def __init__(self, out: TextIO, *, live: bool) -> None:
        self._out = out
        self._live = live
        self._printed = ""
        self._noted = False

    async def write(self, text: str) -> None:
        if self._live:
            self._show(text)

    async def note(self, text: str) -> None:
        if self._live and not self._printed:
            self._print(f"{_ERASE_LINE}\x1b[2m{_printable(text)}\x1b[0m")
            self._noted = True

    async def finish(self, text: str) -> None:
        if self._printed.rstrip() != _printable(text).rstrip():
            self._show(text)
        self._print("\n")

    def _show(self, text: str) -> None:
        """Print what is new; an answer that was begun anew is printed whole, below the old beginning."""
        if self._noted:
            self._print(_ERASE_LINE)
            self._noted = False
        text = _printable(text)
        goes_on = text.startswith(self._printed)
        self._print(text[len(self._printed) :] if goes_on else f"\n{text}")
        self._printed = text

    def _print(self, piece: str) -> None:
        print(piece, end="", file=self._out, flush=True)


@dataclass(slots=True)
class Console:
    """One person's conversation in one chat. `live` is for a terminal, where answers are streamed."""

    conversation: Conversation
    commands: ConsoleCommands
    clock: Clock
    chat_id: int
    author: Author
    language: str
    live: bool
    out: TextIO = field(default_factory=lambda: sys.stdout)

    async def handle(self, line: str) -> bool:
        """Answer one line; return whether to go on. Raises MnemogramError."""
        line = line.strip()
        if line in ("/quit", "/exit", "/q"):
            return False
        if not line:
            return True
        if not line.startswith("/"):
            self.language = language_of(line, self.language)
        told = await self.commands.run(line, self.language)
        if told is not None:
            print(_printable(told), file=self.out, flush=True)
        else:
            await self._answer(line)
        return True

    async def _answer(self, line: str) -> None:
        incoming = Incoming(
            chat_id=self.chat_id,
            author=self.author,
            text=line,
            sent_at=self.clock.now(),
            source=f"console:{uuid4()}",
            language=self.language,
        )
        reply = ConsoleReply(self.out, live=self.live)
        if not self.live:
            await self.conversation.answer(incoming, reply)
            return
        with _on_interrupt(lambda: self.conversation.stop(self.chat_id, NO_THREAD)):
            await self.conversation.answer(incoming, reply)

    async def talk(self, lines: AsyncIterator[str]) -> bool:
        """Answer line after line until the end; return whether all went well. A failure does not end it."""
        fine = True
        async for line in lines:
            try:
                if not await self.handle(line):
                    break
            except MnemogramError as error:
                fine = False
                print(error, file=sys.stderr, flush=True)
        return fine


async def typed_lines(language: str) -> AsyncIterator[str]:
    """Yield what a person types at the terminal, until Ctrl-D or Ctrl-C twice.

    The history lasts as long as the program: kept in a file, it would hold words that were forgotten.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import InMemoryHistory

    session: PromptSession[str] = PromptSession(history=InMemoryHistory())
    interrupted = False
    while True:
        try:
            line = await session.prompt_async("> ")
        except EOFError:
            return
        except KeyboardInterrupt:
            if interrupted:
                return
            interrupted = True
            print(text("console-interrupt", language), flush=True)
            continue
        interrupted = False
        yield line


async def piped_lines(descriptor: int) -> AsyncIterator[str]:
    """Yield the lines of a pipe or file until its end, in UTF-8.

    A thread of its own reads, so that a pipe nobody writes to does not keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        while True:
            piece = os.read(descriptor, 65_536)
            loop.call_soon_threadsafe(queue.put_nowait, piece)
            if not piece:
                return

    threading.Thread(target=read, name="stdin", daemon=True).start()
    rest = b""
    while piece := await queue.get():
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace")


@contextmanager
def _on_interrupt(stop: Callable[[], bool]) -> Iterator[None]:
    """Let Ctrl-C stop the answer that is being written; a second one, or one too early, ends the program."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    presses = count(1)

    def interrupted() -> None:
        if next(presses) > 1 or not stop():
            task.cancel()

    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _printable(text: str) -> str:
    """Leave out what would steer the terminal instead of being read."""
    return _CONTROLS.sub("", text)
