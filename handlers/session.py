"""The connection to the Bot API: its address, its time-outs, and answers that are no JSON."""

from __future__ import annotations

from typing import Any

from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import ClientDecodeError, TelegramNetworkError, TelegramServerError
from aiogram.methods import Response, TelegramMethod
from aiogram.methods.base import TelegramType
from aiogram.utils.token import TokenValidationError

from bot.config import Telegram
from memory.errors import ConfigError

CALL_SECONDS = 30
"""How long one call may take, unless its caller says otherwise."""

REFUSED = "Telegram refuses telegram.token; copy the token again from @BotFather, or ask it for a new one."

_SERVER_FAULT = 500


def open_bot(settings: Telegram) -> Bot:
    """Return the bot of the configured token; nothing is sent yet. Raises ConfigError."""
    server = TelegramAPIServer.from_base(settings.api_base)
    session = TelegramSession(api=server, timeout=CALL_SECONDS)
    try:
        return Bot(settings.token.get_secret_value(), session=session)
    except TokenValidationError:
        raise ConfigError(REFUSED) from None


class TelegramSession(AiohttpSession):
    """Tells a server's fault from a call whose outcome is unknown, whatever the body of the answer."""

    def check_response(
        self, bot: Bot, method: TelegramMethod[TelegramType], status_code: int, content: str
    ) -> Response[TelegramType]:
        """Raise what aiogram raises, and for a body that is no JSON, which aiogram stumbles over:

        TelegramServerError where the status is an error, as gateways answer in HTML, so nothing was
        done; TelegramNetworkError where it is not, so the call may have been carried out.
        """
        try:
            return super().check_response(bot, method, status_code, content)
        except ClientDecodeError as error:
            if isinstance(error.data, str):
                raise _no_json(method, status_code) from None
            raise
        except TypeError:
            # aiogram looks into the description of a server's fault even when there is none.
            raise _no_json(method, max(status_code, _SERVER_FAULT)) from None


def _no_json(method: TelegramMethod[Any], status: int) -> Exception:
    kind = TelegramServerError if status >= 400 else TelegramNetworkError
    return kind(method=method, message=f"HTTP {status} without JSON")
