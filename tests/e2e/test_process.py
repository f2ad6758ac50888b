"""The harness itself, with a small poller in place of the bot."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.process import BotProcess
from tests.fakes.telegram import FakeTelegram

POLLER = """
import json, os, pathlib, signal, sys, urllib.request

def call(method, **params):
    url = f"{os.environ['MNEMOGRAM_TELEGRAM__API_BASE']}/bot{os.environ['TELEGRAM_BOT_TOKEN']}/{method}"
    request = urllib.request.Request(url, json.dumps(params).encode(), {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))["result"]

if sys.argv[1:] != ["run"]:
    print(sys.argv[1:], sys.stdin.read())
    sys.exit(2)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
data = pathlib.Path(os.environ["MNEMOGRAM_STORAGE__DIR"])
data.mkdir(exist_ok=True)
offset = 0
while True:
    for update in call("getUpdates", offset=offset, timeout=30):
        text = update["message"]["text"]
        (data / "said").write_text(text)
        call("sendMessage", chat_id=update["message"]["chat"]["id"], text=f"You said {text}")
        offset = update["update_id"] + 1
"""


@pytest.fixture
async def tg() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as server:
        yield server


@pytest.fixture
async def bot(tg: FakeTelegram, tmp_path: Path) -> AsyncIterator[BotProcess]:
    script = tmp_path / "poller.py"
    script.write_text(POLLER)
    async with BotProcess(tg, None, tmp_path, command=[sys.executable, str(script)]) as process:
        yield process


async def test_a_bot_that_was_killed_in_a_long_poll_goes_on_after_a_restart(
    tg: FakeTelegram, bot: BotProcess
) -> None:
    anna = tg.private_chat(1)
    await bot.launch()
    first = await anna.send("one")
    await anna.answer_after(first)
    await tg.wait_confirmed(first.update_id)
    bot.kill()
    assert (bot.running, bot.status) == (False, -9)
    message = await anna.send("two")

    await bot.launch()

    assert (await anna.answer_after(message)).text == "You said two"
    assert [file.name for file in bot.files_with("two")] == ["said"]


async def test_a_bot_that_is_asked_to_end_gives_its_status(bot: BotProcess) -> None:
    await bot.launch()

    assert await bot.terminate() == 0


async def test_a_bot_that_does_not_come_up_says_why(tg: FakeTelegram, bot: BotProcess) -> None:
    tg.token = "1:another"

    with pytest.raises(RuntimeError, match=r"(?s)status 1:.*HTTP Error 401"):
        await bot.launch()


async def test_other_commands_run_on_the_same_data(bot: BotProcess) -> None:
    done = await bot.command("memory", "list", words="yes")

    assert (done.returncode, done.stdout) == (2, "['memory', 'list'] yes\n")


async def test_nobody_survives_the_test(tg: FakeTelegram, bot: BotProcess) -> None:
    async with bot:
        await bot.launch()

    assert not bot.running
