"""`doctor`: what is well, what is broken, and what to do about it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.cli.reach import reach_claude, reach_telegram
from bot.config import Claude, Telegram
from memory.lock import DirectoryLock
from tests.program import Program, make_program

CLOSED = "http://127.0.0.1:9"
"""A port on which nothing listens."""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return make_program(tmp_path, monkeypatch, capsys)


def broken(program: Program) -> dict[str, str]:
    """The checks that fail, by name, with what they say."""
    lines = program("doctor").out.splitlines()
    assert {line[0] for line in lines} <= {"✓", "✗"}
    return dict(line[2:].split(": ", 1) for line in lines if line.startswith("✗"))


def test_on_a_fresh_machine_all_is_well_and_nothing_is_made(program: Program) -> None:
    assert broken(program) == {}
    assert not program.data.exists()


def test_it_answers_in_json(program: Program) -> None:
    told = program("doctor", "--json").json

    assert told["ok"]
    assert {"program", "directory", "database", "index", "embeddings", "claude", "telegram"} <= {
        check["name"] for check in told["checks"]
    }


def test_a_chat_that_was_told_something_is_counted(program: Program) -> None:
    program.told("my dog is called Biscuit")
    found = {check["name"]: check["found"] for check in program("doctor", "--json").json["checks"]}
    assert "memories 1, messages 2" in found["database"]


def test_beside_a_running_bot_it_leaves_the_index_alone(program: Program) -> None:
    program.told("my dog is called Biscuit")
    lock = DirectoryLock(program.data)
    lock.acquire()
    told = program("doctor", "--json").json
    lock.release()

    found = {check["name"]: check["found"] for check in told["checks"]}
    assert "running" in found["owner"]
    assert "running bot" in found["index"]


def test_a_file_that_is_no_database_is_broken_and_says_what_to_do(program: Program) -> None:
    program.data.mkdir()
    (program.data / "mnemogram.db").write_text("no database " * 1000, encoding="utf-8")

    assert "backup" in broken(program)["database"]
    assert program("doctor").status == 1


def test_a_directory_that_is_none_is_broken(program: Program) -> None:
    program.data.write_text("a file", encoding="utf-8")
    assert "cannot be written" in broken(program)["directory"]


def test_servers_that_do_not_answer_are_broken_and_no_key_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = {"TELEGRAM__TOKEN": "123456:token-of-mine", "CLAUDE__API_KEY": "sk-key-of-mine"}
    places = {"TELEGRAM__API_BASE": CLOSED, "CLAUDE__BASE_URL": CLOSED, "ACCESS__ADMINS": "1"}
    program = make_program(tmp_path, monkeypatch, capsys, **secrets, **places)

    assert set(broken(program)) == {"claude", "telegram"}
    told = program("doctor", "--json")
    assert not [secret for secret in secrets.values() if secret in told.out + told.err]


def test_a_bot_that_nobody_may_write_to_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = make_program(
        tmp_path, monkeypatch, capsys, TELEGRAM__TOKEN="123456:token-of-mine", TELEGRAM__API_BASE=CLOSED
    )
    assert "access.admins" in broken(program)["configuration"]


def test_a_job_that_fails_is_named_with_what_it_raised(program: Program) -> None:
    program.told("my dog is called Biscuit")
    assert "jobs" not in broken(program)
    with closing(sqlite3.connect(program.data / "mnemogram.db")) as conn:
        conn.execute(
            "INSERT INTO jobs (name, failures, last_error) VALUES ('close idle sessions', 3, 'OSError')"
        )
        conn.execute("INSERT INTO jobs (name, failures, last_error) VALUES ('given up', 9, 'OSError')")
        conn.commit()

    told = broken(program)["jobs"]

    assert "close idle sessions 3 times (OSError)" in told
    assert "given up" not in told


def test_a_model_server_that_wants_no_key_is_asked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = make_program(
        tmp_path, monkeypatch, capsys, CLAUDE__PROFILE="compatible", CLAUDE__BASE_URL=CLOSED
    )
    assert set(broken(program)) == {"claude"}


@asynccontextmanager
async def answering(status: int, seen: list[Mapping[str, str]] | None = None) -> AsyncIterator[str]:
    """A server that answers everything with one status, and notes the headers in `seen`."""

    async def answer(request: web.Request) -> web.Response:
        if seen is not None:
            seen.append(dict(request.headers))
        return web.Response(status=status)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


async def claude_at(url: str) -> str:
    reached = await reach_claude(Claude.model_validate({"api_key": "sk-key", "base_url": url}))
    return reached.fault


async def local_model_at(url: str) -> str:
    settings = {"api_key": "sk-key", "base_url": url, "profile": "compatible"}
    return (await reach_claude(Claude.model_validate(settings))).fault


async def telegram_at(url: str) -> str:
    reached = await reach_telegram(Telegram.model_validate({"token": "1:abc", "api_base": url}))
    return reached.fault


@pytest.mark.parametrize(
    ("reach", "status", "fault"),
    [
        (claude_at, 200, ""),
        (claude_at, 401, "the key was refused"),
        (claude_at, 404, "there is no model"),
        (claude_at, 529, "status 529"),
        (local_model_at, 404, ""),
        (telegram_at, 200, ""),
        (telegram_at, 401, "the token was refused"),
        (telegram_at, 502, "status 502"),
    ],
)
async def test_each_answer_of_a_server_means_something(
    reach: Callable[[str], Awaitable[str]], status: int, fault: str
) -> None:
    async with answering(status) as url:
        told = await reach(url)
    assert fault in told if fault else told == ""


async def test_a_key_is_sent_where_any_server_looks_for_it() -> None:
    seen: list[Mapping[str, str]] = []
    async with answering(200, seen) as url:
        await claude_at(url)

    [headers] = seen
    assert (headers["X-Api-Key"], headers["Authorization"]) == ("sk-key", "Bearer sk-key")


async def test_only_claude_is_asked_through_a_proxy_as_the_bot_itself_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with answering(200) as url:
        monkeypatch.setenv("HTTP_PROXY", CLOSED)
        monkeypatch.setenv("NO_PROXY", "")

        assert await telegram_at(url) == ""
        assert "does not answer" in await claude_at(url)
