"""What cannot work is refused with one sentence that says what to do; nothing is lost by it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from bot.texts import text as said_by_bot
from tests.e2e.stage import Stage, set_up, until
from tests.fakes.anthropic import last_user_words, text

QUIET = {"MNEMOGRAM_LOG__LEVEL": "error"}
FILES: Mapping[str, tuple[bytes, str]] = {
    "is not TOML": (b"[telegram\ntoken = 1", "not valid TOML"),
    "is not text": (b"\xff\xfe\x00\x01", "not UTF-8 text"),
    "has an unknown key": (b"[telegram]\ntokn = 'x'", "did you mean telegram.token?"),
    "has a value in place of a section": (b"telegram = 5", "telegram"),
    "has a word where a number belongs": (b"[sessions]\nidle_minutes = 'long'", "sessions.idle_minutes"),
    "has an impossible number": (b"[memory]\nundo_minutes = -1", "memory.undo_minutes"),
}
SETTINGS: Mapping[str, tuple[Mapping[str, str], str]] = {
    "a token of the wrong shape": ({"TELEGRAM_BOT_TOKEN": "my-token"}, "is not a bot token"),
    "a base URL that ends in /v1": ({"ANTHROPIC_BASE_URL": "http://127.0.0.1:9/v1"}, "without /v1"),
    "a base URL that is none": ({"ANTHROPIC_BASE_URL": "localhost"}, "http://"),
    "a key with a line break": ({"ANTHROPIC_API_KEY": "sk-ant-\n-key-secret"}, "claude.api_key"),
    "a model server without an address": ({"MNEMOGRAM_VECTORS__MODE": "server"}, "vectors.url"),
    "an unknown time zone": ({"MNEMOGRAM_MEMORY__TIMEZONE": "Moon/Crater"}, "memory.timezone"),
    "a data directory that cannot be made": (
        {"MNEMOGRAM_STORAGE__DIR": "/sys/mnemogram"},
        "/sys/mnemogram cannot be written",
    ),
    "people named by their nicknames": ({"MNEMOGRAM_ACCESS__USERS": "@anna"}, "access.users"),
    "an unknown setting": ({"MNEMOGRAM_CLAUDE__MODLE": "x"}, "did you mean claude.model?"),
}


def _check_refusal(done: CompletedProcess[str], words: str) -> None:
    """One sentence on stderr that names the cause, and nothing else."""
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    [sentence] = done.stderr.splitlines()
    assert words in sentence
    assert sentence.endswith((".", "?"))


@pytest.fixture
async def quiet(tmp_path: Path) -> AsyncIterator[Stage]:
    """A stage whose bot logs errors only."""
    async with set_up(tmp_path, env=QUIET) as stage:
        yield stage
        stage.check()


@pytest.mark.parametrize("fault", FILES)
async def test_a_configuration_is_refused_that(quiet: Stage, tmp_path: Path, fault: str) -> None:
    content, words = FILES[fault]
    (tmp_path / "config.toml").write_bytes(content)

    _check_refusal(await quiet.bot.command("run"), words)


@pytest.mark.parametrize("fault", SETTINGS)
async def test_a_start_is_refused_with(quiet: Stage, fault: str) -> None:
    changed, words = SETTINGS[fault]
    quiet.bot.env |= changed

    done = await quiet.bot.command("run")

    _check_refusal(done, words)
    assert not [value for value in changed.values() if len(value) > 16 and value in done.stderr]


async def test_a_configuration_file_that_is_named_has_to_be_there(quiet: Stage) -> None:
    _check_refusal(await quiet.bot.command("--config", "nowhere.toml", "run"), "nowhere.toml")


async def test_an_empty_configuration_file_is_one(quiet: Stage, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"")

    done = await quiet.bot.command("config", "check")

    assert (done.returncode, done.stderr) == (0, "")


async def test_a_token_that_telegram_refuses_ends_the_start(quiet: Stage) -> None:
    quiet.tg.token = "710011223:another-token-that-BotFather-has-given"

    _check_refusal(await quiet.bot.command("run"), "Telegram refuses telegram.token")


async def test_a_file_in_place_of_the_data_directory_is_left_alone(quiet: Stage) -> None:
    quiet.bot.data.write_text("my thesis")

    _check_refusal(await quiet.bot.command("run"), "is not a directory")

    assert quiet.bot.data.read_text() == "my thesis"


async def test_a_database_that_is_none_is_left_alone(quiet: Stage) -> None:
    quiet.bot.data.mkdir()
    file = quiet.bot.data / "mnemogram.db"
    file.write_text("my thesis, not a database at all. " * 200)

    _check_refusal(await quiet.bot.command("run"), "mnemogram.db")

    assert file.read_text().startswith("my thesis")


async def test_a_port_that_is_taken_is_told(quiet: Stage) -> None:
    quiet.bot.env["MNEMOGRAM_WEB__LISTEN"] = quiet.tg.url.removeprefix("http://")

    _check_refusal(await quiet.bot.command("run"), "web.listen")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A data directory on a disk of its own that is soon full."""
    data = tmp_path / "data"
    data.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(data)]
    if os.geteuid() != 0 or sys.platform != "linux" or subprocess.run(mount, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield data
    subprocess.run(["umount", "--lazy", str(data)], check=True)


async def test_a_start_on_a_full_disk_is_refused(small_disk: Path, quiet: Stage) -> None:
    _fill(small_disk / "filler")

    _check_refusal(await quiet.bot.command("run"), "full")


async def test_a_full_disk_loses_neither_a_message_nor_an_answer(small_disk: Path, tmp_path: Path) -> None:
    async with set_up(tmp_path) as stage:
        anna, filler = stage.person(), small_disk / "filler"
        stage.rules.when("long story", text(f"{'Once upon a time. ' * 300}The end."))
        await stage.bot.launch()
        hold = stage.api.hold(20, when=lambda request: "long story" in last_user_words(request))
        asked = await anna.send("Tell me a long story")
        await hold.reached()
        _fill(filler)
        hold.release()
        await anna.answer_after(asked, containing=said_by_bot("errors-storage", "en"))
        unheard = await anna.send("Are you there? " * 250)
        await until(lambda: "no updates, trying again" in stage.bot.log)

        filler.unlink()
        await anna.answer_after(unheard, containing="I see.")
        await stage.bot.restart()

        await anna.answer_after(asked, containing="The end.")
        seen = [message.text for message in anna.visible]
        assert [sum(end in text for text in seen) for end in ("The end.", "I see.")] == [1, 1]
        stage.forgive_probes()
        stage.check()


def _fill(file: Path) -> None:
    with file.open("wb", buffering=0) as filler:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    filler.write(b"x" * size)
            except OSError:
                continue
