"""The page of commands against the program: nothing is missing on it, and nothing is invented."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from bot.cli.arguments import parser
from bot.console_commands import ConsoleCommands
from memory.types import MemoryType
from tests.pages import DOCS, FENCE, PAGES, ROOT, blocks_of, code_on, menu, named, text_of
from tests.program import make_program

PAGE = DOCS / "commands.md"
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
PROGRAM = re.compile(
    r"(?:^|(?<=\$ )|(?<=/bin/)|(?<=bot )|(?<=&& )|(?<=time )|(?<=… ))mnemogram(?: [^\n`|;<>&]*)?",
    re.MULTILINE,
)
"""A call of the program with its arguments, where a command stands."""

MANUAL = """# Boiler manual

To restart the boiler, hold the red button for five seconds.

## Errors

E7 means that the water pressure is too low. Open the valve until the gauge shows 1.5 bar.
"""


def commands(
    within: argparse.ArgumentParser, name: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    groups = [action for action in within._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield name, within
    for group in groups:
        for word, inner in group.choices.items():
            yield from commands(inner, f"{name} {word}".strip())


def options(command: argparse.ArgumentParser) -> set[str]:
    return {option for action in command._actions for option in action.option_strings}


COMMANDS = dict(commands(parser()))
COMMON = {"-h", "--help", "--config"}


def sections(page: Path) -> dict[str, str]:
    """What stands below each heading of the third level that is a command."""
    parts = re.split(r"^### `([^`]+)`\n", text_of(page), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_commands_on_the_page_are_those_of_the_program() -> None:
    assert sorted(sections(PAGE)) == sorted(COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_is_described_with_all_its_options_and_no_other(name: str) -> None:
    section = sections(PAGE)[name]
    synopsis = FENCE.findall(section)[0][1]
    table = re.findall(r"^\| `(--[a-z]+)", section, re.MULTILINE)

    known = options(COMMANDS[name]) - COMMON
    long = {option for option in known if option.startswith("--")}
    assert synopsis.startswith(f"mnemogram {name}")
    assert set(OPTION.findall(synopsis)) == long
    assert set(table) == long
    assert set(OPTION.findall(section)) <= known


def test_a_command_takes_its_arguments_as_the_page_says() -> None:
    for name, section in sections(PAGE).items():
        synopsis = FENCE.findall(section)[0][1]
        positional = [str(action.metavar) for action in COMMANDS[name]._actions if not action.option_strings]
        assert all(word in synopsis for word in positional), name


def test_every_type_of_memory_is_named_where_one_can_be_chosen_and_explained() -> None:
    for kind in MemoryType:
        assert kind.value in sections(PAGE)["memory list"]
        assert f"| `{kind}` |" in text_of(DOCS / "memory.md")


def used(page: Path) -> list[list[str]]:
    """The words of each command of the program that stands in code on the page."""
    calls = [call for piece in code_on(page) for call in PROGRAM.findall(piece)]
    return [re.sub(r"\"[^\"]*\"|'[^']*'|\$\([^)]*\)", "TEXT", call).split()[1:] for call in calls]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_that_a_page_uses_exist_with_their_options(page: Path) -> None:
    for words in used(page):
        name = next((each for each in COMMANDS if words[: len(each.split())] == each.split()), None)
        spoken = [word for word in words if word.startswith("-")]
        if name is not None:
            assert set(spoken) <= options(COMMANDS[name]), words
        else:
            assert not words or words[0] in {*(each.split()[0] for each in COMMANDS), "--version"}, words


def rows_of_chat_commands() -> list[list[str]]:
    rows = re.findall(r"^\| `/(\w+)[^`]*` \|([^|]*)\|([^|]*)\|", text_of(PAGE), re.MULTILINE)
    return [[cell.strip() for cell in row] for row in rows]


def test_every_command_of_telegram_stands_on_the_page_and_no_other() -> None:
    handled = {
        name
        for file in (ROOT / "handlers").glob("*.py")
        for name in re.findall(r"\bCommand\(\"(\w+)\"", text_of(file))
    }

    assert {name for name, telegram, _ in rows_of_chat_commands() if telegram} == handled
    assert set(menu()) <= handled


def test_every_command_of_the_console_stands_on_the_page_and_no_other() -> None:
    nothing = cast("Any", None)
    console = ConsoleCommands(nothing, nothing, nothing, chat_id=1, undo=nothing, zone=nothing)

    terminal = {name for name, _, terminal in rows_of_chat_commands() if terminal}

    assert terminal == {*console._commands(), "quit"}


def examples() -> list[tuple[str, list[str]]]:
    """Each command that the page shows with what it prints, in order."""
    shown: list[tuple[str, list[str]]] = []
    for language, content in blocks_of(PAGE):
        for line in content.splitlines() if language == "console" else ():
            if line.startswith("$ mnemogram "):
                shown.append((line.removeprefix("$ mnemogram "), []))
            else:
                shown[-1][1].append(line)
    return shown


def test_the_examples_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = make_program(tmp_path, monkeypatch, capsys, STORAGE__DIR="data")
    monkeypatch.setenv("LOGNAME", "anna")
    (tmp_path / "manual.md").write_text(MANUAL, encoding="utf-8")
    assert examples()

    for command, shown in examples():
        ended = program(*shlex.split(command))

        printed = (ended.out + ended.err).replace(str(tmp_path), "/home/anna/mnemogram")
        assert without_time(printed.splitlines()) == without_time(shown), command


def without_time(lines: list[str]) -> list[str]:
    """Dates and times differ from day to day, and scores a little from machine to machine."""
    moment = r"\d{1,2} [A-Z][a-z]+ \d{4}|\d{4}-?\d\d-?\d\d([ -]\d\d:?\d\d(\d\d)?)?"
    return [re.sub(r"\b\d\.\d\d\b", "SCORE", re.sub(moment, "TIME", line)) for line in lines]
