"""What the image would run, without an engine: its own entry command, as nobody, in an empty environment."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import site
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.e2e.process import ROOT, BotProcess
from tests.fakes.telegram import FakeTelegram

USER = 10001
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
FINAL_STAGE = DOCKERFILE.rpartition("\nFROM ")[2]

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


def instruction(name: str) -> list[str]:
    """The last such instruction of the final stage, in its JSON form."""
    found = re.findall(rf"^{name}\s.*?(\[.*\])$", FINAL_STAGE.replace("\\\n", " "), re.MULTILINE)
    words: list[str] = json.loads(found[-1])
    return words


def image_environment() -> dict[str, str]:
    lines = FINAL_STAGE.replace("\\\n", " ")
    [model] = re.findall(r"^ARG EMBEDDINGS_MODEL=(\S+)$", lines, re.MULTILINE)
    [assignments] = re.findall(r"^ENV (.*)$", lines, re.MULTILINE)
    values = dict(word.split("=", 1) for word in assignments.split())
    return {name: value.replace("${EMBEDDINGS_MODEL}", model) for name, value in values.items()}


def interpreter() -> str:
    """A Python of this version that everybody may run; that of the tests may lie in somebody's home."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    candidates = [sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"]
    for candidate in candidates:
        command = [candidate, "-c", "import encodings"]
        if (
            shutil.which(candidate)
            and subprocess.run(
                ["setpriv", f"--reuid={USER}", "--clear-groups", *command], capture_output=True
            ).returncode
            == 0
        ):
            return candidate
    pytest.skip(f"no {version} that user {USER} may run")


@pytest.fixture
def home() -> Iterator[Path]:
    """A place that the user owns, with a copy of the program and the way to the libraries."""
    with tempfile.TemporaryDirectory(prefix="container-") as directory:
        place = Path(directory)
        for package in ("bot", "handlers", "memory"):
            shutil.copytree(
                ROOT / package, place / "app" / package, ignore=shutil.ignore_patterns("__pycache__")
            )
        (place / "data").mkdir(mode=0o700)
        for path in (place, *place.rglob("*")):
            os.chown(path, USER, USER)
        yield place


def command(*words: str) -> list[str]:
    """The program as the image's user with no capability left."""
    assert words[0] == "mnemogram"
    drop = [
        "setpriv",
        f"--reuid={USER}",
        f"--regid={USER}",
        "--clear-groups",
        "--bounding-set=-all",
        "--no-new-privs",
    ]
    return [*drop, interpreter(), "-m", "bot", *words[1:]]


def environment(home: Path, tg: FakeTelegram, port: int) -> Mapping[str, str]:
    libraries = [path for path in site.getsitepackages() if Path(path).is_dir()]
    return image_environment() | {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join([str(home / "app"), *libraries]),
        "TELEGRAM_BOT_TOKEN": tg.token,
        "MNEMOGRAM_TELEGRAM__API_BASE": tg.url,
        "MNEMOGRAM_STORAGE__DIR": str(home / "data"),
        "MNEMOGRAM_WEB__LISTEN": f"127.0.0.1:{port}",
        "MNEMOGRAM_ACCESS__USERS": "all",
    }


async def test_the_entry_command_serves_as_an_unprivileged_user_and_is_healthy(home: Path) -> None:
    port = _free_port()
    async with FakeTelegram() as tg, _as_in_the_image(tg, home, port) as bot:
        bot.start(*instruction("CMD"))
        await bot.wait_ready()
        anna = tg.private_chat(7, "Anna", "en")
        await anna.answer_after(await anna.send("remember: my dog is called Biscuit"), containing="Biscuit")

        check = [word.replace("8080", str(port)) for word in instruction("HEALTHCHECK")]
        healthy = await asyncio.to_thread(subprocess.run, [sys.executable, *check[1:]], capture_output=True)

        assert healthy.returncode == 0, healthy.stderr
        assert {path.stat().st_uid for path in (home / "data").rglob("*")} == {USER}
        assert await bot.terminate() == 0
        assert "bundled model" in bot.log  # the image's own model is not on this machine


def _as_in_the_image(tg: FakeTelegram, home: Path, port: int) -> BotProcess:
    return _Bare(tg, home, command(*instruction("ENTRYPOINT")), environment(home, tg, port))


class _Bare(BotProcess):
    """With nothing in its environment but what it is given."""

    def __init__(
        self, tg: FakeTelegram, directory: Path, command: list[str], environment: Mapping[str, str]
    ) -> None:
        super().__init__(tg, None, directory, command=command)
        self.env = dict(environment)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_the_image_runs_without_root_and_keeps_everything_in_one_volume() -> None:
    assert re.findall(r"^USER (\S+)$", FINAL_STAGE, re.MULTILINE) == [str(USER)]
    assert re.findall(r"^VOLUME (\S+)$", FINAL_STAGE, re.MULTILINE) == ["/data"]
    assert image_environment()["MNEMOGRAM_STORAGE__DIR"] == "/data"
