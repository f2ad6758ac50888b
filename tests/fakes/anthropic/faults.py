"""The ways in which an answer of the fake model goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias


class Break(StrEnum):
    """How a stream goes wrong."""

    RESET = "reset"  # the connection is torn
    EOF = "eof"  # the response ends in good order, but before message_stop
    ERROR = "error"  # an error event, then the end
    STALL = "stall"  # nothing comes any more, the connection stays
    HOLD = "hold"  # nothing comes until the test releases it


class Hold:
    """An answer that waits in the middle until the test lets it go on."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._released = asyncio.Event()
        self.released: Callable[[], None] = lambda: None

    async def reached(self, timeout: float = 30.0) -> None:  # noqa: ASYNC109
        """Return once everything before the waiting point has been sent, if not yet read.

        Raises TimeoutError.
        """
        async with asyncio.timeout(timeout):
            await self._reached.wait()

    def release(self) -> None:
        self._released.set()

    async def pass_through(self) -> None:
        """Called by the server: announce the point and wait there."""
        self._reached.set()
        await self._released.wait()
        self.released()


@dataclass(frozen=True, slots=True)
class StreamFault:
    """A fault of a response that has begun, after so many deltas or bytes.

    Counted are the deltas of text and of arguments, not those of thoughts. With both ``None`` it comes before
    anything is sent, headers included.
    """

    kind: Break
    after_deltas: int | None = None
    after_bytes: int | None = None
    error: Mapping[str, Any] = field(default_factory=dict)
    hold: Hold | None = None


@dataclass(frozen=True, slots=True)
class HttpFault:
    """A refusal in place of an answer. ``body`` (not JSON) goes out as it is when it is not empty."""

    status: int
    type: str = "api_error"
    message: str = "Internal server error"
    headers: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""


Fault: TypeAlias = HttpFault | StreamFault


def reset(after: int | None = None, *, after_bytes: int | None = None) -> StreamFault:
    """The connection is torn after so many deltas or bytes, else before the headers."""
    return StreamFault(Break.RESET, after, after_bytes)


def clean_eof(after: int = 1) -> StreamFault:
    return StreamFault(Break.EOF, after)


def stall(after: int | None = None) -> StreamFault:
    """Silence for ever after so many deltas, or before the headers."""
    return StreamFault(Break.STALL, after)


def error_event(after: int = 1, kind: str = "overloaded_error", message: str = "Overloaded") -> StreamFault:
    return StreamFault(Break.ERROR, after, error={"type": kind, "message": message})


def http_error(status: int, kind: str, message: str, **details: Any) -> HttpFault:
    return HttpFault(status, kind, message, details=details)


def rate_limited(retry_after: float | None = None) -> HttpFault:
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return HttpFault(429, "rate_limit_error", "This request would exceed your rate limit.", headers)


def spend_cap(code: str = "enforced_spend_limit_reached") -> HttpFault:
    """A spending limit: it has no retry-after and stays until somebody acts."""
    return HttpFault(
        429, "rate_limit_error", "The spend limit is reached.", details={"details": {"error_code": code}}
    )


def own_spend_limit() -> HttpFault:
    """A limit that the customer has set is a 400."""
    return HttpFault(400, "invalid_request_error", "You have reached your specified API usage limits.")


def out_of_credit() -> HttpFault:
    return HttpFault(402, "billing_error", "Your credit balance is too low to access the API.")


def bad_key() -> HttpFault:
    return HttpFault(401, "authentication_error", "invalid x-api-key")


def forbidden() -> HttpFault:
    return HttpFault(403, "permission_error", "Your API key does not have permission to use the resource.")


def too_large() -> HttpFault:
    return HttpFault(413, "request_too_large", "Request exceeds the maximum size")


def prompt_too_long(tokens: int = 1_000_001) -> HttpFault:
    return HttpFault(400, "invalid_request_error", f"prompt is too long: {tokens} tokens > 1000000 maximum")


def server_error() -> HttpFault:
    return HttpFault(500)


def bad_gateway() -> HttpFault:
    page = "<html><head><title>502 Bad Gateway</title></head><body>cloudflare</body></html>"
    return HttpFault(502, headers={"content-type": "text/html"}, body=page)


def overloaded() -> HttpFault:
    return HttpFault(529, "overloaded_error", "Overloaded")
