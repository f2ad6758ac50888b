"""The queue of updates with the semantics of getUpdates."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.telegram.refused import Refused
from tests.fakes.telegram.signal import Signal

ON_REQUEST_ONLY = {"chat_member", "message_reaction", "message_reaction_count"}
FIRST_ID = 700_000_001
TAKEN_OVER = "terminated by other getUpdates request; make sure that only one bot instance is running"


@dataclass(slots=True)
class Poll:
    """A request that waits; `stopped` says why it must end."""

    stopped: str = ""


class UpdateQueue:
    """Updates of one bot in order; what has not been confirmed by a higher offset comes again."""

    def __init__(self, changed: Signal) -> None:
        self.changed = changed
        self.all: dict[int, Mapping[str, Any]] = {}
        self.confirmed: set[int] = set()
        self.next_id = FIRST_ID
        self.polls = 0
        self._allowed: set[str] = set()
        self._pending: list[Mapping[str, Any]] = []
        self._again: list[Mapping[str, Any]] = []
        self._poller: Poll | None = None

    @property
    def pending(self) -> list[int]:
        """The ids of the updates that the bot has not confirmed."""
        return [update["update_id"] for update in self._pending]

    @property
    def polling(self) -> bool:
        """Whether a request waits for updates at this moment."""
        return self._poller is not None

    def push(self, update: Mapping[str, Any]) -> int:
        """Queue an update and return its id; kinds that the bot did not ask for are dropped."""
        numbered = {"update_id": self.next_id, **update}
        number = int(numbered["update_id"])
        self.next_id = max(self.next_id, number) + 1
        self.all[number] = numbered
        if any(self._wants(kind) for kind in numbered if kind != "update_id"):
            self._pending.append(numbered)
        self.changed.send()
        return number

    def jump(self, to: int) -> None:
        """Go on with another id, a lower one included, as Telegram does after a quiet week.

        An old offset above it then confirms, and so loses, what comes.
        """
        self.next_id = to

    def redeliver(self, update_id: int) -> None:
        """Deliver an update once more although it was confirmed."""
        self._again.append(self.all[update_id])
        self.changed.send()

    def drop(self) -> None:
        """Forget what is pending."""
        self.confirmed.update(self.pending)
        self._pending.clear()

    def stop_poller(self, reason: str) -> None:
        """End the request that waits, as the server does when another one comes."""
        if self._poller:
            self._poller.stopped = reason
            self.changed.send()

    async def get(
        self, offset: int, limit: int, seconds: float, allowed: Sequence[str] | None
    ) -> list[Mapping[str, Any]]:
        """Answer getUpdates. Raises Refused with 409 when another request takes over."""
        if allowed is not None:
            self._allowed = set(allowed)
        self._confirm(offset)
        self.stop_poller(TAKEN_OVER)
        mine = self._poller = Poll()
        self.polls += 1
        self.changed.send()
        try:
            async with asyncio.timeout(min(seconds, 50)):
                return await self._wait(mine, max(1, min(limit, 100)))
        except TimeoutError:
            return []
        finally:
            if self._poller is mine:
                self._poller = None

    async def _wait(self, poll: Poll, limit: int) -> list[Mapping[str, Any]]:
        while not (found := self._take(limit)):
            await self.changed.wait()
            if poll.stopped:
                raise Refused(poll.stopped, status=409)
        return found

    def _take(self, limit: int) -> list[Mapping[str, Any]]:
        again, self._again = self._again, []
        return [*again, *self._pending][: limit + len(again)]

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            gone = self._pending[:offset]
            self._pending = self._pending[offset:]
        else:
            gone = [update for update in self._pending if update["update_id"] < offset]
            self._pending = [update for update in self._pending if update["update_id"] >= offset]
        self.confirmed.update(update["update_id"] for update in gone)

    def _wants(self, kind: str) -> bool:
        return kind in self._allowed if self._allowed else kind not in ON_REQUEST_ONLY
