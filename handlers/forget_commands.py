"""/forget shows what it is about and forgets after a confirmation; /undo takes that back for a while."""

from __future__ import annotations

from datetime import timedelta

from aiogram import Router
from aiogram.filters import Command, CommandObject
from aiogram.types import CallbackQuery, Message

from bot.config import Config
from bot.selection import Everything, Selection, Some, chosen_by, means_all, take_back
from bot.texts import text, whole_minutes
from handlers.access import Person
from handlers.gate import Gate
from handlers.keyboards import EVERYTHING, Act, Forget, Shelf, Undo, confirm, undo
from handlers.memory_commands import listed
from handlers.once import Once
from handlers.say import change, pressed, say
from memory.errors import StorageError
from memory.service import MemoryService
from memory.types import Receipt

SHOWN = 6


async def on_forget(
    _: Message,
    command: CommandObject,
    person: Person,
    gate: Gate,
    memory: MemoryService,
    shelf: Shelf,
    config: Config,
) -> None:
    words = (command.args or "").strip()
    if not words:
        return await say(gate, person, text("forget-what", person.language))
    if means_all(words):
        count = await memory.count(person.chat_id)
        question = text("forget-sure-all", person.language, count=count)
        return await say(gate, person, question, confirm(EVERYTHING, count, person.language))
    chosen = await chosen_by(memory, person.chat_id, words)
    if not chosen:
        return await say(gate, person, text("forget-not-found", person.language))
    question = listed(
        text("forget-sure", person.language, count=len(chosen)), chosen[:SHOWN], person.language, config
    )
    if len(chosen) > SHOWN:
        question += "\n\n" + text("forget-more", person.language, count=len(chosen) - SHOWN)
    packed = shelf.pack(person.chat_id, [each.id for each in chosen])
    return await say(gate, person, question, confirm(packed, len(chosen), person.language))


async def on_press(
    callback: CallbackQuery,
    callback_data: Forget,
    person: Person,
    gate: Gate,
    memory: MemoryService,
    shelf: Shelf,
    once: Once,
    config: Config,
) -> None:
    chosen = _selection(memory, shelf, person.chat_id, callback_data.ids)
    if chosen is None:
        return await gate.answer_callback(callback.id, text("say-stale", person.language), alert=True)
    message = await pressed(gate, person, callback)
    press = ("press", person.chat_id, message and message.message_id)  # the first of both buttons counts
    if message is None or not once.first(*press):
        return None
    if callback_data.act is Act.CANCEL:
        return await change(gate, person, message, text("forget-kept", person.language))
    window = timedelta(minutes=config.memory.undo_minutes)
    try:
        receipt = await chosen.forget(window or None)
    except StorageError:
        once.again(*press)
        raise
    buttons = undo(receipt.purge_at, person.language) if receipt.purge_at and _went(receipt) else None
    return await change(gate, person, message, _receipt(receipt, window, person.language), buttons)


async def on_undo(_: Message, person: Person, gate: Gate, memory: MemoryService) -> None:
    """Bring back what was forgotten last, also by the model's tool."""
    restored = await take_back(memory, person.chat_id)
    await say(gate, person, _restored(restored, person.language))


async def on_undo_press(
    callback: CallbackQuery, callback_data: Undo, person: Person, gate: Gate, memory: MemoryService
) -> None:
    """Bring back what the message with the button tells of; where it is too late the message stays."""
    restored = await memory.restore(person.chat_id, callback_data.purge_at)
    sentence = _restored(restored, person.language)
    if restored is None:
        return await gate.answer_callback(callback.id, sentence, alert=True)
    await gate.answer_callback(callback.id)
    if isinstance(callback.message, Message):
        return await change(gate, person, callback.message, sentence)
    return await say(gate, person, sentence)


def _selection(memory: MemoryService, shelf: Shelf, chat_id: int, packed: str) -> Selection | None:
    """Return what a button stands for, or ``None`` when that is not known any more."""
    if packed == EVERYTHING:
        return Everything(memory, chat_id)
    ids = shelf.unpack(chat_id, packed)
    return None if ids is None else Some(memory, chat_id, ids)


def _receipt(receipt: Receipt, window: timedelta, language: str) -> str:
    if not _went(receipt):
        return text("forget-nothing-left", language)
    counts = {"memories": receipt.memories, "messages": receipt.messages}
    if receipt.purge_at is None:
        return text("forget-erased", language, **counts)
    return text("forget-hidden", language, **counts, minutes=whole_minutes(window))


def _restored(receipt: Receipt | None, language: str) -> str:
    if receipt is None or not _went(receipt):
        return text("forget-nothing-to-restore", language)
    return text("forget-restored", language, memories=receipt.memories, messages=receipt.messages)


def _went(receipt: Receipt) -> bool:
    return bool(receipt.memories or receipt.messages)


def router() -> Router:
    commands = Router(name="forget commands")
    commands.message.register(on_forget, Command("forget", ignore_case=True))
    commands.message.register(on_undo, Command("undo", ignore_case=True))
    commands.callback_query.register(on_press, Forget.filter())
    commands.callback_query.register(on_undo_press, Undo.filter())
    return commands
