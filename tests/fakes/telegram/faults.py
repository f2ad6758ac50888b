"""How a call goes wrong: refused, torn, slow, or applied without the bot ever hearing of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aiohttp import web

from tests.fakes.telegram.refused import error_body

HTML_502 = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


class Kind(StrEnum):
    """What happens to the call."""

    ERROR = "error"  # refused, nothing is applied
    PAGE = "page"  # a proxy answers in place of the Bot API; `description` is the body
    RESET = "reset"  # the connection is torn
    HANG = "hang"  # no response ever comes
    SLOW = "slow"  # the response comes late


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault. `applied` says whether the call takes effect all the same."""

    kind: Kind
    status: int = 500
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    applied: bool = False
    seconds: float = 0.0

    async def happen(self, request: web.Request) -> web.Response | None:
        """Do what the fault says; ``None`` when the call then goes on."""
        match self.kind:
            case Kind.ERROR:
                body = error_body(self.status, self.description, self.parameters)
                return web.json_response(body, status=self.status)
            case Kind.PAGE:
                return web.Response(status=self.status, text=self.description, content_type="text/html")
            case Kind.RESET:
                await tear(request)
            case Kind.HANG:
                await asyncio.Event().wait()
        await asyncio.sleep(self.seconds)
        return None


async def tear(request: web.Request) -> None:
    """Break the connection; the handler is cancelled by it."""
    if request.transport:
        request.transport.abort()
    await asyncio.Event().wait()


@dataclass(slots=True)
class Call:
    """One call of the bot; `status` is 0 while there is no response. `at` is in seconds, monotonic."""

    method: str
    params: Mapping[str, Any]
    at: float
    status: int = 0

    @property
    def chat_id(self) -> int:
        return int(self.params.get("chat_id") or 0)


@dataclass(slots=True)
class _Planned:
    method: str
    fault: Fault
    times: int | None
    when: Callable[[Call], bool]


class Faults:
    """Faults that a test has planned, by method; "*" stands for all."""

    def __init__(self) -> None:
        self._planned: list[_Planned] = []

    def plan(self, method: str, fault: Fault, times: int | None, when: Callable[[Call], bool]) -> None:
        self._planned.append(_Planned(method, fault, times, when))

    def clear(self) -> None:
        self._planned.clear()

    def take(self, call: Call) -> Fault | None:
        """Return the fault of this call, which is then used once."""
        for plan in self._planned:
            if plan.method in ("*", call.method) and plan.times != 0 and plan.when(call):
                plan.times = None if plan.times is None else plan.times - 1
                return plan.fault
        return None


def too_many_requests(retry_after: int) -> Fault:
    words = f"Too Many Requests: retry after {retry_after}"
    return Fault(Kind.ERROR, 429, words, {"retry_after": retry_after})


def bad_request(description: str) -> Fault:
    return Fault(Kind.ERROR, 400, f"Bad Request: {description}")


def unauthorized() -> Fault:
    return Fault(Kind.ERROR, 401, "Unauthorized")


def forbidden(description: str = "bot was blocked by the user") -> Fault:
    return Fault(Kind.ERROR, 403, f"Forbidden: {description}")


def conflict() -> Fault:
    words = "terminated by other getUpdates request; make sure that only one bot instance is running"
    return Fault(Kind.ERROR, 409, f"Conflict: {words}")


def server_error(status: int = 500, description: str = "Internal Server Error") -> Fault:
    return Fault(Kind.ERROR, status, description)


def bad_gateway(body: str = HTML_502, *, applied: bool = False) -> Fault:
    """A 502 of a proxy, which says nothing about whether the call took effect behind it."""
    return Fault(Kind.PAGE, 502, body, applied=applied)


def reset(*, applied: bool = False) -> Fault:
    """The connection is torn before the call is applied, or after it."""
    return Fault(Kind.RESET, applied=applied)


def hang(*, applied: bool = True) -> Fault:
    """The call takes effect (or not), but no response ever comes."""
    return Fault(Kind.HANG, applied=applied)


def slow(seconds: float) -> Fault:
    """The call takes effect at once, the response comes late."""
    return Fault(Kind.SLOW, applied=True, seconds=seconds)
