"""`run` and `console`: the bot itself, in Telegram or in this terminal."""

from __future__ import annotations

import asyncio
import getpass
import os
import signal
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from bot.app import App, open_app, serve_web
from bot.cli.errors import Failed
from bot.cli.output import say
from bot.config import Config
from bot.console import Console, piped_lines, typed_lines
from bot.console_commands import ConsoleCommands
from bot.texts import known_language, text
from memory.types import Author

CONSOLE_CHAT = 1
CONSOLE_AUTHOR = 1
STDIN = 0

Serve: TypeAlias = Callable[[App, asyncio.Event], Awaitable[None]]
"""Serves a messenger until the event is set."""


async def run(config: Config, args: Namespace, telegram: Serve) -> int:
    """Serve Telegram where a token is set, else talk in the terminal."""
    if not config.telegram.token.get_secret_value():
        if not _somebody_there():
            raise Failed(
                "There is no Telegram token, and no terminal to talk in; set TELEGRAM_BOT_TOKEN, "
                "start this in a terminal, or pipe lines into it."
            )
        return await console(config, args)
    stop = asyncio.Event()
    with _on_signals(stop.set, signal.SIGTERM, signal.SIGINT):
        async with open_app(config) as app:
            await app.start()
            async with serve_web(app):
                await telegram(app, stop)
    return 0


async def console(config: Config, args: Namespace) -> int:
    """Talk in the terminal or through pipes. Nothing runs beside the one answer of --once."""
    once: str | None = getattr(args, "once", None)
    language = _language(os.environ)
    live = once is None and _is_terminal()
    with _on_signals(_cancel_this_task(), signal.SIGTERM):
        async with open_app(config, note=say) as app:
            talk = _console(app, getattr(args, "chat", CONSOLE_CHAT), language, live=live)
            if once is not None:
                await talk.handle(once)
                return 0
            await app.start()
            if live:
                print(_greeting(app, language))
            fine = await talk.talk(_lines(language, live=live)) if sys.stdin else True
            return 0 if fine else 1


def _console(app: App, chat_id: int, language: str, *, live: bool) -> Console:
    author = Author(CONSOLE_AUTHOR, _user_name(language))
    commands = ConsoleCommands(
        app.conversation,
        app.memory,
        app.sessions,
        chat_id=chat_id,
        undo=timedelta(minutes=app.config.memory.undo_minutes),
        zone=app.config.memory.zone,
        neighbours=app.config.memory.neighbours,
        author=author,
    )
    return Console(app.conversation, commands, app.clock, chat_id, author, language, live=live)


def _lines(language: str, *, live: bool) -> AsyncIterator[str]:
    return typed_lines(language) if live else piped_lines(STDIN)


def _greeting(app: App, language: str) -> str:
    """Say who answers, where the memory lies and what to type next."""
    config = app.config
    if config.claude.is_configured:
        brain = text("console-brain", language, model=config.claude.model)
    else:
        brain = text("console-brain-offline", language)
    place = text(
        "console-place",
        language,
        directory=str(config.storage.dir.absolute()),
        embedder=config.embeddings.model,
    )
    return f"{brain}\n{place}\n"


def _language(environ: Mapping[str, str]) -> str:
    """The language of the terminal, until the person writes in another one."""
    named = (environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return known_language(next(filter(None, named), ""))


def _user_name(language: str) -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return text("console-you", language)


def _is_terminal() -> bool:
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout.isatty())


def _somebody_there() -> bool:
    """Whether anything can come in; a service is started with nothing to read from."""
    return sys.stdin is not None and os.fstat(STDIN).st_rdev != Path(os.devnull).stat().st_rdev


def _cancel_this_task() -> Callable[[], object]:
    task = asyncio.current_task()
    assert task is not None
    return task.cancel


@contextmanager
def _on_signals(stop: Callable[[], object], *numbers: signal.Signals) -> Iterator[None]:
    """Let signals ask for the end instead of forcing it."""
    loop = asyncio.get_running_loop()
    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
