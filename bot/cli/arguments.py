"""What may stand on the command line: every command with its options and its help."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn

from bot.config import MAX_NEIGHBOURS
from memory.types import MemoryType

PROGRAM = "mnemogram"

Commands = Any  # argparse hides the type of what add_subparsers returns


@dataclass(frozen=True, slots=True)
class Command:
    """One command: where its coroutine function lives, as "module:name"."""

    name: str
    handler: str
    help: str
    arguments: Callable[[Parser], None] | None = None
    json: bool = True


class Parser(argparse.ArgumentParser):
    """Answers wrong use with one sentence and status 2 instead of a page."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, **kwargs)

    def error(self, message: str) -> NoReturn:
        fault = message[0].upper() + message[1:]
        if message.startswith("the following arguments are required: "):
            fault = f"Missing: {message.partition(': ')[2]}"
            if "--chat" in fault:
                fault += " (the terminal is chat 1, `mnemogram memory chats` shows all)"
        self.exit(2, f"{fault}; `{self.prog} --help` shows what is possible.\n")


def parser() -> Parser:
    """Return the parser of the whole command line; it sets `handler` and `json` for every command."""
    root = Parser(
        prog=PROGRAM,
        description="A chat bot that remembers: in Telegram where a token is set, else in this terminal.",
        epilog="Exit status: 0 done, 1 failed, 2 wrong use.",
    )
    root.add_argument("--version", action=_Version, help="show the version and exit")
    _add_config(root)
    commands = root.add_subparsers(metavar="COMMAND", dest="command", required=True, title="commands")
    for command in _SINGLE:
        _add(commands, command)
    for group, (help_text, members) in _GROUPS.items():
        _add_group(commands, group, help_text, members)
    return root


def _add_group(commands: Commands, name: str, help_text: str, members: tuple[Command, ...]) -> None:
    group = commands.add_parser(name, help=help_text, description=_sentence(help_text))
    _add_config(group)
    inner = group.add_subparsers(metavar="COMMAND", dest=f"{name}_command", required=True, title="commands")
    for command in members:
        _add(inner, command)


def _add(commands: Commands, command: Command) -> None:
    sub = commands.add_parser(command.name, help=command.help, description=_sentence(command.help))
    sub.set_defaults(handler=command.handler, json=False)
    _add_config(sub)
    if command.json:
        sub.add_argument("--json", action="store_true", help="print one JSON value instead of text")
    if command.arguments:
        command.arguments(sub)


def _add_config(to: Parser) -> None:
    # Without the default a subcommand would reset what stood before it.
    to.add_argument(
        "--config", type=Path, metavar="FILE", default=argparse.SUPPRESS, help="use this configuration file"
    )


def _sentence(help_text: str) -> str:
    return f"{help_text[0].upper()}{help_text[1:]}."


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __init__(self, option_strings: list[str], dest: str, **kwargs: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **kwargs)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        try:
            version = metadata.version(PROGRAM)
        except metadata.PackageNotFoundError:
            version = "(not installed, run from its source)"
        parser.exit(0, f"{PROGRAM} {version}\n")


def _chat(sub: Parser) -> None:
    sub.add_argument("--chat", type=_number, required=True, metavar="N", help="the number of the chat")


def _file(sub: Parser, help_text: str) -> None:
    sub.add_argument("file", type=Path, metavar="FILE", help=help_text)


