"""What there is in this small Telegram: people, chats, messages as they look now, files, updates."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.telegram.formatted import Formatted
from tests.fakes.telegram.refused import Refused
from tests.fakes.telegram.signal import Signal
from tests.fakes.telegram.updates import UpdateQueue

Button = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file on the server."""

    file_id: str
    name: str
    data: bytes
    path: str


@dataclass(slots=True)
class Message:
    """A message as it is seen now; `earlier` keeps the texts it had before, oldest first."""

    message_id: int
    chat_id: int
    author: Mapping[str, Any]
    date: int
    text: str
    entities: tuple[Mapping[str, Any], ...] = ()
    buttons: list[list[Button]] = field(default_factory=list)
    file: StoredFile | None = None
    kind: str = ""
    thread_id: int = 0
    reply_to: int = 0
    edit_date: int = 0
    deleted: bool = False
    earlier: list[str] = field(default_factory=list)
    update_id: int = 0

    @property
    def from_bot(self) -> bool:
        return bool(self.author["is_bot"])

    @property
    def labels(self) -> list[str]:
        """The words on the buttons."""
        return [button["text"] for row in self.buttons for button in row]


@dataclass(slots=True)
class ChatState:
    """A chat as the server knows it."""

    info: Mapping[str, Any]
    threads: set[int] = field(default_factory=set)
    blocked: bool = False
    typing: int = 0
    messages: dict[int, Message] = field(default_factory=dict)


@dataclass(slots=True)
class Query:
    """A press of a button; `answered` is what the bot said to it."""

    query_id: str
    data: str
    at: float
    answered: Mapping[str, Any] | None = None


class World:
    """All state. `now` gives seconds since the epoch."""

    def __init__(self, bot: Mapping[str, Any], now: Callable[[], float] = time.time) -> None:
        self.bot = bot
        self.now = now
        self.changed = Signal()
        self.updates = UpdateQueue(self.changed)
        self.chats: dict[int, ChatState] = {}
        self.files: dict[str, StoredFile] = {}
        self.queries: dict[str, Query] = {}
        self.commands: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.descriptions: dict[tuple[str, str], str] = {}
        self.webhook = ""
        self.ids = itertools.count(1)

    def chat(self, chat_id: int) -> ChatState:
        """Raises Refused for a chat that the bot cannot write to."""
        chat = self.chats.get(chat_id)
        if chat is None:
            raise Refused("chat not found")
        if chat.blocked:
            raise Refused("bot was blocked by the user", status=403)
        return chat

    def add(self, chat: ChatState, author: Mapping[str, Any], shown: Formatted, **more: Any) -> Message:
        """Show a new message."""
        number, date = next(self.ids), int(self.now())
        chat_id = chat.info["id"]
        message = Message(number, chat_id, author, date, shown.text, shown.entities, **more)
        chat.messages[number] = message
        self.changed.send()
        return message

    def change(self, message: Message, shown: Formatted) -> None:
        """Show another text in its place."""
        message.earlier.append(message.text)
        message.text, message.entities = shown.text, shown.entities
        message.edit_date = int(self.now())
        self.changed.send()

    def store(self, name: str, data: bytes) -> StoredFile:
        number = next(self.ids)
        file = StoredFile(f"file-{number}", name, data, f"documents/file_{number}")
        self.files[file.file_id] = file
        return file

    def as_json(self, message: Message) -> dict[str, Any]:
        """Return a message in the shape of the Bot API."""
        chat = self.chats[message.chat_id]
        body: dict[str, Any] = {
            "message_id": message.message_id,
            "from": dict(message.author),
            "chat": dict(chat.info),
            "date": message.date,
        }
        body |= {"edit_date": message.edit_date} if message.edit_date else {}
        if message.thread_id:
            body |= {"message_thread_id": message.thread_id, "is_topic_message": True}
        if message.buttons:
            body["reply_markup"] = {"inline_keyboard": message.buttons}
        if answered := chat.messages.get(message.reply_to):
            body["reply_to_message"] = self.as_json(answered)
        return body | _content(message)


def _content(message: Message) -> dict[str, Any]:
    names = ("caption", "caption_entities") if message.file else ("text", "entities")
    content: dict[str, Any] = {names[0]: message.text} if message.text else {}
    if message.entities:
        content[names[1]] = [dict(entity) for entity in message.entities]
    if message.file:
        content |= _file(message.file, message.kind)
    return content


def _file(file: StoredFile, kind: str) -> dict[str, Any]:
    described = {"file_id": file.file_id, "file_unique_id": f"u-{file.file_id}", "file_size": len(file.data)}
    if kind == "photo":
        small = described | {"file_id": f"{file.file_id}-s", "width": 90, "height": 90}
        return {"photo": [small, described | {"width": 800, "height": 800}]}
    return {kind: described | {"file_name": file.name}}
