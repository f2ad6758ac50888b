"""Whether Claude and Telegram answer this configuration; keys are sent to them and shown nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from bot.config import Claude, Telegram

SECONDS = 8.0
NO_KEY = "none"
"""Sent where no key is configured, as the bot does; it must not be empty."""


@dataclass(frozen=True, slots=True)
class Reached:
    """How a server answered: `fault` and `todo` are empty when all is well."""

    found: str
    fault: str = ""
    todo: str = ""


async def reach_claude(claude: Claude) -> Reached:
    """Ask for the configured model, which costs nothing, by the way that the bot will take.

    Servers differ in where they look for the key, so both places hold it.
    """
    key = claude.api_key.get_secret_value() or NO_KEY
    headers = {"X-Api-Key": key, "Authorization": f"Bearer {key}", "anthropic-version": "2023-06-01"}
    answered = await _status(f"{claude.base_url}/v1/models/{claude.model}", headers, by_proxy=True)
    match answered:
        case None:
            return Reached("", f"{claude.base_url} does not answer", "check claude.base_url and the network")
        case 200:
            return Reached(f"{claude.model} at {claude.base_url}")
        case 401 | 403:
            return Reached("", "the key was refused", "correct claude.api_key")
        case 404 if claude.profile == "anthropic":
            return Reached("", f"there is no model {claude.model}", "correct claude.model")
        case 404 | 405 | 501:
            return Reached(
                f"{claude.base_url} answers; whether it has {claude.model} shows at the first message"
            )
        case _:
            return Reached("", f"the server answers with status {answered}", "try again in a few minutes")


async def reach_telegram(telegram: Telegram) -> Reached:
    """Ask for the bot itself, as directly as the bot will: it uses no proxy of the environment."""
    answered = await _status(
        f"{telegram.api_base}/bot{telegram.token.get_secret_value()}/getMe", {}, by_proxy=False
    )
    match answered:
        case None:
            return Reached(
                "", f"{telegram.api_base} does not answer", "check telegram.api_base and the network"
            )
        case 200:
            return Reached("the token is accepted")
        case 401 | 404:
            return Reached("", "the token was refused", "copy it from @BotFather again into telegram.token")
        case _:
            return Reached("", f"the server answers with status {answered}", "try again in a few minutes")


async def _status(url: str, headers: Mapping[str, str], *, by_proxy: bool) -> int | None:
    """Return the status of an answer, None where there is none. The address may hold a key.

    `by_proxy` goes through the proxy that HTTPS_PROXY and the like name, if they do.
    """
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=by_proxy) as session,
            session.get(url, headers=headers, allow_redirects=False) as response,
        ):
            return response.status
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return None
