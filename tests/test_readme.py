"""Both READMEs: what they show comes out of the program, and they say the same."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any, cast

import pytest

from bot.app import open_app
from bot.config import Config, Storage
from bot.console import Console
from bot.console_commands import ConsoleCommands
from memory.types import Author
from tests.pages import HEADING, LINK, READMES, blocks_of, menu, prose_of

SPEAKER = "anna"


def dialogue_of(readme: Path) -> list[str]:
    [dialogue] = [content for _, content in blocks_of(readme) if content.startswith("> ")]
    return dialogue.splitlines()


@pytest.mark.parametrize("language", READMES)
async def test_the_dialogue_of_the_readme_comes_out_of_the_program(language: str, tmp_path: Path) -> None:
    shown = dialogue_of(READMES[language])
    out = io.StringIO()
    config = Config(storage=Storage(dir=tmp_path / "data"))

    async with open_app(config) as app:
        console = Console(
            app.conversation,
            ConsoleCommands(
                app.conversation,
                app.memory,
                app.sessions,
                chat_id=1,
                undo=cast("Any", None),
                zone=config.memory.zone,
            ),
            app.clock,
            1,
            Author(1, SPEAKER),
            language,
            live=False,
            out=out,
        )
        for line in shown:
            if line.startswith("> "):
                print(line, file=out)
                await console.handle(line.removeprefix("> "))

    assert undated(out.getvalue().splitlines()) == undated(shown)


def undated(lines: list[str]) -> list[str]:
    return [re.sub(r"\b\d{1,2} [^\W\d]+ \d{4}\b", "DATE", line) for line in lines]


def test_the_readmes_have_the_same_parts() -> None:
    english, russian = READMES["en"], READMES["ru"]

    def levels(page: Path) -> list[str]:
        return [marks for marks, _ in HEADING.findall(prose_of(page))]

    def without_words(page: Path) -> list[str]:
        blocks = [content for _, content in blocks_of(page) if not content.startswith("> ")]
        return [re.sub(r"\"[^\"]*\"", "TEXT", content) for content in blocks]

    def rows(page: Path) -> list[list[str]]:
        return [re.findall(r"/\w+", row) for row in re.findall(r"^\|.*\|$", prose_of(page), re.MULTILINE)]

    def links(page: Path) -> list[str]:
        return sorted(link for link in LINK.findall(prose_of(page)) if not link.startswith("README"))

    assert levels(english) == levels(russian)
    assert without_words(english) == without_words(russian)
    assert rows(english) == rows(russian)
    assert links(english) == links(russian)


def test_both_readmes_begin_with_the_two_commands() -> None:
    for readme in READMES.values():
        contents = [content.strip() for _, content in blocks_of(readme)]
        assert {"make run", "make test"} <= set(contents)


@pytest.mark.parametrize("language", READMES)
def test_the_readme_names_commands_that_exist(language: str) -> None:
    said = re.findall(r"`/(\w+)", prose_of(READMES[language]))

    assert set(said) == set(menu())
