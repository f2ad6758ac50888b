"""Remembers for a while what has been dealt with, so that it is not dealt with twice."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

_KEPT = 2000


class Once:
    """A set that forgets its oldest members."""

    def __init__(self) -> None:
        self._seen: OrderedDict[Hashable, None] = OrderedDict()

    def first(self, *key: Hashable) -> bool:
        """Tell whether this is the first time that this comes, and remember it."""
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > _KEPT:
            self._seen.popitem(last=False)
        return True

    def again(self, *key: Hashable) -> None:
        """Take it back, because it could not be dealt with."""
        self._seen.pop(key, None)
