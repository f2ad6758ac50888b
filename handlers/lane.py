"""The pace of one chat: a few messages at once, then about one a second, none while Telegram says so."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

BURST = 3.0
"""How many calls may follow each other without a pause."""

PER_SECOND = 1.0


@dataclass(slots=True)
class Lane:
    """What is known about sending to one chat. Times are seconds of a monotonic clock."""

    refilled_at: float
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    tokens: float = BURST
    flooded_until: float = float("-inf")
    floods: int = 0  # how often in a row Telegram said that it is too much
    blocked: bool = False

    def pause(self, now: float) -> float:
        """Return how long a call that matters has to wait; at most 0 when it may go."""
        self._refill(now)
        return max(self.flooded_until - now, (1 - self.tokens) / PER_SECOND)

    def has_spare(self, now: float) -> bool:
        """Tell whether a cosmetic call may go and still leave room for one that matters."""
        self._refill(now)
        return self.tokens >= 2 and now >= self.flooded_until

    def take(self, now: float) -> None:
        """Count one call."""
        self._refill(now)
        self.tokens -= 1

    def landed(self, now: float) -> None:
        """A call has ended. Its own time earns nothing: Telegram counts from when calls arrive."""
        self.refilled_at = max(self.refilled_at, now)

    def flooded(self, now: float, seconds: float) -> None:
        """Telegram said to wait so long."""
        self.flooded_until = max(self.flooded_until, now + seconds)
        self.floods += 1

    def idle(self, now: float) -> bool:
        """Tell whether nothing would be lost by forgetting this chat's pace."""
        self._refill(now)
        unused = self.tokens >= BURST and now >= self.flooded_until
        return unused and not self.blocked and not self.lock.locked()

    def _refill(self, now: float) -> None:
        self.tokens = min(BURST, self.tokens + (now - self.refilled_at) * PER_SECOND)
        self.refilled_at = now
