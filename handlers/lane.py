"""The pace of what goes out: about a message a second to one chat, and a limit for all chats together."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

BURST = 3.0
"""How many calls to one chat may follow each other without a pause."""

PER_SECOND = 1.0

ALL_BURST = 5.0
ALL_PER_SECOND = 25.0
"""What a bot may send in all its chats; Telegram's own limit is said to be about thirty."""

LONGEST_PAUSE = 30.0


@dataclass(slots=True)
class Bucket:
    """Lets calls through at a rate, a few of them at once. Times are seconds of a monotonic clock."""

    refilled_at: float
    per_second: float = PER_SECOND
    burst: float = BURST
    tokens: float = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = self.burst

    def pause(self, now: float) -> float:
        """Return how long a call that matters has to wait; at most 0 when it may go."""
        self._refill(now)
        # Rounded, as the rest of a float would be a pause too short for a clock to move.
        return round((1 - self.tokens) / self.per_second, 6)

    def has_spare(self, now: float) -> bool:
        """Tell whether a cosmetic call may go and still leave room for one that matters."""
        self._refill(now)
        return self.tokens >= 2

    def is_full(self, now: float) -> bool:
        self._refill(now)
        return self.tokens >= self.burst

    def take(self, now: float) -> None:
        """Count one call."""
        self._refill(now)
        self.tokens -= 1

    def landed(self, now: float) -> None:
        """A call has ended. Its own time earns nothing: Telegram counts from when calls arrive."""
        self.refilled_at = max(self.refilled_at, now)

    def _refill(self, now: float) -> None:
        self.tokens = min(self.burst, self.tokens + (now - self.refilled_at) * self.per_second)
        self.refilled_at = now


@dataclass(slots=True)
class Lane:
    """What is known about sending to one chat. Times are seconds of a monotonic clock."""

    bucket: Bucket
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    flooded_until: float = float("-inf")
    floods: int = 0  # how often in a row Telegram said that it is too much
    blocked: bool = False

    def pause(self, now: float) -> float:
        """Return how long a call that matters has to wait; at most 0 when it may go."""
        return max(self.flooded_until - now, self.bucket.pause(now))

    def has_spare(self, now: float) -> bool:
        """Tell whether a cosmetic call may go and still leave room for one that matters."""
        return self.bucket.has_spare(now) and now >= self.flooded_until

    def flooded(self, now: float, seconds: float) -> None:
        """Telegram said to wait so long."""
        self.flooded_until = max(self.flooded_until, now + seconds)
        self.floods += 1

    def idle(self, now: float) -> bool:
        """Tell whether this chat's pace may be forgotten; that it is blocked, its next call would tell."""
        return self.bucket.is_full(now) and now >= self.flooded_until and not self.lock.locked()


def backoff(faults: int) -> float:
    """Return how long to wait after so many faults in a row: one second, doubling, at most thirty."""
    return min(LONGEST_PAUSE, 2.0 ** min(faults, 10)) * random.uniform(0.75, 1.0)  # noqa: S311
