"""The program: reads the command line, runs one command and turns every fault into one sentence."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from bot.cli.arguments import parser
from bot.cli.errors import WrongUse
from bot.config import Config, load_config
from bot.logs import describe, secrets_of, set_up_logging
from memory.errors import ConfigError, MnemogramError

if TYPE_CHECKING:
    from bot.app import App

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    _never_fail_to_print()
    args = parser().parse_args(arguments)
    try:
        return _flushed(asyncio.run(_run(args)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has left.
        _drop_output()
        return FAILED
    except (ConfigError, WrongUse) as error:
        return _refused(error, WRONG_USE)
    except MnemogramError as error:
        return _refused(error, FAILED)
    except OSError as error:
        # A file that is full has a name; our output has none.
        if error.errno != errno.ENOSPC or error.filename:
            return _unexpected(error)
        _drop_output()
        print("The output cannot be written, its disk is full; write it to another place.", file=sys.stderr)
        return FAILED
    except Exception as error:  # noqa: BLE001  the last boundary: people get a sentence, no traceback
        return _unexpected(error)


async def _run(args: Namespace) -> int:
    config = load_config(getattr(args, "config", None), os.environ)
    set_up_logging(_log_level(config, args), secrets_of(config))
    # Imported here, so that each command loads only what it needs.
    command: Callable[..., Awaitable[int]] = resolve_name(args.handler)
    if args.command == "run":
        return await command(config, args, _serve_telegram)
    return await command(config, args)


async def _serve_telegram(app: App, stop: asyncio.Event) -> None:
    from handlers import run_telegram
    from handlers.polling import PollingHealth

    health = PollingHealth(app.clock)
    app.checks["telegram"] = health.check
    await run_telegram(app, stop, health)


def _log_level(config: Config, args: Namespace) -> str:
    """A served bot logs as configured; a terminal that somebody reads shows only what is wrong."""
    serving = args.command == "run" and config.telegram.token.get_secret_value()
    if serving or config.log.level == "debug":
        return config.log.level
    talking = args.command in ("run", "console")  # where every fault is told in the answer
    return "error" if talking or config.log.level == "error" else "warning"


def _never_fail_to_print() -> None:
    """A terminal that lacks a character shows a substitute for it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _flushed(status: int) -> int:
    if sys.stdout:  # None where the program was started without one
        sys.stdout.flush()
    return status


def _drop_output() -> None:
    """Send what is left to nowhere; Python would complain once more when it flushes at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refused(error: MnemogramError, status: int) -> int:
    print(error, file=sys.stderr)
    return status


def _unexpected(error: Exception) -> int:
    """Name the fault and its place for a report; its text may hold what somebody said."""
    print(f"Something unforeseen went wrong: {describe(error)}; please report this line.", file=sys.stderr)
    return FAILED


if __name__ == "__main__":
    sys.exit(main())
