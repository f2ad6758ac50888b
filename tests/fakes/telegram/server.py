"""The loopback server that speaks the Bot API, with its faults and its records."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.fakes.telegram.account import ACCOUNT_METHODS
from tests.fakes.telegram.faults import HTML_502, Call, Fault, Faults
from tests.fakes.telegram.limits import RateLimit
from tests.fakes.telegram.methods import LIMITED, MESSAGE_METHODS
from tests.fakes.telegram.params import Params, read_params
from tests.fakes.telegram.people import Chat
from tests.fakes.telegram.refused import Refused, error_body
from tests.fakes.telegram.updates import UpdateQueue
from tests.fakes.telegram.world import ChatState, World

TOKEN = "710011223:AAF4k-fake-Zq8wXv2LmN6pRtYbUc9Ds1"
METHODS = {**ACCOUNT_METHODS, **MESSAGE_METHODS}
BIGGEST = 60 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that the real Bot API would have refused."""

    method: str
    description: str
    params: Mapping[str, Any]


class FakeTelegram:
    """`async with FakeTelegram() as tg:` serves the bot `tg.token` at `tg.url`.

    `now` gives seconds since the epoch, for dates and for the age of a button press. `limit` is off when
    ``None``.
    """

    def __init__(
        self,
        *,
        token: str = TOKEN,
        username: str = "mnemogram_test_bot",
        now: Callable[[], float] = time.time,
        limit: RateLimit | None = None,
    ) -> None:
        self.token = token
        self.url = ""
        self.limit = limit
        self.calls: list[Call] = []
        self.refusals: list[Refusal] = []
        self.throttled = 0
        self.world = World(_bot(token, username), now)
        self._faults = Faults()
        self._paused = False
        self._port = 0
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        await self.come_back()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.go_down()

    @property
    def updates(self) -> UpdateQueue:
        return self.world.updates

    def private_chat(
        self, user_id: int, first_name: str = "Anna", language_code: str = "en", **more: Any
    ) -> Chat:
        """Return the chat of a person with the bot, the same state for the same id."""
        person = {"id": user_id, "is_bot": False, "first_name": first_name, **more}
        person["language_code"] = language_code
        info = {"id": user_id, "type": "private", "first_name": first_name, **more}
        return Chat(self.world, self.world.chats.setdefault(user_id, ChatState(info)), person)

    def group(
        self, chat_id: int, member: Chat, title: str = "Friends", threads: frozenset[int] = frozenset()
    ) -> Chat:
        """Return a supergroup seen by one of its members."""
        info = {"id": chat_id, "type": "supergroup", "title": title, "is_forum": bool(threads)}
        state = self.world.chats.setdefault(chat_id, ChatState(info, set(threads)))
        return Chat(self.world, state, member.person)

    def push_raw(self, update: Mapping[str, Any]) -> int:
        """Queue any update, an undecodable one included; it gets the next id unless it has one."""
        return self.world.updates.push(update)

    def fail(
        self,
        method: str,
        fault: Fault,
        times: int | None = 1,
        when: Callable[[Call], bool] = lambda call: True,
    ) -> None:
        """Let the next `times` calls (``None``: all) of a method ("*": any) go wrong."""
        self._faults.plan(method, fault, times, when)

    def heal(self) -> None:
        """Take back all planned faults."""
        self._faults.clear()

    def pause(self) -> None:
        """Answer everything with a 502 until `resume`."""
        self._paused = True
        self.world.updates.stop_poller("paused")

    def resume(self) -> None:
        self._paused = False

    async def go_down(self) -> None:
        """Tear all connections and refuse new ones until `come_back`."""
        if self._runner:
            await self._runner.cleanup()
        self._runner = None

    async def come_back(self) -> None:
        """Listen again on the same port."""
        app = web.Application(client_max_size=BIGGEST)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self._port}"

    def calls_of(self, *methods: str, chat: Chat | None = None) -> list[Call]:
        """Return the calls of these methods, of one chat where it is given."""
        return [
            call for call in self.calls if call.method in methods and (not chat or call.chat_id == chat.id)
        ]

    async def wait_polling(self, polls: int = 0, timeout: float = 60.0) -> int:  # noqa: ASYNC109
        """Return the number of polls once there were more than `polls`. Raises TimeoutError."""
        await self.world.changed.until(lambda: self.updates.polls > polls, timeout)
        return self.updates.polls

    async def wait_confirmed(self, update_id: int, timeout: float = 30.0) -> None:  # noqa: ASYNC109
        """Return once the bot has confirmed an update by a higher offset. Raises TimeoutError."""
        await self.world.changed.until(lambda: update_id in self.updates.confirmed, timeout)

    async def wait_call(self, method: str, count: int = 1, timeout: float = 30.0) -> list[Call]:  # noqa: ASYNC109
        """Return the calls of a method once there are `count` of them. Raises TimeoutError."""
        await self.world.changed.until(lambda: len(self.calls_of(method)) >= count, timeout)
        return self.calls_of(method)

    async def _serve(self, http: web.Request) -> web.StreamResponse:
        if self._paused:
            return _page()
        if http.path.startswith("/file/bot"):
            return self._download(http.path)
        token, _, method = http.path.removeprefix("/bot").partition("/")
        try:
            params = await read_params(http)
        except Refused as refused:
            return self._refuse(Call(method, {}, time.monotonic()), refused)
        call = Call(method, params.values, time.monotonic())
        self.calls.append(call)
        self.world.changed.send()
        response = await self._respond(http, token, call, params)
        call.status = response.status
        return response

    async def _respond(self, http: web.Request, token: str, call: Call, params: Params) -> web.Response:
        """Apply the call, with the fault that is planned for it before or after."""
        fault = self._faults.take(call)
        if fault and not fault.applied and (response := await fault.happen(http)):
            return response
        applied = await self._apply(token, call, params)
        if fault and fault.applied and (response := await fault.happen(http)):
            return response
        return applied

    async def _apply(self, token: str, call: Call, params: Params) -> web.Response:
        if token != self.token:
            return web.json_response(error_body(401, "Unauthorized"), status=401)
        try:
            self._throttle(call)
            if call.method not in METHODS:
                raise Refused("method not found", status=404)
            result = await METHODS[call.method](self.world, params)
        except Refused as refused:
            return _page() if self._paused else self._refuse(call, refused)
        return web.json_response({"ok": True, "result": result})

    def _throttle(self, call: Call) -> None:
        if self.limit is None or call.method not in LIMITED:
            return
        if seconds := self.limit.retry_after(call.chat_id, call.at):
            self.throttled += 1
            raise Refused(f"retry after {seconds}", status=429, parameters={"retry_after": seconds})

    def _refuse(self, call: Call, refused: Refused) -> web.Response:
        if refused.status in (400, 404):
            self.refusals.append(Refusal(call.method, refused.description, call.params))
        body = error_body(refused.status, refused.description, refused.parameters)
        return web.json_response(body, status=refused.status)

    def _download(self, path: str) -> web.Response:
        token, _, wanted = path.removeprefix("/file/bot").partition("/")
        for file in self.world.files.values():
            if token == self.token and file.path == wanted:
                return web.Response(body=file.data, content_type="application/octet-stream")
        return web.json_response(error_body(404, "Not Found"), status=404)


def _page() -> web.Response:
    return web.Response(status=502, text=HTML_502, content_type="text/html")


def _bot(token: str, username: str) -> dict[str, Any]:
    number = int(token.partition(":")[0])
    return {"id": number, "is_bot": True, "first_name": "Mnemogram", "username": username}
