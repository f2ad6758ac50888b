"""Short plain sentences to a chat: answers to commands, and what a button changes them into."""

from __future__ import annotations

from collections.abc import Sequence

from aiogram.types import CallbackQuery, InlineKeyboardMarkup, Message

from bot.texts import text
from handlers.access import Person
from handlers.gate import Gate
from handlers.markup import plain
from handlers.refusals import MessageGone
from handlers.requests import Outgoing
from handlers.split import Part


async def say(
    gate: Gate, person: Person, sentence: str, keyboard: InlineKeyboardMarkup | None = None
) -> None:
    """Send a plain text; the buttons hang on its last message. Raises ChatBlocked."""
    await _say_parts(gate, person, plain(sentence), keyboard)


async def change(
    gate: Gate, person: Person, message: Message, sentence: str, keyboard: InlineKeyboardMarkup | None = None
) -> None:
    """Put a plain text in place of a message of the bot, or send it where that message is gone."""
    first, *rest = plain(sentence)
    out = Outgoing(person.chat_id, first, keyboard=None if rest else keyboard)
    try:
        await gate.edit(out, message.message_id)
    except MessageGone:
        rest = [first, *rest]
    await _say_parts(gate, person, rest, keyboard)


async def pressed(gate: Gate, person: Person, callback: CallbackQuery) -> Message | None:
    """Release a button at once and return its message; ``None`` when that is too old to be worked with."""
    if isinstance(callback.message, Message):
        await gate.answer_callback(callback.id)
        return callback.message
    await gate.answer_callback(callback.id, text("say-stale", person.language), alert=True)
    return None


async def _say_parts(
    gate: Gate, person: Person, parts: Sequence[Part], keyboard: InlineKeyboardMarkup | None
) -> None:
    for number, part in enumerate(parts, start=1):
        buttons = keyboard if number == len(parts) else None
        await gate.tell(Outgoing(person.chat_id, part, person.thread_id, buttons))
