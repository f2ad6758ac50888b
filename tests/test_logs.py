"""Log lines: nobody's words and no secrets, whoever logs them."""

from __future__ import annotations

import io
import logging
import sys
import warnings
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from bot.config import Claude, Config, Storage, Telegram
from bot.logs import MAX_EXTRA, OURS, LineHandler, describe, secrets_of, set_up_logging

CANARY = "моя собака Бублик"
TOKEN = "123456789:AAF-abcdefghijklmnopqrstuvwxyz0123456"
API_KEY = "sk-own-key-0042"
SECRETS = (TOKEN, API_KEY)
LIBRARIES = (
    *("aiogram", "aiogram.dispatcher", "aiogram.event", "aiohttp.client", "aiohttp.server", "aiosqlite"),
    *("anthropic", "anthropic._base_client", "apscheduler.executors.default", "apscheduler.scheduler"),
    *("asyncio", "chromadb", "chromadb.telemetry", "httpcore.http11", "httpx", "httpx2", "py.warnings"),
    *("sentence_transformers", "sqlalchemy.engine", "sqlalchemy.pool", "telegramify_markdown"),
)


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Our logging at debug level; afterwards everything is as pytest had it."""
    hooks = sys.excepthook, sys.unraisablehook
    loggers = [logging.getLogger(name) for name in ("", *OURS, *LIBRARIES)]
    levels = [logger.level for logger in loggers]
    stream = io.StringIO()
    set_up_logging("debug", SECRETS, stream)
    yield stream
    logging.captureWarnings(capture=False)
    sys.excepthook, sys.unraisablehook = hooks
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, LineHandler)]


def fail(text: str) -> None:
    raise ValueError(text)


def caught(text: str) -> ValueError:
    try:
        fail(text)
    except ValueError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR])
def test_a_library_shows_neither_words_nor_secrets_even_when_it_raised_its_own_level(
    stream: io.StringIO, name: str, level: int
) -> None:
    logger = logging.getLogger(name)
    logger.setLevel(logging.DEBUG)
    one_string = f"request to /bot{TOKEN}/sendMessage: {CANARY}"

    logger.log(level, one_string)
    logger.log(level, "parameters %s with %s", CANARY, API_KEY)
    logger.log(level, "failed", exc_info=caught(f"{CANARY} {TOKEN}"))

    shown = stream.getvalue()
    assert CANARY not in shown
    assert not any(secret in shown for secret in SECRETS)
    assert shown.count("\n") == (3 if level >= logging.WARNING else 0)


def test_a_librarys_warning_still_says_who_where_and_which_error(stream: io.StringIO) -> None:
    logging.getLogger("aiogram.dispatcher").error("failed %s", CANARY, exc_info=caught(CANARY))

    line = stream.getvalue()
    assert " ERROR aiogram.dispatcher (text withheld) at " in line
    assert "tests/test_logs.py:" in line
    assert "error=ValueError at " in line
    assert " in fail" in line


@pytest.mark.parametrize("name", ["bot.loop", "memory.search", "handlers.chat"])
def test_our_own_records_show_their_message_and_ids_at_debug_level(stream: io.StringIO, name: str) -> None:
    logging.getLogger(name).debug("a turn ended", extra={"chat": -100, "update": 7})

    assert stream.getvalue().endswith(f" DEBUG {name} a turn ended chat=-100 update=7\n")


def test_the_level_of_the_configuration_is_kept(stream: io.StringIO) -> None:
    set_up_logging("error", SECRETS, stream)

    logging.getLogger("bot.loop").warning("not shown")

    assert stream.getvalue() == ""


def test_setting_up_twice_does_not_write_lines_twice(stream: io.StringIO) -> None:
    set_up_logging("info", SECRETS, stream)

    logging.getLogger("bot").info("once")

    assert stream.getvalue().count("once") == 1


def test_an_exceptions_text_is_left_out_wherever_it_stands_in_our_own_records(stream: io.StringIO) -> None:
    error = caught(CANARY)

    logging.getLogger("bot").error("failed: %s", error, exc_info=error, extra={"reason": error})

    line = stream.getvalue()
    assert CANARY not in line
    assert " failed: ValueError reason=ValueError error=ValueError at " in line


def test_an_error_is_described_with_its_causes_and_the_parts_of_a_group() -> None:
    try:
        try:
            fail(CANARY)
        except ValueError as cause:
            raise ExceptionGroup(CANARY, [KeyError(CANARY), OSError(CANARY)]) from cause
    except ExceptionGroup as group:
        described = describe(group)

    assert described.startswith("ExceptionGroup[KeyError, OSError] from ValueError at ")
    assert CANARY not in described


def test_causes_that_run_in_a_circle_have_an_end() -> None:
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first

    assert describe(first).startswith("ValueError from KeyError from ")


@pytest.mark.parametrize(
    "text",
    [
        TOKEN,
        f"https://api.telegram.org/bot{TOKEN}/getUpdates?offset=1",
        f"/bot{quote(TOKEN, safe='')}/getMe",
        API_KEY,
        f"Authorization: Bearer {API_KEY}",
        "987654321:BBF-abcdefghijklmnopqrstuvwxyz6543210",
        "sk-ant-api03-unknown-to-this-process",
        "postgresql://bot:hunter2@db/mnemogram",
    ],
)
def test_secrets_are_hidden_in_our_own_records_too(stream: io.StringIO, text: str) -> None:
    logging.getLogger("bot").info("calling %s", text, extra={"address": text})

    line = stream.getvalue()
    assert line.count("[secret]") == 2
    for secret in (TOKEN, quote(TOKEN, safe=""), API_KEY, "BBF-abcdef", "api03", "hunter2"):
        assert secret not in line


def test_a_secret_in_a_long_value_is_not_cut_in_half(stream: io.StringIO) -> None:
    logging.getLogger("bot").info("calling", extra={"address": "x" * (MAX_EXTRA - 10) + TOKEN})

    assert TOKEN[:10] not in stream.getvalue()


def test_every_secret_of_the_configuration_is_known() -> None:
    config = Config(
        telegram=Telegram.model_validate({"token": TOKEN}),
        claude=Claude.model_validate({"api_key": API_KEY}),
        storage=Storage.model_validate({"database_url": "postgresql://bot:hunter2@db/x"}),
    )

    assert {TOKEN, TOKEN.partition(":")[2], API_KEY, "hunter2"} <= set(secrets_of(config))


def test_an_unset_secret_hides_nothing(stream: io.StringIO) -> None:
    set_up_logging("info", secrets_of(Config()), stream)

    logging.getLogger("bot").info("plain words")

    assert stream.getvalue().endswith(" plain words\n")


def test_a_record_is_one_line(stream: io.StringIO) -> None:
    logging.getLogger("bot").info("a name", extra={"name_shown": "first\nsecond\r\nINFO forged"})

    assert stream.getvalue().count("\n") == 1


def test_a_record_that_cannot_be_formatted_is_dropped_without_its_text(
    stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    [handler] = [handler for handler in logging.getLogger().handlers if isinstance(handler, LineHandler)]

    handler.handle(logging.makeLogRecord({"name": "bot", "msg": "%d", "args": (CANARY,)}))

    assert CANARY not in stream.getvalue() + capsys.readouterr().err


def test_lines_go_to_stderr_and_never_to_stdout(
    stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up_logging("info")

    logging.getLogger("bot").info("hello")

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith(" INFO bot hello\n")


def test_a_warning_of_python_shows_no_text(stream: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=False)
        logging.captureWarnings(capture=True)
        warnings.warn(CANARY, UserWarning, stacklevel=1)
        logging.captureWarnings(capture=False)

    assert " WARNING py.warnings (text withheld) at " in stream.getvalue()
    assert CANARY not in stream.getvalue()


def test_an_uncaught_error_shows_no_text(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    set_up_logging("info", SECRETS, stream)
    error = caught(CANARY)

    sys.excepthook(type(error), error, error.__traceback__)

    assert "the program stopped on an error error=ValueError at " in stream.getvalue()
    assert CANARY not in stream.getvalue() + capsys.readouterr().err
