"""The command line: what each command prints, how it ends, and that it works beside a running bot."""

from __future__ import annotations

import asyncio
import io
import json
import re
import sqlite3
import subprocess
import sys
from argparse import _SubParsersAction
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from pkgutil import resolve_name

import pytest

from bot.app import open_app
from bot.cli.arguments import Parser, parser
from bot.config import load_config
from memory.errors import IndexUnavailable
from memory.lock import DirectoryLock
from memory.service import MemoryService
from memory.types import Hit, Memory, MemoryType, NewMemory, Origin, Query, Score, Status
from memory.vectors import IndexSync
from tests.fakes.embedder import HashEmbedder
from tests.program import Program, make_program

DOG = "my dog is called Biscuit"
NOW = datetime(2026, 3, 4, 9, 30, tzinfo=UTC)
TURN = Memory(1, 1, MemoryType.TURN, "hello", Origin.PERSON, Status.ACTIVE, NOW, NOW, 1, "Ann")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return make_program(tmp_path, monkeypatch, capsys)


@pytest.fixture
def beside_a_bot(program: Program) -> Iterator[None]:
    """Another owner of the data directory."""
    lock = DirectoryLock(program.data)
    lock.acquire()
    yield
    lock.release()


def commands(of: Parser, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Every command with its parser."""
    groups = [action for action in of._actions if isinstance(action, _SubParsersAction)]
    if not groups:
        yield path, of
    for group in groups:
        for name, sub in group.choices.items():
            yield from commands(sub, (*path, name))


def test_every_command_has_help_and_a_function_that_exists() -> None:
    for path, sub in commands(parser()):
        assert sub.description, path
        assert asyncio.iscoroutinefunction(resolve_name(sub.get_default("handler"))), path
        assert all(action.help for action in sub._actions), path


def test_what_was_told_is_listed_newest_first(program: Program) -> None:
    program.told(DOG)
    program.told("I like tea")

    listed = program("memory", "list", "--chat", "1", "--json").json

    assert [(memory["text"], memory["type"], memory["origin"]) for memory in listed] == [
        ("I like tea", "preference", "person"),
        (DOG, "fact", "person"),
    ]
    assert program("memory", "list", "--chat", "1").out.endswith("2 of 2\n")


def test_a_list_can_be_narrowed(program: Program) -> None:
    program.told(DOG)
    program.told("I like tea")

    def texts(*arguments: str) -> list[str]:
        listed = program("memory", "list", "--chat", "1", "--json", *arguments).json
        return [memory["text"] for memory in listed]

    assert texts("--type", "fact") == [DOG]
    assert texts("--limit", "1") == ["I like tea"]
    assert texts("--until", "2020-01-01") == []
    assert len(texts("--since", "2020-01-01")) == 2
    assert texts("--speaker", "nobody") == []


def test_a_search_finds_by_meaning_in_the_other_language_and_explains_itself(program: Program) -> None:
    program.told("мою собаку зовут Бублик")

    found = program("memory", "search", "--chat", "1", "--json", "what is the dog called?").json
    explained = program("memory", "search", "--chat", "1", "--explain", "dog")

    assert [hit["memory"]["text"] for hit in found] == ["мою собаку зовут Бублик"]
    assert found[0]["score"]["cosine"] > 0
    assert found[0]["score"]["reranked"] is None
    assert re.search(r"^ {8}total 0\.\d\d, .*meaning 0\.\d\d, .*importance 0\.50$", explained.out, re.M)


def test_a_search_brings_as_many_neighbours_as_it_is_told_to(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Query] = []

    async def search(_: MemoryService, query: Query) -> list[Hit]:
        asked.append(query)
        [found, around] = [replace(TURN, text=words) for words in ("we moved", "where to?")]
        return [Hit(found, Score(0.5), (), (around,) * query.neighbours)]

    monkeypatch.setattr(MemoryService, "search", search)
    monkeypatch.setenv("MNEMOGRAM_MEMORY__NEIGHBOURS", "2")
    monkeypatch.setenv("MNEMOGRAM_MEMORY__TIMEZONE", "Asia/Tokyo")
    by_itself = program("memory", "search", "--chat", "1", "moved").out
    told = program("memory", "search", "--chat", "1", "moved", "--neighbours", "0").out

    assert by_itself.count("after       Ann: where to?") == 2
    assert "after" not in told
    assert [(query.neighbours, str(query.zone)) for query in asked] == [(2, "Asia/Tokyo"), (0, "Asia/Tokyo")]


def test_what_was_said_word_for_word_is_listed_when_it_is_asked_for(program: Program) -> None:
    program.told(DOG)
    said = NewMemory(1, "hello, how are you?", MemoryType.TURN, Origin.PERSON, speaker="Ann")
    asyncio.run(stored(program, said))

    def texts(*types: str) -> list[str]:
        return [memory["text"] for memory in program("memory", "list", "--chat", "1", "--json", *types).json]

    assert texts() == [DOG]
    assert program("memory", "list", "--chat", "1").out.endswith("1 of 1\n")
    assert texts("--type", "turn") == [said.text]
    assert texts("--type", "turn", "--type", "fact") == [said.text, DOG]


async def stored(program: Program, new: NewMemory) -> None:
    """Let a chat have a memory that nobody told in the console."""
    config = load_config(None, {"MNEMOGRAM_STORAGE__DIR": str(program.data)})
    async with open_app(config, owner=False, embedder=HashEmbedder()) as app:
        await app.memory.remember(new)


def test_one_memory_is_shown_with_all_that_is_known_of_it(program: Program) -> None:
    program.told(DOG)

    shown = program("memory", "show", "--chat", "1", "1")

    assert DOG in shown.out
    assert "from messages:    1" in shown.out
    assert program("memory", "show", "--chat", "1", "1", "--json").json["text"] == DOG


def test_another_chat_sees_nothing_of_it(program: Program) -> None:
    program.told(DOG, chat=1)

    assert program("memory", "list", "--chat", "2", "--json").json == []
    assert program("memory", "search", "--chat", "2", "dog", "--json").json == []
    assert program("memory", "show", "--chat", "2", "1").status == 1
    assert program("memory", "forget", "--chat", "2", "--id", "1", "--yes").status == 1
    assert program.told("what is my dog called?", chat=2) == "I know nothing about that yet."


def test_an_operator_finds_the_chats_and_what_each_has_left(program: Program) -> None:
    assert "No chat" in program("memory", "chats").out
    assert program("memory", "chats", "--json").json == []
    program.told(DOG)
    program.told("what is my dog called?", chat=-1001)
    program.told("I like tea", chat=7)
    program("memory", "forget", "--chat", "7", "--all", "--yes")

    found = {chat["chat_id"]: chat for chat in program("memory", "chats", "--json").json}

    assert {each: (chat["memories"], chat["messages"]) for each, chat in found.items()} == {
        1: (1, 2),
        -1001: (0, 2),
    }
    assert "+00:00" in found[1]["last_at"]
    assert re.search(
        r"^ +1  memories 1, messages 2, last on \d{4}-\d\d-\d\d$", program("memory", "chats").out, re.M
    )


@pytest.mark.parametrize(
    "what", [["--id", "1"], ["--match", "biscuits"], ["--match", '"called biscuit"'], ["--all"]]
)
def test_what_is_forgotten_is_gone_from_every_file_at_once(program: Program, what: list[str]) -> None:
    program.told(DOG)

    receipt = program("memory", "forget", "--chat", "1", *what, "--yes", "--json").json

    assert receipt == {"memories": 1, "messages": 2}
    held = [path for path in program.data.rglob("*") if path.is_file() and b"Biscuit" in path.read_bytes()]
    assert held == []


def test_without_yes_and_a_terminal_nothing_is_forgotten(program: Program) -> None:
    program.told(DOG)

    refused = program("memory", "forget", "--chat", "1", "--all")

    assert (refused.status, "--yes" in refused.refusal) == (2, True)
    assert len(program("memory", "list", "--chat", "1", "--json").json) == 1


@pytest.mark.parametrize(
    ("answer", "status", "left"), [("y\n", 0, 0), ("\n", 1, 1), ("no\n", 1, 1), ("", 1, 1)]
)
def test_at_a_terminal_it_asks_before_it_forgets(
    program: Program, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, left: int
) -> None:
    program.told(DOG)
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)

    ended = program("memory", "forget", "--chat", "1", "--match", "Biscuit")

    assert ended.status == status
    assert DOG in ended.err
    assert len(program("memory", "list", "--chat", "1", "--json").json) == left


def test_while_it_asks_a_bot_may_start_and_then_follows(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.told(DOG)
    bot = DirectoryLock(program.data)
    terminal = io.StringIO("y\n")

    def starts() -> bool:
        bot.acquire()
        return True

    monkeypatch.setattr(terminal, "isatty", starts)
    monkeypatch.setattr(sys, "stdin", terminal)
    ended = program("memory", "forget", "--chat", "1", "--match", "Biscuit")
    bot.release()

    assert (ended.status, ended.out) == (0, "Forgotten for good: memories 1, messages 2.\n")


def test_what_is_forgotten_is_told_even_where_the_index_cannot_follow(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_: IndexSync) -> int:
        raise IndexUnavailable("broken")

    program.told(DOG)
    monkeypatch.setattr(IndexSync, "sync", fails)

    ended = program("memory", "forget", "--chat", "1", "--all", "--yes")

    assert (ended.status, ended.out) == (0, "Forgotten for good: memories 1, messages 2.\n")
    assert "index" in ended.err


def test_an_export_goes_into_another_chat_and_is_found_there(program: Program, tmp_path: Path) -> None:
    program.told(DOG)
    file = tmp_path / "chat.json"

    assert program("memory", "export", "--chat", "1", str(file), "--json").json["memories"] == 1
    assert program("memory", "import", str(file), "--chat", "2", "--json").json == {"memories": 1}
    assert program("memory", "import", str(file), "--chat", "2", "--json").json == {"memories": 0}

    [hit] = program("memory", "search", "--chat", "2", "как зовут собаку?", "--json").json
    assert hit["memory"]["text"] == DOG
    assert hit["score"]["cosine"] > 0


def test_an_export_that_is_nested_without_end_is_refused(program: Program, tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text("[" * 200_000, encoding="utf-8")
    refused = program("memory", "import", str(tmp_path / "chat.json"), "--chat", "1")
    assert (refused.status, "not JSON" in refused.refusal) == (1, True)


def test_an_export_to_standard_output_is_one_json_value(program: Program) -> None:
    program.told(DOG)
    exported = program("memory", "export", "--chat", "1").json
    assert [memory["text"] for memory in exported["memories"]] == [DOG]


def test_a_file_that_exists_is_overwritten_only_when_asked(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text("precious", encoding="utf-8")

    assert "--force" in program("memory", "export", "--chat", "1", str(file)).refusal
    assert file.read_text(encoding="utf-8") == "precious"
    assert program("memory", "export", "--chat", "1", str(file), "--force").status == 0
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_document_becomes_knowledge_and_replaces_its_earlier_version(
    program: Program, tmp_path: Path
) -> None:
    file = tmp_path / "Plan.md"
    file.write_text("# Plan\n\nThe launch is on the third of May.\n", encoding="utf-8")
    program("import", str(file), "--chat", "1")
    file.write_text("# Plan\n\nThe launch is on the ninth of May.\n", encoding="utf-8")

    imported = program("import", str(file), "--chat", "1", "--json").json
    known = program("memory", "list", "--chat", "1", "--json").json

    assert imported["memories"] == [memory["id"] for memory in known]
    assert [(memory["type"], memory["document"]) for memory in known] == [("knowledge", "Plan.md")]
    assert "ninth" in known[0]["text"]


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("a.pdf", b"%PDF", "not a text file"),
        ("a.txt", b"\xff\xfe\x00", "not UTF-8"),
        ("a.txt", b" \n", "no text"),
        ("missing.txt", None, "cannot be read"),
    ],
)
def test_a_document_that_cannot_be_read_is_refused(
    program: Program, tmp_path: Path, name: str, content: bytes | None, hint: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)

    refused = program("import", str(tmp_path / name), "--chat", "1")

    assert (refused.status, hint in refused.refusal) == (1, True)


@pytest.mark.usefixtures("beside_a_bot")
def test_beside_a_running_bot_memory_is_read_and_changed_through_sql(
    program: Program, tmp_path: Path
) -> None:
    file = tmp_path / "note.txt"
    file.write_text("The gate code is 4512.", encoding="utf-8")

    assert program("import", str(file), "--chat", "1").status == 0
    assert len(program("memory", "list", "--chat", "1", "--json").json) == 1
    assert len(program("memory", "search", "--chat", "1", "code of the door", "--json").json) == 1
    assert program("memory", "forget", "--chat", "1", "--all", "--yes").status == 0
    assert not (program.data / "index").exists()


@pytest.mark.usefixtures("beside_a_bot")
@pytest.mark.parametrize("arguments", [["console"], ["index", "rebuild"], ["index", "check"]])
def test_a_second_owner_is_refused_with_a_sentence(program: Program, arguments: list[str]) -> None:
    refused = program(*arguments)
    assert (refused.status, "is in use by process" in refused.refusal) == (1, True)


def test_the_index_is_rebuilt_and_agrees_with_the_database(program: Program) -> None:
    program.told(DOG)

    checked = program("index", "check", "--json").json
    rebuilt = program("index", "rebuild", "--json").json

    assert (rebuilt["ok"], rebuilt["memories"], rebuilt["entries"]) == (True, 1, 1)
    assert checked == rebuilt


def test_jobs_run_once_on_demand(program: Program) -> None:
    results = program("jobs", "run", "--now", "--json").json
    assert {result["outcome"] for result in results} == {"done"}
    assert "purge forgotten memories: " in program("jobs", "run").out


def test_jobs_let_the_index_follow_once_which_is_no_job_of_the_running_bot(
    program: Program, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("The gate is green.", encoding="utf-8")
    program("import", str(tmp_path / "note.txt"), "--chat", "1")

    followed = program("jobs", "run", "--json").json[-1]

    assert (followed["name"], followed["outcome"], followed["changed"]) == ("follow the index", "done", 1)
    with closing(sqlite3.connect(program.data / "mnemogram.db")) as conn:
        assert ("follow the index",) not in conn.execute("SELECT name FROM jobs").fetchall()


def test_a_model_server_that_wants_no_key_is_told_as_the_brain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = make_program(
        tmp_path,
        monkeypatch,
        capsys,
        CLAUDE__PROFILE="compatible",
        CLAUDE__BASE_URL="http://127.0.0.1:9",
        CLAUDE__MODEL="qwen-local",
    )
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr("bot.cli.run._is_terminal", lambda: True)

    assert program("config", "check", "--json").json["brain"] == "qwen-local"
    assert "qwen-local" in program("console").out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ([], "COMMAND"),
        (["memory"], "COMMAND"),
        (["frobnicate"], "frobnicate"),
        (["memory", "list"], "--chat"),
        (["memory", "list", "--chat", "one"], "not a whole number"),
        (["memory", "list", "--chat", str(2**63)], "too large"),
        (["memory", "list", "--chat", "1", "--limit", "0"], "1 or more"),
        (["memory", "list", "--chat", "1", "--type", "rumour"], "rumour"),
        (["memory", "list", "--chat", "1", "--since", "yesterday"], "2026-03-12"),
        (["memory", "list", "--chat", "1", "--since", "2026-02-01", "--until", "2026-01-01"], "exchange"),
        (["memory", "forget", "--chat", "1"], "--all"),
        (["memory", "list", "--chat", "1", "--speaker", "\udcff"], "UTF-8"),
        (["memory", "search", "--chat", "1", "\udcff"], "UTF-8"),
        (["memory", "search", "--chat", "1", "dog", "--neighbours", "6"], "choose from 0, 1, 2, 3, 4, 5"),
        (["memory", "forget", "--chat", "1", "--match", "\udcff"], "UTF-8"),
        (["console", "--once", "\udcff"], "UTF-8"),
        (["memory", "forget", "--chat", "1", "--all", "--id", "1"], "not allowed with"),
        (["--config", "/nowhere.toml", "config", "check"], "/nowhere.toml"),
        (["config", "check", "--config", "/nowhere.toml"], "/nowhere.toml"),
    ],
)
def test_wrong_use_ends_with_status_2_and_one_sentence(
    program: Program, arguments: list[str], hint: str
) -> None:
    refused = program(*arguments)
    assert (refused.status, hint in refused.refusal) == (2, True)


def test_a_data_directory_that_cannot_be_used_is_one_sentence(program: Program) -> None:
    program.data.write_text("a file", encoding="utf-8")
    for arguments in (
        ["memory", "list", "--chat", "1"],
        ["console", "--once", "hello there friend"],
        ["jobs", "run"],
    ):
        refused = program(*arguments)
        assert (refused.status, "storage.dir" in refused.refusal) == (1, True)


def test_config_check_shows_where_things_are_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = {"TELEGRAM__TOKEN": "123456:token-of-mine", "CLAUDE__API_KEY": "sk-key-of-mine"}
    program = make_program(tmp_path, monkeypatch, capsys, **secrets)

    shown = program("config", "check")

    assert "claude-sonnet-5-5" in shown.out
    assert not [secret for secret in secrets.values() if secret in shown.out + shown.err]
    assert program("config", "check", "--json").json["data"] == str(program.data)


def test_an_unforeseen_fault_is_one_line_without_its_text(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("what somebody said")

    monkeypatch.setattr("bot.cli.memory.open_app", fail)
    refused = program("memory", "list", "--chat", "1")

    assert refused.status == 1
    assert "KeyError" in refused.refusal
    assert "what somebody said" not in refused.err


def test_listing_loads_none_of_the_heavy_libraries(program: Program) -> None:
    heavy = ["aiogram", "anthropic", "chromadb", "sentence_transformers", "torch", "prompt_toolkit"]
    code = (
        "import json, sys; from bot.__main__ import main; main(['memory', 'list', '--chat', '1', '--json']); "
        f"print(json.dumps([name for name in {heavy} if name in sys.modules]), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ended.stderr) == []


def test_a_reader_that_leaves_early_is_no_traceback(program: Program) -> None:
    arguments = [sys.executable, "-m", "bot", "memory", "list", "--chat", "1"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_onto_a_full_disk_is_one_sentence(program: Program) -> None:
    arguments = [sys.executable, "-m", "bot", "memory", "list", "--chat", "1"]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("\n"), "disk is full" in ended.stderr) == (1, 1, True)
