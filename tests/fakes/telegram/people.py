"""The side of the people: they write, press, edit and block, and see what the bot shows them now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.fakes.telegram.formatted import Formatted, units
from tests.fakes.telegram.world import Button, ChatState, Message, Query, World

Check = Callable[[Sequence[Message]], object]


class Chat:
    """One chat seen by its person; in a group, by its first member."""

    def __init__(self, world: World, state: ChatState, person: Mapping[str, Any]) -> None:
        self._world = world
        self._state = state
        self.person = person
        self.id: int = state.info["id"]

    @property
    def visible(self) -> list[Message]:
        """The messages of the bot that can be seen now, oldest first."""
        return [message for message in self.messages if message.from_bot]

    @property
    def messages(self) -> list[Message]:
        """All messages that can be seen now, oldest first."""
        return [message for message in self._state.messages.values() if not message.deleted]

    @property
    def typing(self) -> int:
        """How often the bot has shown that it is typing."""
        return self._state.typing

    def transcript(self) -> str:
        """Return what can be seen, a line for each message, with its buttons."""
        return "\n".join(_line(message) for message in self.messages)

    async def send(
        self, text: str, *, author: Mapping[str, Any] | None = None, thread: int = 0, **extra: Any
    ) -> Message:
        """Write something; `extra` goes into the message of the update, as `forward_origin` does.

        The answer to another message is `reply_to=that.message_id`.
        """
        place = {"thread_id": thread, "reply_to": extra.pop("reply_to", 0)}
        shown = Formatted(text, _commands(text))
        message = self._world.add(self._state, author or self.person, shown, **place)
        return self._deliver(message, "message", extra)

    async def send_document(self, name: str, data: bytes, caption: str = "") -> Message:
        return self._send_file("document", name, data, caption)

    async def send_photo(self, data: bytes, caption: str = "") -> Message:
        return self._send_file("photo", "photo.jpg", data, caption)

    async def edit(self, message: Message, text: str) -> Message:
        """Change an own message."""
        self._world.change(message, Formatted(text, _commands(text)))
        return self._deliver(message, "edited_message", {})

    async def press(self, message: Message, button: str, *, old: bool = False) -> Query:
        """Press a button by its words, a part of them, or its data. Raises LookupError.

        With `old` the message has become inaccessible, as happens after some days.
        """
        found = _find(message, button)
        query = Query(str(next(self._world.ids)), found["callback_data"], self._world.now())
        self._world.queries[query.query_id] = query
        seen = self._world.as_json(message)
        if old:
            seen = {"chat": seen["chat"], "message_id": message.message_id, "date": 0}
        pressed = {
            "id": query.query_id,
            "from": dict(self.person),
            "message": seen,
            "chat_instance": f"-{self.id}",
            "data": query.data,
        }
        self._world.updates.push({"callback_query": pressed})
        return query

    async def wait_query(self, query: Query, timeout: float = 30.0) -> str:  # noqa: ASYNC109
        """Return what the bot answered to the press, often nothing. Raises TimeoutError."""
        answer = await self._world.changed.until(lambda: query.answered, timeout)
        return str(answer["text"]) if answer else ""

    def redeliver(self, update_id: int) -> None:
        """Let Telegram deliver an update once more although it was confirmed."""
        self._world.updates.redeliver(update_id)

    async def block(self) -> None:
        """Stop the bot: it is told, and may not write any more."""
        self._state.blocked = True
        self._member("member", "kicked")

    async def unblock(self) -> None:
        self._state.blocked = False
        self._member("kicked", "member")

    async def wait_for(self, check: Check, timeout: float = 30.0) -> list[Message]:  # noqa: ASYNC109
        """Return the visible messages of the bot once `check` of them is true.

        Raises TimeoutError with what could be seen.
        """
        try:
            await self._world.changed.until(lambda: bool(check(self.visible)), timeout)
        except TimeoutError:
            raise TimeoutError(f"in {timeout:g} s only this was seen:\n{self.transcript()}") from None
        return self.visible

    async def answer_after(
        self,
        message: Message,
        timeout: float = 30.0,  # noqa: ASYNC109
        *,
        containing: str = "",
        quiet: float = 0.0,
    ) -> Message:
        """Return the first message of the bot after `message` whose text contains the words.

        A streamed answer grows: name words of its end, or let it be `quiet` for some seconds first.
        Raises TimeoutError with what could be seen.
        """
        await self.wait_for(lambda _: self._after(message, containing), timeout)
        if quiet:
            await self._world.changed.quiet(quiet)
        return self._after(message, containing)[0]

    def answers_after(self, message: Message) -> list[Message]:
        """Return all visible messages of the bot after `message`."""
        return self._after(message, "")

    def _after(self, message: Message, words: str) -> list[Message]:
        return [seen for seen in self.visible if seen.message_id > message.message_id and words in seen.text]

    def _send_file(self, kind: str, name: str, data: bytes, caption: str) -> Message:
        file = self._world.store(name, data)
        shown = Formatted(caption, _commands(caption))
        message = self._world.add(self._state, self.person, shown, file=file, kind=kind)
        return self._deliver(message, "message", {})

    def _deliver(self, message: Message, kind: str, extra: Mapping[str, Any]) -> Message:
        body = self._world.as_json(message) | dict(extra)
        message.update_id = self._world.updates.push({kind: body})
        return message

    def _member(self, before: str, after: str) -> None:
        until = {"until_date": 0}
        members = [{"user": dict(self._world.bot), "status": status, **until} for status in (before, after)]
        changed = {
            "chat": dict(self._state.info),
            "from": dict(self.person),
            "date": int(self._world.now()),
            "old_chat_member": members[0],
            "new_chat_member": members[1],
        }
        self._world.updates.push({"my_chat_member": changed})


def _commands(text: str) -> tuple[Mapping[str, Any], ...]:
    """Telegram marks a command at the start by itself."""
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    if not text.startswith("/") or len(word) < 2:
        return ()
    return ({"type": "bot_command", "offset": 0, "length": units(word)},)


def _find(message: Message, words: str) -> Button:
    buttons = [button for row in message.buttons for button in row if "callback_data" in button]
    for fits in (words.__eq__, lambda text: words in text):
        for button in buttons:
            if fits(button["text"]) or button["callback_data"] == words:
                return button
    raise LookupError(f"there is no button {words!r} among {message.labels}")


def _line(message: Message) -> str:
    labels = "".join(f" [{label}]" for label in message.labels)
    file = f" <{message.file.name}>" if message.file else ""
    return f"{'bot' if message.from_bot else message.author['first_name']}: {message.text}{file}{labels}"
