"""Log lines for the operator: ids, classes and places; never a secret, never what somebody said.

Our own records have constant messages and carry ids as `extra`. What libraries log may hold anything (an
address with the token, the parameters of a statement, a whole request), so of their records only the logger,
the level and the place in the code are shown, and nothing below a warning. Exceptions show as their classes
and frames.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import PurePath
from types import TracebackType
from typing import TextIO
from urllib.parse import quote, urlsplit

from bot.config import Config

OURS = ("bot", "handlers", "memory", "__main__")
"""The packages whose log messages are constants."""

HIDDEN = "[secret]"
SHORTEST_SECRET = 4
"""Characters; something shorter cannot be told from ordinary text."""

MAX_EXTRA = 120
MAX_FRAMES = 8
MAX_CAUSES = 5

# Secrets are known by their shape as well, for those that this process was never told.
_SHAPES = (
    r"\b\d{5,}(?::|%3A)[A-Za-z0-9_-]{30,}",  # a bot token, alone or in a path
    r"\bsk-ant-[A-Za-z0-9_-]{8,}",
    r"(?i:(?<=bearer )\S+)",
    r"(?<=://)[^/\s@]+(?=@)",  # name and password in an address
)
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

log = logging.getLogger(__name__)


def set_up_logging(level: str, secrets: Iterable[str] = (), stream: TextIO | None = None) -> None:
    """Send log lines to `stream`, or to what is stderr at that moment; may be called again.

    `level` is for our own loggers; libraries stay at warnings whatever it is.
    """
    root = logging.getLogger()
    for old in [handler for handler in root.handlers if isinstance(handler, LineHandler)]:
        root.removeHandler(old)
    root.addHandler(LineHandler(LineFormatter(secrets), stream))
    root.setLevel(logging.WARNING)
    for name in OURS:
        logging.getLogger(name).setLevel(level.upper())
    logging.captureWarnings(capture=True)
    _catch_the_uncaught()


def secrets_of(config: Config) -> list[str]:
    """Return everything in the configuration that no log line may hold."""
    token = config.telegram.token.get_secret_value()
    address = config.storage.database_url.get_secret_value()
    password = urlsplit(address).password or ""
    return [token, token.partition(":")[2], config.claude.api_key.get_secret_value(), address, password]


class LineHandler(logging.StreamHandler[TextIO]):
    """Writes one line for each record that may be shown."""

    def __init__(self, formatter: logging.Formatter, stream: TextIO | None = None) -> None:
        super().__init__(stream or sys.stderr)
        self._follows_stderr = stream is None
        self.setFormatter(formatter)
        self.addFilter(lambda record: is_ours(record.name) or record.levelno >= logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        if self._follows_stderr:
            self.stream = sys.stderr
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Stay silent about a record that cannot be written: the standard way prints it with its text."""


class LineFormatter(logging.Formatter):
    """Turns a record into one line without secrets."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        self._secret = _pattern(secrets)

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        parts = [time, record.levelname, record.name, *self._what(record)]
        if record.exc_info and record.exc_info[1] is not None:
            parts.append(f"error={describe(record.exc_info[1])}")
        return self._secret.sub(HIDDEN, _one_line(" ".join(parts)))

    def _what(self, record: logging.LogRecord) -> list[str]:
        if not is_ours(record.name):
            return [f"(text withheld) at {_place(record.pathname, record.lineno, record.funcName)}"]
        extras = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        return [_message(record), *(f"{name}={self._short(value)}" for name, value in extras.items())]

    def _short(self, value: object) -> str:
        text = _classes(value) if isinstance(value, BaseException) else str(value)
        # Hidden before it is cut, or the first half of a secret would stay.
        text = self._secret.sub(HIDDEN, text)
        return text if len(text) <= MAX_EXTRA else f"{text[:MAX_EXTRA]}…"


def is_ours(logger: str) -> bool:
    """Tell whether the messages of this logger are constants of this program."""
    return logger.partition(".")[0] in OURS


def describe(error: BaseException) -> str:
    """Return the classes of an error and its causes, and the frames it came through; never its text."""
    return f"{_classes(error)} at {_frames(error.__traceback__)}"


def _message(record: logging.LogRecord) -> str:
    if not isinstance(record.args, tuple):
        return record.getMessage()
    # The text of an exception may quote anything, so that even our own records show its class only.
    args = tuple(_classes(arg) if isinstance(arg, BaseException) else arg for arg in record.args)
    return str(record.msg) % args if args else str(record.msg)


def _classes(error: BaseException, depth: int = 0) -> str:
    name = type(error).__name__
    if depth == MAX_CAUSES:  # causes may run in a circle
        return name
    if isinstance(error, BaseExceptionGroup):
        name += f"[{', '.join(_classes(part, depth + 1) for part in error.exceptions)}]"
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return name if cause is None else f"{name} from {_classes(cause, depth + 1)}"


def _frames(trace: TracebackType | None) -> str:
    frames = [
        _place(frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(trace)
    ]
    return " > ".join(frames[-MAX_FRAMES:]) or "an unknown place"


def _place(path: str, line: int, function: str | None) -> str:
    return f"{'/'.join(PurePath(path).parts[-3:])}:{line} in {function}"


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _pattern(secrets: Iterable[str]) -> re.Pattern[str]:
    known = {form for secret in secrets for form in (secret, quote(secret, safe=""))}
    # Longer ones first, so that a secret that is part of another does not leave the rest of it standing.
    spelled = sorted((form for form in known if len(form) >= SHORTEST_SECRET), key=len, reverse=True)
    return re.compile("|".join([*map(re.escape, spelled), *_SHAPES]))


def _catch_the_uncaught() -> None:
    """Log what Python itself would print with its text; hooks that somebody else has set stay."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _stopped
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _thread_stopped
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _not_raised


def _stopped(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        log.critical("the program stopped on an error", exc_info=(kind, error, trace))


def _thread_stopped(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None:
        log.error("a thread stopped on an error", exc_info=args.exc_value)


def _not_raised(unraisable: sys.UnraisableHookArgs) -> None:
    if unraisable.exc_value is not None:
        log.error("an error could not be raised", exc_info=unraisable.exc_value)
