"""Both fakes and the bot between them: what an end-to-end test plays on."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from tests.e2e.process import BotProcess
from tests.fakes.anthropic import FakeAnthropic, Rules
from tests.fakes.telegram import Chat, FakeTelegram

Found = TypeVar("Found")

FIRST_PERSON = 40_001
SHORTEST_TELLING = 12
"""Characters; something shorter may stand in a log line by chance."""

NAMES = {"id", "name", "role", "signature", "tool_use_id", "type"}
"""Fields of a request in which nobody says anything."""

PROBES = ("message is not modified", "message to edit not found", "message can't be edited")
"""What Telegram answers to a bot that looks for a message of which it never learned whether it arrived."""


@dataclass(frozen=True, slots=True)
class Stage:
    """`rules` decide what Claude says: `stage.rules.when("words", tool_use(…), text("…"))`."""

    tg: FakeTelegram
    api: FakeAnthropic
    bot: BotProcess
    rules: Rules
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(FIRST_PERSON))

    def person(self, first_name: str = "Anna", language_code: str = "en") -> Chat:
        """Return the private chat of somebody who has never written before."""
        return self.tg.private_chat(next(self._ids), first_name, language_code)

    def forgive_probes(self) -> None:
        """Accept the refusals that follow from a delivery whose end the bot never learned."""
        self.tg.refusals[:] = [
            each for each in self.tg.refusals if not any(words in each.description for words in PROBES)
        ]

    def check(self) -> None:
        """Fail when either fake has refused something, or the log holds a secret or what somebody said."""
        log = self.bot.log
        assert self.tg.refusals == []
        assert self.api.refusals == []
        assert [secret for secret in self.bot.secrets if secret in log] == []
        assert [words for words in self._said() if words in log] == []

    def _said(self) -> set[str]:
        """Every line that a person, the bot, the model or a tool has said so far, if it is long enough."""
        messages = (each for chat in self.tg.world.chats.values() for each in chat.messages.values())
        texts = [text for message in messages for text in (message.text, *message.earlier)]
        texts += [words for request in self.api.asked for words in _written(request.messages)]
        lines = {line.strip() for text in texts for line in text.splitlines()}
        return {line for line in lines if len(line) >= SHORTEST_TELLING}


@asynccontextmanager
async def set_up(
    directory: Path,
    *,
    users: Sequence[int] | Literal["all"] = "all",
    admins: Sequence[int] = (),
    with_key: bool = True,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Stage]:
    """Build a stage whose bot is not started yet."""
    rules = Rules()
    async with FakeTelegram() as tg, FakeAnthropic(brain=rules) as api:
        asked = api if with_key else None
        async with BotProcess(tg, asked, directory, users=users, admins=admins, env=env) as bot:
            yield Stage(tg, api, bot, rules)


async def until(check: Callable[[], Found], seconds: float = 30.0) -> Found:
    """Return what `check` gives as soon as it is true, for what nobody announces. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not (found := check()):
            await asyncio.sleep(0.02)
        return found


def _written(value: object) -> Iterator[str]:
    """Yield every text in the messages of a request, arguments and results of tools included."""
    match value:
        case str():
            yield value
        case Mapping():
            for item in (item for key, item in value.items() if key not in NAMES):
                yield from _written(item)
        case Sequence():
            for item in value:
                yield from _written(item)
