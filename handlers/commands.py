"""The menu of commands that Telegram shows, in every language the bot speaks."""

from __future__ import annotations

import logging

from aiogram import Bot
from aiogram.exceptions import AiogramError
from aiogram.methods import SetMyCommands
from aiogram.types import BotCommand, BotCommandScopeAllPrivateChats

from bot.texts import LANGUAGES, text

log = logging.getLogger(__name__)

SHOWN = ("memory", "forget", "undo", "new", "stop", "help")
"""The commands in the menu; /start and /admin work too, but who needs them knows them."""


def menu(language: str) -> list[BotCommand]:
    return [BotCommand(command=name, description=text(f"commands-{name}", language)) for name in SHOWN]


async def publish(bot: Bot) -> None:
    """Set the menu; a fault is only logged, as the commands work without it."""
    default, *others = LANGUAGES
    for code in ("", *others):
        method = SetMyCommands(
            commands=menu(code or default), scope=BotCommandScopeAllPrivateChats(), language_code=code or None
        )
        try:
            await bot(method)
        except AiogramError as error:
            log.warning("the menu of commands was not set", extra={"error": type(error).__name__})
            return
