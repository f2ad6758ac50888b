"""What the program says to people, in their language: Fluent messages from bot/locales."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache
from importlib.resources import files

from babel.dates import format_date
from fluent.runtime import FluentBundle, FluentResource
from fluent.runtime.types import fluent_number

LANGUAGES = ("en", "ru")
"""The languages that every message exists in; the first one serves everybody else."""


def text(key: str, language: str, /, **args: str | int) -> str:
    """Return the message `key` in `language` (a code such as "ru" or "ru-RU"), English where that is unknown.

    Whole numbers choose the plural form and are shown without separators, so that an id stays an id.
    Raises LookupError for a key or a variable that does not exist: a fault of the program, found by tests.
    """
    bundle = _bundle(known_language(language))
    if not bundle.has_message(key):
        raise LookupError(f"there is no text {key}")
    pattern = bundle.get_message(key).value
    if pattern is None:
        raise LookupError(f"the text {key} is empty")
    shown, errors = bundle.format_pattern(pattern, {name: _argument(value) for name, value in args.items()})
    if errors:
        raise LookupError(f"the text {key} lacks a variable: {errors[0]}")
    return str(shown)


def known_language(language: str) -> str:
    """Return the one of LANGUAGES that serves a person with this language code."""
    code = language.lower().replace("_", "-").partition("-")[0]
    return code if code in LANGUAGES else LANGUAGES[0]


def date_text(day: date, language: str) -> str:
    """Return a day as people write it: "12 March 2026", "12 марта 2026"."""
    return format_date(day, "d MMMM y", locale=known_language(language))


def whole_minutes(time: timedelta) -> int:
    """Return a time as the minutes that are told; less than one is one."""
    return max(1, round(time.total_seconds() / 60))


def shortened(words: str, most: int) -> str:
    """Return the words in one line of at most so many characters, cut between two of them."""
    line = " ".join(words.split())
    return line if len(line) <= most else line[: most - 2].rsplit(" ", 1)[0] + " …"


@cache
def _bundle(language: str) -> FluentBundle:
    # Isolation marks would stand invisibly around every variable, in names and in copied commands.
    bundle = FluentBundle([language], use_isolating=False)
    source = files("bot.locales").joinpath(f"{language}.ftl").read_text(encoding="utf-8")
    bundle.add_resource(FluentResource(source))
    return bundle


def _argument(value: str | int) -> object:
    return fluent_number(value, useGrouping=False) if isinstance(value, int) else value
