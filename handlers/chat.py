"""What people write: handed to the conversation; what cannot be understood yet is told so."""

from __future__ import annotations

from aiogram import Bot, F, Router
from aiogram.enums import ContentType
from aiogram.types import Message

from bot.background import Background
from bot.conversation import Conversation
from bot.notices import Notices
from bot.texts import text
from handlers.access import Person
from handlers.content import attachments, quoted
from handlers.gate import Gate
from handlers.once import Once
from handlers.reply import Pace, TelegramReply
from handlers.say import say
from handlers.sent import SentParts, channel_of
from memory.sessions import Sessions
from memory.types import Incoming, Origin

NOT_UNDERSTOOD = frozenset(
    {
        ContentType.ANIMATION,
        ContentType.AUDIO,
        ContentType.CONTACT,
        ContentType.DICE,
        ContentType.DOCUMENT,
        ContentType.LOCATION,
        ContentType.PHOTO,
        ContentType.POLL,
        ContentType.STICKER,
        ContentType.STORY,
        ContentType.VENUE,
        ContentType.VIDEO,
        ContentType.VIDEO_NOTE,
        ContentType.VOICE,
    }
)
"""What a person sends on purpose; anything else without text is Telegram's own notice."""


async def on_text(
    message: Message,
    bot: Bot,
    person: Person,
    gate: Gate,
    conversation: Conversation,
    sessions: Sessions,
    notices: Notices,
    background: Background,
    once: Once,
    pace: Pace,
) -> None:
    if message.media_group_id:
        once.first("album", person.chat_id, message.media_group_id)  # its other pictures need no answer
    incoming = to_incoming(message, person, bot.id)
    reply = TelegramReply(
        gate,
        SentParts(sessions, notices, person.chat_id, incoming.source),
        background.start,
        chat_id=person.chat_id,
        question_id=message.message_id,
        thread_id=person.thread_id,
        empty=text("chat-empty", person.language),
        pace=pace,
    )
    async with reply:
        await conversation.answer(incoming, reply)


async def on_unknown_command(_: Message, person: Person, gate: Gate) -> None:
    await say(gate, person, text("chat-unknown-command", person.language))


async def on_other(message: Message, person: Person, gate: Gate, once: Once) -> None:
    """Say that only text is understood; once for all pictures of an album."""
    if message.media_group_id is None or once.first("album", person.chat_id, message.media_group_id):
        await say(gate, person, text("chat-only-text", person.language))


def to_incoming(message: Message, person: Person, bot_id: int) -> Incoming:
    """Return a message in the words of the conversation; a forwarded one is nothing the person said."""
    return Incoming(
        chat_id=person.chat_id,
        author=person.author,
        text=message.text or message.caption or "",
        sent_at=message.date,
        source=f"{channel_of(bot_id)}:{message.message_id}",
        thread_id=person.thread,
        language=person.language,
        origin=Origin.FORWARDED if message.forward_origin else Origin.PERSON,
        attachments=attachments(message),
        quoted=quoted(message, bot_id),
    )


def router() -> Router:
    """Return the handlers of everything that no command has taken."""
    chat = Router(name="chat")
    chat.message.register(on_unknown_command, F.text.regexp(r"^/[A-Za-z0-9_]{1,32}(@\w+)?(\s|$)"))
    chat.message.register(on_text, F.text | F.caption)
    chat.message.register(on_other, F.content_type.in_(NOT_UNDERSTOOD))
    return chat
