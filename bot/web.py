"""The small web server of the operator: is it alive, is it ready, what has it measured."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from bot.metrics import CONTENT_TYPE, Metrics
from memory.errors import ConfigError

if TYPE_CHECKING:
    from aiohttp import web

log = logging.getLogger(__name__)

CHECK_SECONDS = 3.0
"""How long one check of readiness may take before it counts as failed."""

Check: TypeAlias = Callable[[], Awaitable[bool]]
"""Answers whether one part works; raising anything means that it does not."""


async def _nothing() -> None:
    pass


class WebServer:
    """Serves /healthz, /readyz and /metrics on `listen` ("host:port"; port 0 takes a free one)."""

    def __init__(
        self,
        listen: str,
        metrics: Metrics,
        checks: Mapping[str, Check],
        *,
        refresh: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        """`refresh` brings the gauges up to date before they are read."""
        host, _, port = listen.rpartition(":")
        self._host, self._port = host.strip("[]"), int(port)
        self._metrics = metrics
        self._checks = checks
        self._refresh = refresh
        self._runner: web.AppRunner | None = None

    @property
    def port(self) -> int:
        """The port that is served, once started."""
        assert self._runner is not None, "start() first"
        return int(self._runner.addresses[0][1])

    async def start(self) -> None:
        """Begin to serve. Raises ConfigError where the address cannot be taken."""
        from aiohttp import web

        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._show_metrics)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            await self.close()
            raise ConfigError(_why_not(error, self._host, self._port)) from None
        log.info("the web server listens", extra={"port": self.port})

    async def close(self) -> None:
        """Stop serving; nothing happens when it was never started."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _healthz(self, _request: web.Request) -> web.Response:
        from aiohttp import web

        return web.json_response({"status": "ok"})

    async def _readyz(self, _request: web.Request) -> web.Response:
        from aiohttp import web

        # What a check raises comes as a value: whatever it is, that part does not work.
        runs = (_within_time(check) for check in self._checks.values())
        results = await asyncio.gather(*runs, return_exceptions=True)
        failed = [name for name, result in zip(self._checks, results, strict=True) if result is not True]
        _log_errors(dict(zip(self._checks, results, strict=True)))
        body = {"status": "unready" if failed else "ready", "failed": failed}
        return web.json_response(body, status=503 if failed else 200)

    async def _show_metrics(self, _request: web.Request) -> web.Response:
        from aiohttp import web

        await self._refresh()
        return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})


async def _within_time(check: Check) -> bool:
    async with asyncio.timeout(CHECK_SECONDS):
        return await check()


def _log_errors(results: Mapping[str, bool | BaseException]) -> None:
    for name, result in results.items():
        if isinstance(result, BaseException):
            log.warning("a check failed", extra={"check": name, "error": type(result).__name__})


def _why_not(error: OSError, host: str, port: int) -> str:
    address = f"web.listen names {host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"{address}, which is taken by another program; choose another port or stop that program."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{address}, which this user may not open; choose a port above 1023."
    return f"{address}, which is no address of this machine; use 127.0.0.1 or 0.0.0.0 as its host."
