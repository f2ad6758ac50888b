"""Bytes on the wire: a message whole or as a stream, with the fault that was planned for it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web

from tests.fakes.anthropic.faults import Break, StreamFault
from tests.fakes.anthropic.sse import Event, error_payload


async def send_whole(
    http: web.Request, message: Mapping[str, Any], headers: Mapping[str, str], fault: StreamFault | None
) -> web.Response:
    """Answer a request without streaming; any fault comes before the headers."""
    if fault:
        await _break(http, fault)
    return web.json_response(message, headers=dict(headers))


async def send_stream(
    http: web.Request,
    planned: list[Event],
    headers: Mapping[str, str],
    fault: StreamFault | None,
    pace: float,
) -> web.StreamResponse:
    """Send the events with `pace` seconds between two, and the fault in its place."""
    before, after = _split(planned, fault)
    if fault and not before:
        await _break(http, fault)
    response = web.StreamResponse(headers={**headers, "content-type": "text/event-stream; charset=utf-8"})
    await response.prepare(http)
    await _write(response, before, pace)
    if fault and before:
        await _break(http, fault)
    await _write(response, after, pace)
    await response.write_eof()
    return response


def is_complete(fault: StreamFault | None) -> bool:
    """Whether the whole message went out."""
    return fault is None or fault.kind is Break.HOLD


def _split(planned: list[Event], fault: StreamFault | None) -> tuple[list[bytes], list[bytes]]:
    """Divide a stream into what comes before the fault and what comes after it."""
    payloads = [event.payload for event in planned]
    if fault is None:
        return payloads, []
    if fault.after_bytes is not None:
        return [b"".join(payloads)[: fault.after_bytes]], []
    place = 0 if fault.after_deltas is None else _place(planned, fault.after_deltas)
    match fault.kind:
        case Break.HOLD:
            return payloads[:place], payloads[place:]
        case Break.ERROR:
            return payloads[:place], [error_payload(fault.error)]
    return payloads[:place], []


def _place(planned: list[Event], deltas: int) -> int:
    """Return how many events go out up to this delta, or up to the last one where there are fewer."""
    seen = list(itertools.accumulate(int(event.is_delta) for event in planned))
    wanted = min(deltas, seen[-1])
    return seen.index(wanted) + 1


async def _write(response: web.StreamResponse, payloads: Iterable[bytes], pace: float) -> None:
    for payload in payloads:
        await response.write(payload)
        await asyncio.sleep(pace)


async def _break(http: web.Request, fault: StreamFault) -> None:
    """Do with the connection what the fault says; a hold returns when it is released."""
    match fault.kind:
        case Break.RESET:
            if http.transport:
                http.transport.abort()
            await asyncio.Event().wait()
        case Break.STALL:
            await asyncio.Event().wait()
        case Break.HOLD if fault.hold:
            await fault.hold.pass_through()
