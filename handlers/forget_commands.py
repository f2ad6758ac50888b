"""/forget: shows what it is about, forgets after a confirmation, and can take that back for a while."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

from aiogram import Router
from aiogram.filters import Command, CommandObject
from aiogram.types import CallbackQuery, Message

from bot.config import Config
from bot.selection import Everything, Selection, Some, active, means_all
from bot.texts import text
from handlers.access import Person
from handlers.gate import Gate
from handlers.keyboards import EVERYTHING, Act, Forget, Shelf, confirm, undo
from handlers.memory_commands import listed
from handlers.once import Once
from handlers.say import change, pressed, say
from memory.errors import StorageError
from memory.service import MemoryService
from memory.types import Memory, Receipt

SHOWN = 6

_IDS = re.compile(r"#?\d{1,18}(?:[\s,]+#?\d{1,18})*")


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
    chosen = await _chosen(memory, person.chat_id, words)
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
    press = ("press", person.chat_id, message and message.message_id, callback_data.act)
    if message is None or not once.first(*press):
        return None
    try:
        sentence, receipt = await _act(callback_data.act, chosen, person, config.memory.undo_minutes)
    except StorageError:
        once.again(*press)
        raise
    buttons = undo(callback_data.ids, person.language) if receipt and receipt.purge_at else None
    return await change(gate, person, message, sentence, buttons)


async def _act(act: Act, chosen: Selection, person: Person, minutes: float) -> tuple[str, Receipt | None]:
    """Do what the button says; return what to say and, after a forget, its receipt."""
    if act is Act.CANCEL:
        return text("forget-kept", person.language), None
    if act is Act.UNDO:
        return text("forget-restored", person.language, count=await chosen.restore()), None
    receipt = await chosen.forget(timedelta(minutes=minutes) or None)
    return _receipt(receipt, minutes, person.language), receipt


def _selection(memory: MemoryService, shelf: Shelf, chat_id: int, packed: str) -> Selection | None:
    """Return what a button stands for, or ``None`` when that is not known any more."""
    if packed == EVERYTHING:
        return Everything(memory, chat_id)
    ids = shelf.unpack(chat_id, packed)
    return None if ids is None else Some(memory, chat_id, ids)


async def _chosen(memory: MemoryService, chat_id: int, words: str) -> Sequence[Memory]:
    """Return the active memories that are meant: those with these ids, or those with these words."""
    if _IDS.fullmatch(words):
        found = [await active(memory, chat_id, int(number)) for number in re.findall(r"\d+", words)]
        if chosen := [each for each in found if each is not None]:
            return chosen
    return await memory.matching(chat_id, words)


def _receipt(receipt: Receipt, minutes: float, language: str) -> str:
    if not receipt.memories and not receipt.messages:
        return text("forget-nothing-left", language)
    counts = {"memories": receipt.memories, "messages": receipt.messages}
    if receipt.purge_at is None:
        return text("forget-erased", language, **counts)
    return text("forget-hidden", language, **counts, minutes=max(1, round(minutes)))


def router() -> Router:
    commands = Router(name="forget commands")
    commands.message.register(on_forget, Command("forget", ignore_case=True))
    commands.callback_query.register(on_press, Forget.filter())
    return commands
