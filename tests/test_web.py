"""The operator's web server, over a real socket."""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from bot import web
from bot.metrics import Metrics
from bot.web import WebServer
from memory.errors import ConfigError, StorageError

Fetch = Callable[[str], Awaitable[tuple[int, str, str]]]


class Parts:
    """What the app would hand in: one check for each part, which a test can break."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.polling = True
        self.database_error: Exception | None = None
        self.hangs = False

    async def database(self) -> bool:
        if self.hangs:
            await asyncio.Event().wait()
        if self.database_error:
            raise self.database_error
        return True

    async def fresh(self) -> bool:
        return self.polling

    async def refresh(self) -> None:
        self.metrics.inbox_pending.set(5)


@pytest.fixture
def parts() -> Parts:
    return Parts()


@pytest.fixture
async def server(parts: Parts) -> AsyncIterator[WebServer]:
    checks = {"database": parts.database, "polling": parts.fresh}
    server = WebServer("127.0.0.1:0", parts.metrics, checks, refresh=parts.refresh)
    await server.start()
    yield server
    await server.close()


@pytest.fixture
def fetch(server: WebServer) -> Fetch:
    def get(path: str) -> tuple[int, str, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=10) as answer:
                return answer.status, answer.headers["Content-Type"], answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers["Content-Type"], error.read().decode()

    return lambda path: asyncio.to_thread(get, path)


async def test_it_is_alive_while_the_event_loop_answers(fetch: Fetch, parts: Parts) -> None:
    parts.database_error = StorageError("gone")

    status, _, body = await fetch("/healthz")

    assert (status, json.loads(body)) == (200, {"status": "ok"})


async def test_it_is_ready_when_every_part_is(fetch: Fetch) -> None:
    status, _, body = await fetch("/readyz")

    assert (status, json.loads(body)) == (200, {"status": "ready", "failed": []})


async def test_it_is_not_ready_and_names_the_part_that_is_not(fetch: Fetch, parts: Parts) -> None:
    parts.polling = False

    status, _, body = await fetch("/readyz")

    assert (status, json.loads(body)) == (503, {"status": "unready", "failed": ["polling"]})


async def test_a_part_that_raises_is_not_ready_and_its_text_is_not_shown(fetch: Fetch, parts: Parts) -> None:
    parts.database_error = StorageError("the password is hunter2")

    status, _, body = await fetch("/readyz")

    assert (status, json.loads(body)["failed"]) == (503, ["database"])
    assert "hunter2" not in body


async def test_a_part_that_hangs_is_not_ready(
    fetch: Fetch, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "CHECK_SECONDS", 0.01)
    parts.hangs = True

    status, _, body = await fetch("/readyz")

    assert (status, json.loads(body)["failed"]) == (503, ["database"])


async def test_the_metrics_are_fresh_and_in_the_format_of_prometheus(fetch: Fetch) -> None:
    status, content_type, body = await fetch("/metrics")

    assert status == 200
    assert content_type.startswith("text/plain; version=")
    assert "\nmnemogram_inbox_pending 5.0\n" in body


async def test_a_taken_port_is_one_sentence_that_says_what_to_do(parts: Parts) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(ConfigError) as raised:
            await WebServer(f"127.0.0.1:{port}", parts.metrics, {}).start()

    assert str(raised.value) == (
        f"web.listen names 127.0.0.1:{port}, which is taken by another program; "
        "choose another port or stop that program."
    )


async def test_an_address_of_another_machine_is_one_sentence_too(parts: Parts) -> None:
    with pytest.raises(ConfigError, match=r"no address of this machine; use 127\.0\.0\.1 or 0\.0\.0\.0"):
        await WebServer("192.0.2.1:8080", parts.metrics, {}).start()


async def test_closing_what_was_never_started_does_nothing(parts: Parts) -> None:
    await WebServer("127.0.0.1:0", parts.metrics, {}).close()
