"""The rate limit of a chat: so many calls at once, then one in so many seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(slots=True)
class RateLimit:
    """A bucket for each chat that holds `burst` calls and fills by one every `seconds`."""

    seconds: float = 1.0
    burst: int = 3
    _full_at: dict[int, float] = field(default_factory=dict)

    def retry_after(self, chat_id: int, now: float) -> int:
        """Return 0 and count the call, or the whole seconds after which it may be tried again."""
        full_at = max(now, self._full_at.get(chat_id, now)) + self.seconds
        wait = full_at - now - self.burst * self.seconds
        if wait > 1e-6:
            return max(1, math.ceil(wait))
        self._full_at[chat_id] = full_at
        return 0
