"""The index is truncated, overwritten, deleted, or taken away from under the bot: nothing is lost."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import pytest_asyncio

from tests.e2e.stage import Stage, set_up, until
from tests.fakes.anthropic import last_user_text, text, tool_use
from tests.fakes.telegram import Chat

pytestmark = pytest.mark.asyncio(loop_scope="module")

Damage: TypeAlias = Callable[[Path], None]

FACTS = (
    "Anna's canoe is painted green",
    "Anna's brother lives in Lisbon",
    "Anna's piano was built in 1911",
    "Anna's neighbour repairs clocks",
)
LATER = "Anna's sister sails to Iceland"
QUESTION = "Which colour has my boat?"


def truncated(index: Path) -> None:
    for file in _files(index):
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def overwritten(index: Path) -> None:
    for file in _files(index):
        file.write_bytes(b"garbage!" * (file.stat().st_size // 8))


def deleted(index: Path) -> None:
    shutil.rmtree(index)


def _files(index: Path) -> list[Path]:
    return [file for file in index.rglob("*") if file.is_file()]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def known(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mapping[str, str]]:
    """What Claude was told with a question right after each damage, and what `index check` said."""
    async with set_up(tmp_path_factory.mktemp("damage")) as stage:
        yield await _played(stage)
        stage.forgive_probes()
        stage.check()


async def _played(stage: Stage) -> Mapping[str, str]:
    anna, index, known = stage.person(), stage.bot.data / "index", {}
    await _tell(stage, anna)
    await stage.bot.terminate()
    for damage in (truncated, overwritten):
        damage(index)
        await stage.bot.launch()
        known[damage.__name__] = await _asked(stage, anna)
        await until(lambda: _indexed(index) == len(FACTS))
        stage.bot.kill()
    await stage.bot.launch()
    await until(lambda: _indexed(index) == len(FACTS))
    deleted(index)
    known["deleted while the bot ran"] = await _asked(stage, anna)
    await anna.answer_after(await anna.send("note my sister"), containing="Noted.")
    await until(lambda: _indexed(index) == len(FACTS) + 1)
    await stage.bot.terminate()
    known["check after that"] = await _check(stage)
    deleted(index)
    await stage.bot.launch()
    known["deleted"] = await _asked(stage, anna)
    await until(lambda: _indexed(index) == len(FACTS) + 1)
    await stage.bot.terminate()
    known["check in the end"] = await _check(stage)
    return known


async def _tell(stage: Stage, anna: Chat) -> None:
    saves = tool_use("save_to_memory", {"content": FACTS[0]})
    for fact in FACTS[1:]:
        saves += tool_use("save_to_memory", {"content": fact})
    stage.rules.when("note this", saves, text("All noted."))
    stage.rules.when("note my sister", tool_use("save_to_memory", {"content": LATER}), text("Noted."))
    await stage.bot.launch()
    await anna.answer_after(await anna.send("note this"), containing="All noted.")
    await until(lambda: _indexed(stage.bot.data / "index") == len(FACTS))


async def _asked(stage: Stage, anna: Chat) -> str:
    await anna.answer_after(await anna.send(QUESTION), containing="I see.")
    return last_user_text(stage.api.asked[-1])


def _indexed(index: Path) -> int:
    """Return how many vectors the files of the index hold; 0 where there are none that can be read."""
    for file in index.rglob("chroma.sqlite3"):
        try:
            with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
                [(count,)] = database.execute("SELECT count(*) FROM embeddings")
                return int(count)
        except sqlite3.Error:
            continue
    return 0


async def _check(stage: Stage) -> str:
    done = await stage.bot.command("index", "check", "--json")
    report: dict[str, Any] = json.loads(done.stdout)
    return f"status {done.returncode}, ok {report['ok']}, memories {report['memories']}"


@pytest.mark.parametrize("damage", ["truncated", "overwritten", "deleted", "deleted while the bot ran"])
async def test_a_question_right_after_the_index_was(known: Mapping[str, str], damage: str) -> None:
    """It is answered from memory at once."""
    assert FACTS[0] in known[damage]


@pytest.mark.parametrize("moment", ["check after that", "check in the end"])
async def test_index_and_database_agree_again_later(known: Mapping[str, str], moment: str) -> None:
    assert known[moment] == f"status 0, ok True, memories {len(FACTS) + 1}"
