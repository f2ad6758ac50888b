"""/memory: what the bot remembers in this chat, page by page or by words."""

from __future__ import annotations

from collections.abc import Sequence

from aiogram import Router
from aiogram.filters import Command, CommandObject
from aiogram.types import CallbackQuery, InlineKeyboardMarkup, Message

from bot.config import Config
from bot.showing import around, speaker_of, why
from bot.texts import date_text, text
from handlers.access import Person
from handlers.gate import Gate
from handlers.keyboards import Page, pages
from handlers.say import change, pressed, say
from memory.search import RELEVANT
from memory.service import MemoryService
from memory.types import Hit, Memory, Query

PAGE = 8
FOUND = 10
LONGEST_SHOWN = 280
"""Characters of a memory in a list."""

_SEARCH_WORDS = ("search", "find", "поиск", "найди", "найти", "искать")


async def on_memory(
    _: Message, command: CommandObject, person: Person, gate: Gate, memory: MemoryService, config: Config
) -> None:
    words = _without_search(command.args or "")
    if not words:
        sentence, keyboard = await _page(memory, person, config, 0)
        return await say(gate, person, sentence, keyboard)
    return await say(gate, person, await _found(memory, person, config, words))


async def on_page(
    callback: CallbackQuery,
    callback_data: Page,
    person: Person,
    gate: Gate,
    memory: MemoryService,
    config: Config,
) -> None:
    message = await pressed(gate, person, callback)
    if message is not None:
        sentence, keyboard = await _page(memory, person, config, max(0, callback_data.offset))
        await change(gate, person, message, sentence, keyboard)


async def on_stale(callback: CallbackQuery, person: Person, gate: Gate) -> None:
    """A button that no version of the bot knows any more."""
    await gate.answer_callback(callback.id, text("say-stale", person.language), alert=True)


def listed(heading: str, memories: Sequence[Memory], language: str, config: Config) -> str:
    """Return memories one after another, each with its id, day, type and speaker."""
    return "\n\n".join([heading, *(described(memory, language, config) for memory in memories)])


def described(memory: Memory, language: str, config: Config) -> str:
    day = date_text(memory.valid_from.astimezone(config.memory.zone).date(), language)
    kind = text(f"memory-type-{memory.type}", language)
    about = " · ".join(part for part in (f"#{memory.id}", day, kind, speaker_of(memory, language)) if part)
    said = " ".join(memory.text.split())
    return f"{about}\n{said if len(said) <= LONGEST_SHOWN else said[: LONGEST_SHOWN - 1] + '…'}"


async def _found(memory: MemoryService, person: Person, config: Config, words: str) -> str:
    asked = Query(
        person.chat_id,
        words,
        k=FOUND,
        floor=RELEVANT,
        asker=person.author.name,
        zone=config.memory.zone,
        neighbours=config.memory.neighbours,
    )
    hits = await memory.search(asked)
    if not hits:
        return text("memory-not-found", person.language)
    heading = text("memory-found", person.language, count=len(hits))
    return "\n\n".join([heading, *(_explained(hit, person, config) for hit in hits)])


def _explained(hit: Hit, person: Person, config: Config) -> str:
    """A hit with why it was found and, as far as there are any, the turns around it."""
    reason = why(hit, person.language, person.author)
    lines = [described(hit.memory, person.language, config), f"({reason})", *around(hit, person.language)]
    return "\n".join(lines)


async def _page(
    memory: MemoryService, person: Person, config: Config, offset: int
) -> tuple[str, InlineKeyboardMarkup | None]:
    total = await memory.count(person.chat_id)
    offset = min(offset, max(0, total - 1) // PAGE * PAGE)
    memories = await memory.list(person.chat_id, limit=PAGE, offset=offset)
    heading = text("memory-list", person.language, count=total)
    return listed(heading, memories, person.language, config), pages(offset, PAGE, total)


def _without_search(words: str) -> str:
    """Take "/memory search tea" and "/memory tea" for the same."""
    first, _, rest = words.strip().partition(" ")
    return rest.strip() if first.casefold() in _SEARCH_WORDS else words.strip()


def router() -> Router:
    commands = Router(name="memory commands")
    commands.message.register(on_memory, Command("memory", ignore_case=True))
    commands.callback_query.register(on_page, Page.filter())
    return commands


def stale_router() -> Router:
    """Return the handler of buttons that nobody else knows; it stands last."""
    stale = Router(name="stale buttons")
    stale.callback_query.register(on_stale)
    return stale
