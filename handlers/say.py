"""Short plain sentences to a chat: answers to commands, and what a button changes them into."""

from __future__ import annotations

import logging

from aiogram.types import CallbackQuery, InlineKeyboardMarkup, Message

from bot.texts import text
from handlers.access import Person
from handlers.gate import Gate
from handlers.markup import plain
from handlers.refusals import MessageGone, Unconfirmed
from handlers.requests import Outgoing

log = logging.getLogger(__name__)

PROBES = 3
"""How many of the ids after a command may be its answer's, when a killed process has sent one."""


async def say(
    gate: Gate, person: Person, sentence: str, keyboard: InlineKeyboardMarkup | None = None
) -> None:
    """Send a plain text; the buttons hang on its last message. Raises ChatBlocked."""
    parts = plain(sentence)
    for number, part in enumerate(parts, start=1):
        buttons = keyboard if number == len(parts) else None
        out = Outgoing(person.chat_id, part, person.thread_id, keyboard=buttons)
        if number == 1 and person.resumed and await _was_said(gate, person, out):
            continue
        try:
            await gate.send(out)
        except Unconfirmed:
            log.warning("it is unknown whether a message has arrived", extra={"chat": person.chat_id})


async def _was_said(gate: Gate, person: Person, out: Outgoing) -> bool:
    """Tell whether an earlier process has answered already; its message then shows this answer."""
    for candidate in range((person.wrote or 0) + 1, (person.wrote or 0) + 1 + PROBES):
        try:
            await gate.edit(out, candidate)
        except MessageGone:
            continue
        return True
    return False


async def change(
    gate: Gate, person: Person, message: Message, sentence: str, keyboard: InlineKeyboardMarkup | None = None
) -> None:
    """Put a plain text in place of a message of the bot, or send it where that message is gone."""
    part = plain(sentence)[0]
    try:
        await gate.edit(Outgoing(person.chat_id, part, keyboard=keyboard), message.message_id)
    except MessageGone:
        await say(gate, person, sentence, keyboard)


async def pressed(gate: Gate, person: Person, callback: CallbackQuery) -> Message | None:
    """Release a button at once and return its message; ``None`` when that is too old to be worked with."""
    if isinstance(callback.message, Message):
        await gate.answer_callback(callback.id)
        return callback.message
    await gate.answer_callback(callback.id, text("say-stale", person.language), alert=True)
    return None
