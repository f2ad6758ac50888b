"""/start, /help, /new and /stop."""

from __future__ import annotations

import asyncio

from aiogram import F, Router
from aiogram.enums import ChatMemberStatus
from aiogram.filters import Command
from aiogram.types import ChatMemberUpdated, Message

from bot.conversation import Conversation
from bot.texts import text
from handlers.access import Person
from handlers.gate import Gate
from handlers.queues import Queues
from handlers.say import say
from memory.sessions import Sessions

STOP_TRIES = 20
STOP_SECONDS = 1.0
"""How long /stop waits for an answer that is about to begin."""


async def on_start(_: Message, person: Person, gate: Gate) -> None:
    await say(gate, person, text("session-start", person.language, name=person.author.name))


async def on_help(_: Message, person: Person, gate: Gate) -> None:
    await say(gate, person, text("session-help", person.language))


async def on_new(_: Message, person: Person, gate: Gate, sessions: Sessions) -> None:
    closed = await sessions.close_session(person.chat_id, person.thread)
    await say(gate, person, text("session-new" if closed else "session-new-already", person.language))


async def on_stop(_: Message, person: Person, gate: Gate, conversation: Conversation, queues: Queues) -> None:
    """End the answer being written; that the message says so itself is all the answer that is needed."""
    for _attempt in range(STOP_TRIES):
        if conversation.stop(person.chat_id, person.thread):
            return
        if not queues.is_busy(person.chat_id):
            break
        await asyncio.sleep(STOP_SECONDS / STOP_TRIES)
    await say(gate, person, text("session-nothing-to-stop", person.language))


async def on_membership(event: ChatMemberUpdated, person: Person, gate: Gate) -> None:
    """Learn whether the person has blocked the bot or let it in again."""
    if event.new_chat_member.status == ChatMemberStatus.KICKED:
        gate.block(person.chat_id)
    else:
        gate.unblock(person.chat_id)


def router() -> Router:
    commands = Router(name="session commands")
    commands.message.register(on_start, Command("start", ignore_case=True))
    commands.message.register(on_help, Command("help", ignore_case=True))
    commands.message.register(on_new, Command("new", ignore_case=True))
    commands.message.register(on_stop, Command("stop", ignore_case=True), F.text)
    commands.my_chat_member.register(on_membership)
    return commands
