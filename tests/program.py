"""The whole program in this process: its commands on a data directory, and what they print."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.__main__ import main


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert (self.status, self.err) == (0, "")
        return json.loads(self.out)

    @property
    def refusal(self) -> str:
        """The one sentence of a command that did nothing."""
        [sentence] = self.err.splitlines()
        assert self.out == ""
        return sentence


@dataclass(frozen=True, slots=True)
class Program:
    """`program("memory", "list", "--chat", "1")` runs a command; the data lie in `data`."""

    data: Path
    _capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> Ended:
        with _own_hooks():
            try:
                status = main(arguments)
            except SystemExit as end:  # argparse
                status = int(end.code or 0)
        out, err = self._capture.readouterr()
        return Ended(status, out, err)

    def told(self, text: str, chat: int = 1) -> str:
        """Say something to the bot in the console; return its answer."""
        return self("console", "--chat", str(chat), "--once", text).out.strip()


def make_program(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str], **settings: str
) -> Program:
    """`settings` are named like environment variables, without MNEMOGRAM_."""
    for name in ("TELEGRAM_BOT_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "MNEMOGRAM_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(directory)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.setenv("MNEMOGRAM_STORAGE__DIR", str(directory / "data"))
    for name, value in settings.items():
        monkeypatch.setenv(f"MNEMOGRAM_{name}", value)
    return Program(directory / "data", capture)


@contextmanager
def _own_hooks() -> Iterator[None]:
    """Take back what the program sets for its whole process."""
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
        logging.captureWarnings(capture=False)
        root.handlers[:] = handlers
        root.setLevel(level)
