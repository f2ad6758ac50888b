"""The methods about the bot itself: updates, webhook, commands, descriptions."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from tests.fakes.telegram.params import Params
from tests.fakes.telegram.refused import Refused
from tests.fakes.telegram.world import World

Method: TypeAlias = Callable[[World, Params], Awaitable[Any]]

COMMAND = re.compile(r"[a-z0-9_]{1,32}")


async def get_me(world: World, params: Params) -> Any:
    abilities = ("can_join_groups", "can_read_all_group_messages", "supports_inline_queries")
    return {**world.bot, **dict.fromkeys(abilities, False), "has_topics_enabled": False}


async def get_updates(world: World, params: Params) -> Any:
    if world.webhook:
        raise Refused(
            "can't use getUpdates method while webhook is active; "
            "use deleteWebhook to delete the webhook first",
            status=409,
        )
    return await world.updates.get(
        params.integer("offset"),
        params.integer("limit", 100),
        params.integer("timeout"),
        params.json("allowed_updates"),
    )


async def set_webhook(world: World, params: Params) -> Any:
    world.webhook = params.text("url")
    if world.webhook and not world.webhook.startswith("https://"):
        world.webhook = ""
        raise Refused("bad webhook: An HTTPS URL must be provided for webhook")
    world.updates.stop_poller("terminated by setWebhook request")
    return True


async def delete_webhook(world: World, params: Params) -> Any:
    world.webhook = ""
    if params.flag("drop_pending_updates"):
        world.updates.drop()
    return True


async def get_webhook_info(world: World, params: Params) -> Any:
    pending = len(world.updates.pending)
    return {"url": world.webhook, "has_custom_certificate": False, "pending_update_count": pending}


async def set_my_commands(world: World, params: Params) -> Any:
    commands = params.json("commands", [])
    if len(commands) > 100:
        raise Refused("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not COMMAND.fullmatch(command["command"]):
            raise Refused("BOT_COMMAND_INVALID")
        if not 1 <= len(command["description"]) <= 256:
            raise Refused("BOT_COMMAND_DESCRIPTION_INVALID")
    world.commands[_audience(params)] = commands
    return True


async def get_my_commands(world: World, params: Params) -> Any:
    return world.commands.get(_audience(params), [])


async def delete_my_commands(world: World, params: Params) -> Any:
    world.commands.pop(_audience(params), None)
    return True


async def set_my_description(world: World, params: Params) -> Any:
    return _describe(world, params, "description", 512)


async def set_my_short_description(world: World, params: Params) -> Any:
    return _describe(world, params, "short_description", 120)


async def done(world: World, params: Params) -> Any:
    """LogOut and close need no effect here."""
    return True


ACCOUNT_METHODS: Mapping[str, Method] = {
    "close": done,
    "deleteMyCommands": delete_my_commands,
    "deleteWebhook": delete_webhook,
    "getMe": get_me,
    "getMyCommands": get_my_commands,
    "getUpdates": get_updates,
    "getWebhookInfo": get_webhook_info,
    "logOut": done,
    "setMyCommands": set_my_commands,
    "setMyDescription": set_my_description,
    "setMyShortDescription": set_my_short_description,
    "setWebhook": set_webhook,
}


def _audience(params: Params) -> tuple[str, str]:
    scope = params.json("scope") or {"type": "default"}
    return json.dumps(scope, sort_keys=True), params.text("language_code")


def _describe(world: World, params: Params, name: str, longest: int) -> bool:
    if len(params.text(name)) > longest:
        raise Refused(f"bot {name.replace('_', ' ')} is too long")
    world.descriptions[name, params.text("language_code")] = params.text(name)
    return True
