"""The loopback server that speaks the Messages API and keeps a record of everything."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.fakes.anthropic.answers import Answer, Brain
from tests.fakes.anthropic.binding import Binding
from tests.fakes.anthropic.cache import PrefixCache, count_tokens
from tests.fakes.anthropic.faults import HttpFault
from tests.fakes.anthropic.models import model_info
from tests.fakes.anthropic.plan import Plan, plain_brain
from tests.fakes.anthropic.refused import Refused
from tests.fakes.anthropic.requests import Request
from tests.fakes.anthropic.sending import is_complete, send_stream, send_whole
from tests.fakes.anthropic.sse import events, render
from tests.fakes.anthropic.validation import check, check_content_type, check_headers, parse

MESSAGES = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
MODEL = "/v1/models/"
KEY = "sk-ant-fake-7Hq2mXw4bT9sLd0ZrKc6"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that the real API would not have accepted."""

    path: str
    status: int
    kind: str
    message: str


class FakeAnthropic(Plan):
    """`async with FakeAnthropic() as api:` serves at `api.url` for `api.key`.

    Answers come from `script`, and where that is used up from `brain`. `now` gives seconds and ages the
    cache. `context_window` is in tokens of the fake's own count. `pace` is the time between two events.
    """

    def __init__(
        self,
        *,
        brain: Brain = plain_brain,
        now: Callable[[], float] = time.monotonic,
        thinking: bool = True,
        key: str = KEY,
        context_window: int = 1_000_000,
        cache_minimum: int = 512,
    ) -> None:
        super().__init__(brain, thinking=thinking)
        self.url = ""
        self.key = key
        self.context_window = context_window
        self.pace = 0.0
        self.requests: list[Request] = []
        self.refusals: list[Refusal] = []
        self.usages: list[Mapping[str, Any]] = []
        self.finished = 0
        self._cache = PrefixCache(now, cache_minimum)
        self._binding = Binding()
        self._ids = itertools.count(1)
        self._arrived = asyncio.Condition()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner:
            await self._runner.cleanup()

    @property
    def asked(self) -> list[Request]:
        """The requests for an answer, without counting and other calls."""
        return [request for request in self.requests if request.path == MESSAGES]

    async def wait_asked(self, count: int, timeout: float = 30.0) -> list[Request]:  # noqa: ASYNC109
        """Return the requests for an answer once there are `count` of them. Raises TimeoutError."""
        async with asyncio.timeout(timeout), self._arrived:
            await self._arrived.wait_for(lambda: len(self.asked) >= count)
        return self.asked

    async def _serve(self, http: web.Request) -> web.StreamResponse:
        raw = await http.read()
        try:
            return await self._route(http, raw)
        except Refused as refused:
            self.refusals.append(Refusal(http.path, refused.status, refused.kind, refused.message))
            return self._error(HttpFault(refused.status, refused.kind, refused.message))

    async def _route(self, http: web.Request, raw: bytes) -> web.StreamResponse:
        known = http.path.startswith(MODEL) if http.method == "GET" else http.path in (MESSAGES, COUNT)
        if not known or http.method not in ("GET", "POST"):
            raise Refused("Not Found", status=404, kind="not_found_error")
        if http.method == "GET":
            check_headers(http.headers, self.key)
            return web.json_response(model_info(http.path.removeprefix(MODEL)))
        request = await self._record(http, raw)
        check_headers(http.headers, self.key)
        check_content_type(http.headers)
        check(request.body, counting=http.path == COUNT)
        if http.path == COUNT:
            return web.json_response({"input_tokens": count_tokens(request.body)})
        return await self._answer(http, request)

    async def _record(self, http: web.Request, raw: bytes) -> Request:
        """Keep the request, readable or not, and read it."""
        request = Request(http.path, {}, raw, http.headers)
        try:
            request = Request(http.path, parse(raw), raw, http.headers)
        finally:
            async with self._arrived:
                self.requests.append(request)
                self._arrived.notify_all()
        return request

    async def _answer(self, http: web.Request, request: Request) -> web.StreamResponse:
        self._binding.check(request.body)
        tokens = count_tokens(request.body)
        if tokens > self.context_window:
            raise Refused(f"prompt is too long: {tokens} tokens > {self.context_window} maximum")
        chosen = self.choose(request)
        if isinstance(chosen, HttpFault):
            return self._error(chosen)
        return await self._send(http, request, chosen)

    async def _send(self, http: web.Request, request: Request, answer: Answer) -> web.StreamResponse:
        counted = self._cache.count(request.body)
        message = render(answer, request.body, counted, self._binding, self._ids)
        headers = {"request-id": self._request_id()}
        if request.body.get("stream"):
            planned = list(events(message, answer))
            response = await send_stream(http, planned, headers, answer.fault, self.pace)
        else:
            response = await send_whole(http, message, headers, answer.fault)
        self.usages.append(message["usage"])
        self.finished += is_complete(answer.fault)
        return response

    def _error(self, fault: HttpFault) -> web.Response:
        if fault.body:
            return web.Response(status=fault.status, text=fault.body, headers=dict(fault.headers))
        request_id = self._request_id()
        error = {"type": fault.type, "message": fault.message, **fault.details}
        body = {"type": "error", "error": error, "request_id": request_id}
        headers = {**fault.headers, "request-id": request_id}
        return web.json_response(body, status=fault.status, headers=headers)

    def _request_id(self) -> str:
        return f"req_{next(self._ids):024d}"
