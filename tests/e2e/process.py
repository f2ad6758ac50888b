"""The bot as a process of its own, pointed at the fakes, that can be killed at any moment."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.telegram import FakeTelegram

ROOT = Path(__file__).parent.parent.parent
BOT = (sys.executable, "-m", "bot")
READY_SECONDS = 120.0
"""Importing the libraries takes ten seconds of CPU, and tests run side by side."""


class BotProcess:
    """`async with BotProcess(tg, api, tmp_path) as bot:` leaves no process behind.

    Data lie in `directory`/data, output in `directory`/bot.log. Without `api` the bot has no key. `users` are
    the ids that may talk to it. `env` adds to, or overrides, the environment.
    """

    def __init__(
        self,
        tg: FakeTelegram,
        api: FakeAnthropic | None,
        directory: Path,
        *,
        users: Sequence[int] | Literal["all"] = "all",
        admins: Sequence[int] = (),
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = BOT,
    ) -> None:
        self.data = directory / "data"
        self.env = _environment(tg, api, directory, users, admins) | dict(env or {})
        self.secrets = (tg.token, *((api.key,) if api else ()))
        self._tg = tg
        self._directory = directory
        self._command = tuple(command)
        self._log_file = directory / "bot.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._polls = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def log(self) -> str:
        """Everything that was printed and logged so far, over all starts."""
        return self._log_file.read_text("utf-8", "replace") if self._log_file.exists() else ""

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def status(self) -> int | None:
        """The exit status of the last start; negative for a signal, ``None`` while it runs."""
        return self._process.poll() if self._process else None

    def start(self, *arguments: str) -> None:
        """Start `run`, or another command of the program, in the background."""
        if self.running:
            raise RuntimeError("the bot runs already")
        self._polls = self._tg.updates.polls
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, *(arguments or ("run",))],
                cwd=self._directory,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    async def wait_ready(self, timeout: float = READY_SECONDS) -> None:  # noqa: ASYNC109
        """Return once this start has asked for updates.

        Raises RuntimeError with the log when the process ends before, TimeoutError when it takes too long.
        """
        deadline = time.monotonic() + timeout
        while self._tg.updates.polls <= self._polls:
            if not self.running:
                raise RuntimeError(f"the bot ended with status {self.status}:\n{self.log}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"the bot does not ask for updates:\n{self.log}")
            with suppress(TimeoutError):
                await self._tg.wait_polling(self._polls, timeout=0.2)

    async def launch(self) -> None:
        """Start and wait until it is ready."""
        self.start()
        await self.wait_ready()

    def kill(self) -> None:
        """End it as a power cut would, with all that it has started."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal and go on."""
        if self._process:
            self._process.send_signal(number)

    async def wait_ended(self, timeout: float = 60.0) -> int:  # noqa: ASYNC109
        """Return the exit status. Raises subprocess.TimeoutExpired."""
        if self._process is None:
            raise RuntimeError("the bot was not started")
        return await asyncio.to_thread(self._process.wait, timeout)

    async def terminate(self, timeout: float = 60.0) -> int:  # noqa: ASYNC109
        """Ask it to end and return its exit status. Raises subprocess.TimeoutExpired."""
        self.signal()
        return await self.wait_ended(timeout)

    async def restart(self) -> None:
        """Kill it and start it again on the same data."""
        self.kill()
        await self.launch()

    async def command(
        self,
        *arguments: str,
        words: str = "",
        timeout: float = 120.0,  # noqa: ASYNC109
    ) -> subprocess.CompletedProcess[str]:
        """Run another command of the program on the same data; `words` are typed into it."""
        return await asyncio.to_thread(
            subprocess.run,
            [*self._command, *arguments],
            cwd=self._directory,
            env=self.env,
            input=words,
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
        )

    def files_with(self, words: str) -> list[Path]:
        """Return the files of data that hold the words, in either of the usual encodings or escaped."""
        forms = [words.encode(), words.encode("utf-16-le"), words.encode("unicode_escape")]
        files = [file for file in self.data.rglob("*") if file.is_file()]
        return [file for file in files if any(form in _bytes(file) for form in forms)]


def _bytes(file: Path) -> bytes:
    """What is in a file of the running bot, which may take it away at any moment."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def _environment(
    tg: FakeTelegram,
    api: FakeAnthropic | None,
    directory: Path,
    users: Sequence[int] | str,
    admins: Sequence[int],
) -> dict[str, str]:
    """A small environment of its own: nothing of the person who runs the tests gets in."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(directory),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_OFFLINE": "1",
        "ANONYMIZED_TELEMETRY": "false",
        "TELEGRAM_BOT_TOKEN": tg.token,
        "MNEMOGRAM_TELEGRAM__API_BASE": tg.url,
        "MNEMOGRAM_TELEGRAM__DRAIN_SECONDS": "10",
        "MNEMOGRAM_STORAGE__DIR": str(directory / "data"),
        "MNEMOGRAM_ACCESS__USERS": users if isinstance(users, str) else ",".join(map(str, users)),
        "MNEMOGRAM_ACCESS__ADMINS": ",".join(map(str, admins)),
        "MNEMOGRAM_LOG__LEVEL": "debug",
        **({"ANTHROPIC_API_KEY": api.key, "ANTHROPIC_BASE_URL": api.url} if api else {}),
    }
