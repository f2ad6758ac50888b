"""A prefix cache that counts like the real one: exact bytes, breakpoints, a minimum, lookback and age."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.anthropic.content import blocks_of

MINIMUM = {"claude-opus-4-6": 4096, "claude-haiku-4-5": 4096}
LOOKBACK = 20
IMAGE_TOKENS = 1500
SECONDS = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True, slots=True)
class Counted:
    """The input tokens of one request by where they came from."""

    read: int
    written: int
    rest: int

    @property
    def total(self) -> int:
        return self.read + self.written + self.rest


@dataclass(frozen=True, slots=True)
class Piece:
    """One block of the prompt: the hash of all up to here, its tokens, and its breakpoint's lifetime."""

    hash: str
    tokens: int
    ttl: str


class PrefixCache:
    """Remembers prefixes at breakpoints. `now` gives seconds."""

    def __init__(self, now: Callable[[], float], minimum: int = 512) -> None:
        self._now = now
        self._minimum = minimum
        self._entries: dict[str, tuple[float, float]] = {}  # hash: (end of life, lifetime)

    def count(self, body: Mapping[str, Any]) -> Counted:
        """Count the tokens of a request and keep its prefixes for the next one."""
        pieces = list(_pieces(body))
        sums = _sums(pieces)
        stops = [place for place, piece in enumerate(pieces) if piece.ttl]
        minimum = MINIMUM.get(body["model"], self._minimum)
        hit = max((self._lookup(pieces, stop) for stop in stops), default=-1)
        read = sums[hit] if hit >= 0 else 0
        kept = [stop for stop in stops if sums[stop] >= minimum]
        for stop in kept:
            self._keep(pieces[stop])
        written = max(0, sums[kept[-1]] - read) if kept else 0
        return Counted(read, written, sums[-1] - read - written)

    def _lookup(self, pieces: list[Piece], stop: int) -> int:
        """Return the last place at or before a breakpoint that is in the cache, or -1."""
        for place in range(stop, max(-1, stop - LOOKBACK), -1):
            end, lifetime = self._entries.get(pieces[place].hash, (0.0, 0.0))
            if end > self._now():
                self._entries[pieces[place].hash] = (self._now() + lifetime, lifetime)
                return place
        return -1

    def _keep(self, piece: Piece) -> None:
        lifetime = SECONDS[piece.ttl]
        self._entries[piece.hash] = (self._now() + lifetime, lifetime)


def count_tokens(body: Mapping[str, Any]) -> int:
    """Return the tokens of the whole prompt."""
    return sum(piece.tokens for piece in _pieces(body))


def tokens_of(words: str) -> int:
    """Four bytes make a token here; only comparisons matter."""
    return math.ceil(len(words.encode("utf-8", "replace")) / 4)


def _sums(pieces: list[Piece]) -> list[int]:
    sums, total = [], 0
    for piece in pieces:
        total += piece.tokens
        sums.append(total)
    return sums


def _pieces(body: Mapping[str, Any]) -> Iterator[Piece]:
    """Walk the prompt in the order of the cache: tools, system, messages."""
    digest = hashlib.sha256(body["model"].encode())
    parts = list(_parts(body))
    automatic = body.get("cache_control") or {}
    for place, (label, block) in enumerate(parts):
        bare, mark = _unmarked(block)
        if place == len(parts) - 1:
            mark = mark or automatic
        digest.update(f"\0{label}\0{json.dumps(bare, ensure_ascii=False)}".encode())
        tokens = (
            IMAGE_TOKENS if block.get("type") == "image" else tokens_of(json.dumps(bare, ensure_ascii=False))
        )
        yield Piece(digest.hexdigest(), tokens, str(mark.get("ttl", "5m")) if mark else "")


def _parts(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for tool in body.get("tools", ()):
        yield "tool", tool
    if body.get("system"):
        for block in blocks_of({"content": body["system"]}):
            yield "system", block
    # These settings stand before the messages: another value makes another conversation.
    settings = json.dumps([body.get(key) for key in ("tool_choice", "thinking", "output_config")])
    for message in body["messages"]:
        for block in blocks_of(message):
            yield f"{settings}{message['role']}", block


def _unmarked(block: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Split a block into its bytes and its breakpoint; a mark inside of a tool result counts for it."""
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    mark: Mapping[str, Any] = block.get("cache_control") or {}
    if isinstance(bare.get("content"), list):
        inner = [_unmarked(part) for part in bare["content"]]
        bare["content"] = [part for part, _ in inner]
        mark = mark or next((found for _, found in inner if found), {})
    return bare, mark
