"""A chat with the bot in Telegram; a test module asks for it with `pytest_plugins` and replaces what differs.

They are in no conftest.py, so that only the modules that need aiogram import it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.model import ScriptedModel
from tests.fakes.telegram import Chat, FakeTelegram
from tests.telegram_app import ANNA, TelegramApp, config_for, telegram_app


@pytest.fixture
async def tg() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as fake:
        yield fake
        assert not fake.refusals


@pytest.fixture
def chat(tg: FakeTelegram) -> Chat:
    return tg.private_chat(ANNA)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
async def app(tg: FakeTelegram, tmp_path: Path, model: ScriptedModel) -> AsyncIterator[TelegramApp]:
    async with telegram_app(config_for(tg), tmp_path, model) as app:
        yield app
