"""The console as a process: in a terminal, through pipes, after a restart, and told to end."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.texts import text

ROOT = Path(__file__).parent.parent.parent
SECONDS = 60.0


@dataclass
class Terminal:
    """The program with a terminal of its own."""

    process: subprocess.Popen[bytes]
    screen: int
    shown: str = ""

    def type(self, keys: str) -> None:
        os.write(self.screen, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until `text` is shown after what was waited for before."""
        deadline = time.monotonic() + SECONDS
        while text not in self.shown:
            assert select.select([self.screen], [], [], deadline - time.monotonic())[0], self.shown
            self.shown += os.read(self.screen, 65_536).decode("utf-8", "replace")
        self.shown = self.shown.partition(text)[2]

    def ended(self) -> int:
        return self.process.wait(SECONDS)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return kept | {
        "LANG": "en_GB.UTF-8",
        "TERM": "xterm",
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "PYTHONPATH": str(ROOT),
        "MNEMOGRAM_CONFIG": str(_empty(tmp_path / "config.toml")),
        "MNEMOGRAM_STORAGE__DIR": str(tmp_path / "data"),
    }


def _empty(file: Path) -> Path:
    """A configuration that is not the one of whoever runs the tests."""
    file.touch()
    return file


@pytest.fixture
def terminal(environment: dict[str, str]) -> Iterator[Terminal]:
    screen, inside = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "bot", "run"],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env=environment,
        start_new_session=True,
    )
    os.close(inside)
    yield Terminal(process, screen)
    process.kill()
    process.wait()
    os.close(screen)


def piped(environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bot", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )


def test_a_terminal_greets_answers_and_ends_with_ctrl_d(terminal: Terminal) -> None:
    terminal.wait_for("/help")
    terminal.wait_for(">")
    terminal.type("запомни: мою собаку зовут Бублик\r")
    terminal.wait_for(text("offline-saved", "ru", id=1, text="мою собаку зовут Бублик"))
    terminal.wait_for(">")
    terminal.type("\x03")
    terminal.wait_for("Ctrl-C")
    terminal.wait_for(">")
    terminal.type("как зовут моего пса?\r")
    terminal.wait_for("мою собаку зовут Бублик\r\n")
    terminal.wait_for(">")
    terminal.type("\x04")
    assert terminal.ended() == 0


def test_what_was_told_is_known_after_a_restart_in_both_languages(environment: dict[str, str]) -> None:
    told = "запомни: мою собаку зовут Бублик\nremember that my sister lives in Berlin\n"
    with piped(environment, "run") as process:
        _, errors = process.communicate(told, SECONDS)
        assert (process.returncode, errors) == (0, "")

    with piped(environment, "run") as process:
        answers, _ = process.communicate("what is my dog called?\nгде живёт моя сестра?\n", SECONDS)

    dog, sister = answers.splitlines()
    assert dog.endswith("мою собаку зовут Бублик")
    assert sister.endswith("my sister lives in Berlin")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_without_a_traceback(environment: dict[str, str], number: int) -> None:
    with piped(environment, "console") as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("hello\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("Hello!")
        process.send_signal(number)
        _, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, errors) == (130, "")


def test_a_second_run_is_refused_and_commands_work_beside_the_first(environment: dict[str, str]) -> None:
    with piped(environment, "run") as first:
        assert first.stdin
        assert first.stdout
        first.stdin.write("my dog is called Biscuit\n")
        first.stdin.flush()
        first.stdout.readline()

        with piped(environment, "run") as second:
            _, refusal = second.communicate("", SECONDS)
        with piped(environment, "memory", "forget", "--chat", "1", "--all", "--yes") as forget:
            forget.communicate("", SECONDS)
        first.stdin.write("what is my dog called?\n")
        answer, _ = first.communicate("", SECONDS)

    assert (second.returncode, f"in use by process {first.pid}" in refusal) == (1, True)
    assert forget.returncode == 0
    assert answer == "I know nothing about that yet.\n"


def test_with_neither_token_nor_terminal_run_says_what_is_missing(environment: dict[str, str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "bot", "run"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "set TELEGRAM_BOT_TOKEN" in ended.stderr.strip()
