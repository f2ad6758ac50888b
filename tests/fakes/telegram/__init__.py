"""A strict stand-in for the Bot API on a loopback port: `async with FakeTelegram() as tg`."""

from tests.fakes.telegram.faults import (
    Call,
    Fault,
    bad_gateway,
    bad_request,
    conflict,
    forbidden,
    hang,
    reset,
    server_error,
    slow,
    too_many_requests,
    unauthorized,
)
from tests.fakes.telegram.formatted import units
from tests.fakes.telegram.limits import RateLimit
from tests.fakes.telegram.people import Chat
from tests.fakes.telegram.server import FakeTelegram, Refusal
from tests.fakes.telegram.world import Message, Query

__all__ = [
    "Call",
    "Chat",
    "FakeTelegram",
    "Fault",
    "Message",
    "Query",
    "RateLimit",
    "Refusal",
    "bad_gateway",
    "bad_request",
    "conflict",
    "forbidden",
    "hang",
    "reset",
    "server_error",
    "slow",
    "too_many_requests",
    "unauthorized",
    "units",
]