def _words(value: str) -> str:
    """Refuse bytes that are no text, which a shell lets through."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("this is not UTF-8 text") from None
    return value


def _number(value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{value!r} is not a whole number") from None
    if not -(2**63) <= number < 2**63:
        raise argparse.ArgumentTypeError("the number is too large")
    return number


def _count(value: str) -> int:
    if (number := _number(value)) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _console(sub: Parser) -> None:
    sub.add_argument("--chat", type=_number, default=1, metavar="N", help="talk in this chat (1)")
    sub.add_argument("--once", type=_words, metavar="TEXT", help="answer this text and exit")


def _narrowed(sub: Parser) -> None:
    _chat(sub)
    types = [kind.value for kind in MemoryType]
    sub.add_argument(
        "--type",
        action="append",
        choices=types,
        default=[],
        help="only this type; may be given several times",
    )
    sub.add_argument("--speaker", type=_words, default="", metavar="NAME", help="only what this person said")
    sub.add_argument("--since", metavar="DATE", help="only from this day or moment on, like 2026-03-12")
    sub.add_argument("--until", metavar="DATE", help="only up to this day (included) or moment")


def _list(sub: Parser) -> None:
    _narrowed(sub)
    sub.add_argument("--limit", type=_count, default=20, metavar="N", help="at most so many (20)")


def _search(sub: Parser) -> None:
    sub.add_argument("query", type=_words, metavar="QUERY", help="what to look for, in your own words")
    _narrowed(sub)
    sub.add_argument("-k", "--limit", type=_count, default=8, metavar="N", help="at most so many (8)")
    sub.add_argument(
        "--neighbours",
        type=_number,
        choices=range(MAX_NEIGHBOURS + 1),
        metavar="N",
        help="show so many turns before and after a found one (memory.neighbours)",
    )
    sub.add_argument("--explain", action="store_true", help="show the parts of each score")


def _show(sub: Parser) -> None:
    sub.add_argument("id", type=_number, metavar="ID", help="the number of the memory")
    _chat(sub)


def _forget(sub: Parser) -> None:
    _chat(sub)
    what = sub.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--id", type=_number, action="append", metavar="ID", help="this memory; may be given several times"
    )
    what.add_argument(
        "--match",
        type=_words,
        metavar="TEXT",
        help="the memories with all these words in any form, or in quotes with exactly these",
    )
    what.add_argument("--all", action="store_true", help="everything that this chat has left here")
    sub.add_argument("--yes", action="store_true", help="do not ask first; there is no undo")


def _export(sub: Parser) -> None:
    _chat(sub)
    sub.add_argument("file", type=Path, nargs="?", metavar="FILE", help="the file to write (standard output)")
    _force(sub)


def _import_memories(sub: Parser) -> None:
    _file(sub, "a file that `memory export` wrote")
    _chat(sub)


def _import_document(sub: Parser) -> None:
    _file(sub, "a .txt or .md file in UTF-8")
    _chat(sub)


def _backup(sub: Parser) -> None:
    _file(sub, "the file to write")
    _force(sub)


def _force(sub: Parser) -> None:
    sub.add_argument("--force", action="store_true", help="overwrite the file where it exists")


def _restore(sub: Parser) -> None:
    _file(sub, "a file that `backup` wrote")


def _jobs_run(sub: Parser) -> None:
    sub.add_argument("--now", action="store_true", help="run every job, whether it is due or not")


_SINGLE = (
    Command("run", "bot.cli.run:run", "serve Telegram where a token is set, else talk here", json=False),
    Command("console", "bot.cli.run:console", "talk with the bot in this terminal", _console, json=False),
    Command("import", "bot.cli.transfer:import_document", "let a chat know a document", _import_document),
    Command("backup", "bot.cli.backup:backup", "copy the database, also beside a running bot", _backup),
    Command("restore", "bot.cli.backup:restore", "put a backup in place of the database", _restore),
    Command("doctor", "bot.cli.doctor:doctor", "check that everything works, and say what to do"),
)
_GROUPS: dict[str, tuple[str, tuple[Command, ...]]] = {
    "memory": (
        "see and change what a chat remembers",
        (
            Command("chats", "bot.cli.memory:chats", "list the chats that have left anything here"),
            Command("list", "bot.cli.memory:list_memories", "list what is remembered, newest first", _list),
            Command("search", "bot.cli.memory:search", "find memories by meaning and by words", _search),
            Command("show", "bot.cli.memory:show", "show one memory with all that is known of it", _show),
            Command("forget", "bot.cli.memory:forget", "remove memories at once and for good", _forget),
            Command("export", "bot.cli.transfer:export", "write what a chat remembers as JSON", _export),
            Command(
                "import", "bot.cli.transfer:import_memories", "read an export into a chat", _import_memories
            ),
        ),
    ),
    "index": (
        "look after the vector index",
        (
            Command("rebuild", "bot.cli.index:rebuild", "build the vector index anew from the database"),
            Command("check", "bot.cli.index:check", "compare the vector index with the database"),
        ),
    ),
    "jobs": (
        "background work",
        (Command("run", "bot.cli.jobs:run", "run the background work that is due, once", _jobs_run),),
    ),
    "config": (
        "the configuration",
        (Command("check", "bot.cli.config:check", "check the configuration and show where it points"),),
    ),
}
