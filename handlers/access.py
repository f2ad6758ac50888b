"""Who is served: named people in their private chats; everybody else is told how to be let in, or nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from aiogram import BaseMiddleware
from aiogram.dispatcher.middlewares.user_context import EVENT_CONTEXT_KEY, EventContext
from aiogram.enums import ChatType
from aiogram.types import Message, TelegramObject, Update, User

from bot.config import Access
from bot.texts import known_language, text
from handlers.gate import Gate
from handlers.markup import plain
from handlers.requests import Outgoing
from memory.ports import Clock
from memory.types import NO_THREAD, Author

_TOLD_AGAIN_AFTER = timedelta(hours=1)
_MANY_STRANGERS = 5000

Handler = Callable[[TelegramObject, dict[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Person:
    """Who an update comes from and where: what a handler may key memory and rights on."""

    author: Author
    chat_id: int
    thread_id: int | None  # of a topic; a mere chain of replies has none
    language: str
    is_admin: bool

    @property
    def thread(self) -> int:
        """The thread as sessions count it."""
        return self.thread_id or NO_THREAD


class AccessMiddleware(BaseMiddleware):
    """Lets an update through with its `person`, or ends it."""

    def __init__(self, access: Access, gate: Gate, clock: Clock) -> None:
        self._access = access
        self._gate = gate
        self._clock = clock
        self._told: dict[int, datetime] = {}

    async def __call__(self, handler: Handler, event: TelegramObject, data: dict[str, Any]) -> Any:
        assert isinstance(event, Update), "stands before everything else"
        context: EventContext = data[EVENT_CONTEXT_KEY]
        if not _is_private_talk(event, context) or context.user is None or context.chat is None:
            return None
        if not self._admits(context.user.id):
            return await self._turn_away(event, context.user, context.chat.id)
        if event.message:
            self._gate.saw(event.message.message_id)
            self._gate.unblock(context.chat.id)  # who writes does not block the bot
        data["person"] = self._person(context.user, context)
        return await handler(event, data)

    def _admits(self, user_id: int) -> bool:
        access = self._access
        return access.users == "all" or user_id in access.admins or user_id in access.users

    def _person(self, user: User, context: EventContext) -> Person:
        return Person(
            author=Author(user.id, user.full_name),
            chat_id=context.chat_id or user.id,
            thread_id=context.thread_id,
            language=known_language(user.language_code or ""),
            is_admin=user.id in self._access.admins,
        )

    async def _turn_away(self, event: Update, user: User, chat_id: int) -> None:
        sentence = text("access-closed", known_language(user.language_code or ""), id=user.id)
        if event.callback_query:
            await self._gate.answer_callback(event.callback_query.id, sentence, alert=True)
        elif event.message and self._may_be_told(user.id):
            [part] = plain(sentence)
            await self._gate.tell(Outgoing(chat_id, part))

    def _may_be_told(self, user_id: int) -> bool:
        """Tell a stranger the same thing at most once an hour."""
        now = self._clock.now()
        if user_id in self._told and now - self._told[user_id] < _TOLD_AGAIN_AFTER:
            return False
        if len(self._told) >= _MANY_STRANGERS:
            self._told.clear()
        self._told[user_id] = now
        return True


def _is_private_talk(event: Update, context: EventContext) -> bool:
    """Tell whether this is a person's own message, button or membership in their own chat with the bot.

    The chat ids of business connections and guest queries can equal those of other chats, and what a chat
    or a bot sends names a made-up person: neither may reach a memory.
    """
    if context.chat is None or context.chat.type != ChatType.PRIVATE or context.business_connection_id:
        return False
    if context.user is None or context.user.is_bot or context.user.id != context.chat.id:
        return False
    query = event.callback_query
    message = event.message or (query.message if query else None)
    if isinstance(message, Message):
        foreign = message.business_connection_id or message.guest_query_id or message.sender_chat
        return foreign is None
    return event.my_chat_member is not None or query is not None
