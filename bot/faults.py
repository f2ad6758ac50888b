"""What a failed call to the model means: try again, do without something, or tell somebody what to do."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from bot.ports import ModelError, ModelMisconfigured, ModelUnavailable, PromptTooLong
from bot.rendering import OPTIONAL

LONGEST_WAIT_SECONDS = 20.0
"""A server that asks for a longer wait counts as away: nobody looks at a silent chat for minutes."""

OK = 200
SERVER_ERROR = 500

# An error that comes inside of a stream has the status of the stream, which is 200.
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "timeout_error": 408,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
_SPENDING = re.compile(r"spend_limit_reached|spend(?:ing)? limit|usage limit|credit balance")
_TOO_LONG = re.compile(
    r"(?:prompt|input|request) is too long|too many (?:input )?tokens"
    r"|context[ _](?:window|length|size)|maximum context"
)
_NAMES = {
    "cache_control": "cache_control",
    "output_config": "output_config",
    "effort": "output_config",
    "tool_choice": "tool_choice",
    "thinking": "thinking",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What is known of a failure. `status` is None where no answer came; `message` is for judging only."""

    name: str
    status: int | None = None
    type: str = ""
    code: str = ""
    message: str = ""
    retry_after: str = ""
    may_retry: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do. `wait_seconds` is the server's wish; `optional` are parameters to be left out."""

    kind: type[ModelError]
    sentence: str
    retry: bool = False
    wait_seconds: float | None = None
    optional: frozenset[str] = frozenset()

    def error(self) -> ModelError:
        return self.kind(self.sentence)


UNREACHABLE = Verdict(
    ModelUnavailable, "The model cannot be reached; check the network and claude.base_url.", retry=True
)
BROKEN = Verdict(
    ModelUnavailable, "The model is overloaded or broken now; try again in a few minutes.", retry=True
)
LIMITED = Verdict(
    ModelUnavailable, "The model server limits how much may be asked; try again in a few minutes.", retry=True
)
TOO_LONG = Verdict(PromptTooLong, "The message is too long for the model; send less of it at once.")
SPENT = Verdict(
    ModelMisconfigured,
    "The account of claude.api_key has reached its spending limit or has no credit left; raise it.",
)
KEY = Verdict(
    ModelMisconfigured,
    "The model server does not accept claude.api_key; put a valid key into the configuration.",
)
UNKNOWN = Verdict(
    ModelMisconfigured,
    "The model server knows no such model or address; check claude.model and claude.base_url.",
)
MISUNDERSTOOD = Verdict(
    ModelMisconfigured,
    "The model server does not understand the requests; check claude.model, claude.max_tokens and "
    "claude.profile.",
)
_OF_STATUS = {401: KEY, 402: SPENT, 403: KEY, 404: UNKNOWN, 408: BROKEN, 409: BROKEN, 413: TOO_LONG}


def judge(fault: Fault) -> Verdict:
    """Return what a failure calls for. No word of the server's message gets into the error."""
    verdict = _verdict(fault)
    return verdict if fault.may_retry else replace(verdict, retry=False)


def _verdict(fault: Fault) -> Verdict:
    status = fault.status
    if status is None:
        return UNREACHABLE
    if status == OK:
        status = _STATUS_OF_TYPE.get(fault.type, SERVER_ERROR)
    if _SPENDING.search(_words(fault)):
        return SPENT
    if status in (400, 422):
        return _bad_request(fault)
    if status == 429:
        return _rate_limited(fault)
    return BROKEN if status >= SERVER_ERROR else _OF_STATUS.get(status, UNKNOWN)


def _bad_request(fault: Fault) -> Verdict:
    words = _words(fault)
    if _TOO_LONG.search(words):
        return TOO_LONG
    named = frozenset(parameter for name, parameter in _NAMES.items() if name in words)
    return replace(MISUNDERSTOOD, optional=named or OPTIONAL)


def _rate_limited(fault: Fault) -> Verdict:
    wait = _seconds(fault.retry_after)
    return replace(LIMITED, retry=wait is None or wait <= LONGEST_WAIT_SECONDS, wait_seconds=wait)


def _seconds(header: str) -> float | None:
    """Read a number of seconds; a date, which is allowed too, counts as no wish."""
    try:
        seconds = float(header)
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _words(fault: Fault) -> str:
    return f"{fault.type} {fault.code} {fault.message}".lower()
