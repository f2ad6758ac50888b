"""The connection to the Bot API: its address, its time-outs, and answers that are not the Bot API's."""

from __future__ import annotations

from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import ClientDecodeError, TelegramNetworkError
from aiogram.methods import Response, TelegramMethod
from aiogram.methods.base import TelegramType
from aiogram.utils.token import TokenValidationError

from bot.config import Telegram
from memory.errors import ConfigError

CALL_SECONDS = 30
"""How long one call may take, unless its caller says otherwise."""

REFUSED = "Telegram refuses telegram.token; copy the token again from @BotFather, or ask it for a new one."


def open_bot(settings: Telegram) -> Bot:
    """Return the bot of the configured token; nothing is sent yet. Raises ConfigError."""
    server = TelegramAPIServer.from_base(settings.api_base)
    session = Connection(api=server, timeout=CALL_SECONDS)
    try:
        return Bot(settings.token.get_secret_value(), session=session)
    except TokenValidationError:
        raise ConfigError(REFUSED) from None


class Connection(AiohttpSession):
    """Tells what the Bot API has refused from a call whose outcome is unknown."""

    def check_response(
        self, bot: Bot, method: TelegramMethod[TelegramType], status_code: int, content: str
    ) -> Response[TelegramType]:
        """Raise what aiogram raises, and TelegramNetworkError for a body that the Bot API did not write.

        A gateway's page says nothing about the call, which may have been carried out behind it.
        """
        try:
            return super().check_response(bot, method, status_code, content)
        except (ClientDecodeError, TypeError):
            # A TypeError comes where the description is missing, which aiogram looks into.
            message = f"HTTP {status_code} without an answer of the Bot API"
            raise TelegramNetworkError(method=method, message=message) from None
