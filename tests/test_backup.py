"""`backup` and `restore`: nothing is lost, nothing unsound is put in place, and a bot may run meanwhile."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.cli.backup import _copy
from memory.lock import DirectoryLock
from tests.program import Program, make_program

DOG = "my dog is called Biscuit"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return make_program(tmp_path, monkeypatch, capsys)


def texts(program: Program) -> list[str]:
    return [memory["text"] for memory in program("memory", "list", "--chat", "1", "--json").json]


def test_a_restore_brings_back_what_was_backed_up_and_keeps_what_was_there(
    program: Program, tmp_path: Path
) -> None:
    file = tmp_path / "backup.db"
    program.told(DOG)
    made = program("backup", str(file), "--json").json
    program.told("I like tea")

    restored = program("restore", str(file), "--json").json

    assert (made["memories"], made["messages"]) == (1, 2)
    assert texts(program) == [DOG]
    kept = Path(restored["previous"])
    assert (kept.parent, kept.name.startswith("backup.db.replaced-")) == (tmp_path, True)
    with closing(sqlite3.connect(kept)) as conn:
        assert conn.execute("SELECT count(*) FROM memories").fetchone() == (2,)


def test_after_a_restore_the_index_is_built_anew(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    program.told(DOG)
    program("backup", str(file))
    program.told("I like tea")
    program("index", "rebuild")

    program("restore", str(file))

    assert not (program.data / "index").exists()
    assert program("index", "rebuild", "--json").json["entries"] == 1


KILLED = """
import os, sqlite3, sys
conn = sqlite3.connect(sys.argv[1])
conn.execute("UPDATE memories SET text = 'told last' WHERE id = 2")
conn.commit()
os._exit(0)
"""


def kill_a_writer(program: Program) -> None:
    """Leave the newest change in the write-ahead log alone, as a bot does that is killed."""
    subprocess.run([sys.executable, "-c", KILLED, str(program.data / "mnemogram.db")], check=True)
    assert (program.data / "mnemogram.db-wal").stat().st_size


@pytest.mark.parametrize("step", ["sqlite3.connect", "os.link", "shutil.rmtree", "Path.replace"])
def test_a_restore_that_is_cut_off_at_any_step_leaves_the_old_database_whole(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = tmp_path / "backup.db"
    program.told(DOG)
    program("backup", str(file))
    program.told("I like tea")
    kill_a_writer(program)

    with monkeypatch.context() as patched:
        patched.setattr("bot.cli.backup._copy", _copying_until(patched, step))
        assert program("restore", str(file)).status == 1

    assert texts(program) == ["told last", DOG]
    assert program("restore", str(file)).status == 0
    assert texts(program) == [DOG]


def test_what_was_only_in_the_write_ahead_log_is_kept_with_the_old_database(
    program: Program, tmp_path: Path
) -> None:
    file = tmp_path / "backup.db"
    program.told(DOG)
    program("backup", str(file))
    program.told("I like tea")
    kill_a_writer(program)

    restored = program("restore", str(file), "--json").json

    assert texts(program) == [DOG]
    with closing(sqlite3.connect(restored["previous"])) as conn:
        assert conn.execute("SELECT text FROM memories WHERE id = 2").fetchone() == ("told last",)


def test_a_database_that_is_beyond_reading_is_set_aside_with_its_logs(
    program: Program, tmp_path: Path
) -> None:
    file = tmp_path / "backup.db"
    program.told(DOG)
    program("backup", str(file))
    program.told("I like tea")
    kill_a_writer(program)
    (program.data / "mnemogram.db").write_text("no database " * 1000, encoding="utf-8")

    kept = Path(program("restore", str(file), "--json").json["previous"])

    assert texts(program) == [DOG]
    assert kept.with_name(f"{kept.name}-wal").exists()


def test_where_files_cannot_be_linked_the_old_database_is_copied(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "backup.db"
    program.told(DOG)
    program("backup", str(file))
    program.told("I like tea")
    monkeypatch.setattr("bot.cli.backup.os.link", _refuse)

    kept = program("restore", str(file), "--json").json["previous"]

    with closing(sqlite3.connect(kept)) as conn:
        assert conn.execute("SELECT count(*) FROM memories").fetchone() == (2,)


def test_a_restore_waits_for_commands_that_use_the_database(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    program.told(DOG)
    program("backup", str(file))
    with closing(sqlite3.connect(program.data / "mnemogram.db")) as conn:
        assert conn.execute("SELECT count(*) FROM memories").fetchone() == (1,)
        refused = program("restore", str(file))

    assert (refused.status, "using" in refused.refusal) == (1, True)


def _refuse(*_: object, **__: object) -> None:
    raise PermissionError(1, "not here")


def _copying_until(patched: pytest.MonkeyPatch, step: str) -> Callable[[Path, Path], None]:
    """From the copy of the backup on the `step` of the exchange breaks the program off."""

    def copy(source: Path, target: Path) -> None:
        _copy(source, target)
        patched.setattr("bot.cli.backup._bring_up_to_date", ready)

    async def ready(_: Path) -> None:
        patched.setattr(f"bot.cli.backup.{step}", _break_off)

    return copy


def _break_off(*_: object, **__: object) -> None:
    raise RuntimeError("cut off")


def test_a_restore_into_an_empty_directory_works(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "backup.db"
    program.told(DOG)
    program("backup", str(file))
    monkeypatch.setenv("MNEMOGRAM_STORAGE__DIR", str(tmp_path / "elsewhere"))

    assert program("restore", str(file), "--json").json["previous"] is None
    assert texts(program) == [DOG]


def test_a_backup_is_made_beside_a_running_bot_and_a_restore_is_not(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    program.told(DOG)
    lock = DirectoryLock(program.data)
    lock.acquire()

    assert program("backup", str(file)).status == 0
    refused = program("restore", str(file))
    lock.release()

    assert (refused.status, "in use" in refused.refusal) == (1, True)
    assert texts(program) == [DOG]


def test_a_backup_is_for_the_eyes_of_its_owner(program: Program, tmp_path: Path) -> None:
    program.told(DOG)
    program("backup", str(tmp_path / "backup.db"))
    assert (tmp_path / "backup.db").stat().st_mode & 0o777 == 0o600


def test_an_earlier_backup_is_overwritten_only_when_asked(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    program.told(DOG)
    program("backup", str(file))

    assert "--force" in program("backup", str(file)).refusal
    assert program("backup", str(file), "--force").status == 0


def test_a_backup_cannot_go_onto_the_database_itself(program: Program) -> None:
    program.told(DOG)
    refused = program("backup", str(program.data / "mnemogram.db"), "--force")
    assert (refused.status, "itself" in refused.refusal) == (2, True)
    assert texts(program) == [DOG]


@pytest.mark.parametrize("place", ["nowhere/backup.db", "."])
def test_a_place_that_cannot_be_written_is_one_sentence(program: Program, tmp_path: Path, place: str) -> None:
    program.told(DOG)
    assert "directory" in program("backup", str(tmp_path / place)).refusal


def test_without_a_database_there_is_nothing_to_back_up(program: Program, tmp_path: Path) -> None:
    assert "no database" in program("backup", str(tmp_path / "backup.db")).refusal
    assert not program.data.exists()


def test_only_a_sound_database_of_this_program_is_restored(program: Program, tmp_path: Path) -> None:
    program.told(DOG)
    program("backup", str(tmp_path / "good.db"))
    (tmp_path / "text.db").write_text("no database at all" * 100, encoding="utf-8")
    (tmp_path / "cut.db").write_bytes((tmp_path / "good.db").read_bytes()[:20_000])
    with closing(sqlite3.connect(tmp_path / "other.db")) as conn:
        conn.execute("CREATE TABLE songs (name TEXT)")
    newer = tmp_path / "newer.db"
    newer.write_bytes((tmp_path / "good.db").read_bytes())
    with closing(sqlite3.connect(newer)) as conn:
        conn.execute("INSERT INTO schema_migrations VALUES (99, 'from the future', '2030-01-01')")
        conn.commit()

    hints = {
        "missing.db": "no file",
        "text.db": "not a sound SQLite database",
        "cut.db": "cannot be restored",
        "other.db": "not a database of Mnemogram",
        "newer.db": "newer",
    }
    for name, hint in hints.items():
        refused = program("restore", str(tmp_path / name))
        assert (name, refused.status, hint in refused.refusal) == (name, 1, True), refused.err
    assert texts(program) == [DOG]
    assert [path.name for path in program.data.iterdir() if "restore" in path.name] == []


def test_a_damaged_database_is_no_backup_and_an_earlier_one_stays(program: Program, tmp_path: Path) -> None:
    program.told(DOG)
    program("backup", str(tmp_path / "good.db"))
    good = (tmp_path / "good.db").read_bytes()
    for number in range(40):
        program.told(f"remember: number {number} " + "word " * 50)
    database = program.data / "mnemogram.db"
    content = bytearray(database.read_bytes())
    content[len(content) // 2 : -4096] = b"\x55" * (len(content) - 4096 - len(content) // 2)
    database.write_bytes(content)

    refused = program("backup", str(tmp_path / "backup.db"))

    assert (refused.status, "damaged" in refused.refusal) == (1, True)
    assert "damaged" in program("backup", str(tmp_path / "good.db"), "--force").refusal
    assert (tmp_path / "good.db").read_bytes() == good
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "good.db"]


def test_the_replaced_database_outlives_an_erasure_and_lies_outside_of_the_data(
    program: Program, tmp_path: Path
) -> None:
    program.told(DOG)
    backup = tmp_path / "backup.db"
    program("backup", str(backup))
    kept = Path(program("restore", str(backup), "--json").json["previous"])

    program("memory", "forget", "--chat", "1", "--match", "Biscuit", "--yes")

    files = [path for path in program.data.rglob("*") if path.is_file()]
    assert [path for path in files if b"Biscuit" in path.read_bytes()] == []
    with closing(sqlite3.connect(kept)) as conn:
        assert conn.execute("SELECT text FROM memories").fetchall() == [(DOG,)]


def test_where_the_former_database_cannot_be_kept_nothing_is_restored(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "backup.db"
    program.told(DOG)
    program("backup", str(file))
    program.told("I like tea")
    program("index", "rebuild")
    with monkeypatch.context() as patched:
        patched.setattr("bot.cli.backup.os.link", _refuse)
        patched.setattr("bot.cli.backup.shutil.copy2", _refuse)
        refused = program("restore", str(file))

    assert (refused.status, "nothing was restored" in refused.refusal) == (1, True)
    assert texts(program) == ["I like tea", DOG]
    assert (program.data / "index").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("backup.db.")] == []


def test_each_of_several_restores_keeps_what_it_replaced(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    program.told(DOG)
    program("backup", str(file))
    kept = {program("restore", str(file), "--json").json["previous"] for _ in range(3)}
    assert len(kept) == 3
    assert all(Path(name).exists() for name in kept)


def test_what_a_killed_restore_has_left_goes_when_the_bot_starts(program: Program) -> None:
    program.told(DOG)
    left = program.data / "restore-abc123"
    left.mkdir()
    (left / "mnemogram.db").write_text(DOG, encoding="utf-8")

    program.told("hello")

    assert not left.exists()


def test_a_device_is_not_overwritten(program: Program, tmp_path: Path) -> None:
    program.told(DOG)
    device = tmp_path / "device"
    os.mkfifo(device)

    commands = (("backup",), ("memory", "export", "--chat", "1"))
    refused = [program(*command, str(device), "--force") for command in commands]

    assert [(each.status, "no file" in each.refusal) for each in refused] == [(2, True)] * 2
    assert device.is_fifo()


def test_without_a_database_an_earlier_backup_is_left_alone(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    file.write_text("mine", encoding="utf-8")
    assert "no database" in program("backup", str(file), "--force").refusal
    assert file.read_text(encoding="utf-8") == "mine"
