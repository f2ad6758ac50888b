"""The configuration: every key in the example, every fault one sentence."""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from bot.config import Config, Section, load_config
from memory.errors import ConfigError

EXAMPLE = Path(__file__).parent.parent / "config.example.toml"


def test_the_example_names_every_key_with_its_default() -> None:
    example = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))

    assert load_config(EXAMPLE, {}) == Config()
    assert {name: set(values) for name, values in example.items()} == {
        name: set(section.annotation.model_fields)
        for name, section in Config.model_fields.items()
        if isinstance(section.annotation, type) and issubclass(section.annotation, Section)
    }


def test_every_key_of_the_example_is_explained() -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()

    for before, line in pairwise(lines):
        is_key = line and not line.startswith(("#", "["))
        assert not is_key or before.startswith("#"), f"{line} has no explanation"


def test_every_key_can_be_set_by_an_environment_variable() -> None:
    config = load_config(
        None,
        {
            "MNEMOGRAM_SESSIONS__IDLE_MINUTES": "0.5",
            "MNEMOGRAM_ACCESS__ADMINS": "12, -34",
            "MNEMOGRAM_ACCESS__USERS": "all",
            "MNEMOGRAM_STORAGE__DIR": "/somewhere",
        },
    )

    assert config.sessions.idle_minutes == 0.5
    assert config.access.admins == {12, -34}
    assert config.access.users == "all"
    assert config.storage.dir == Path("/somewhere")


def test_the_usual_names_are_honoured_and_the_own_ones_win() -> None:
    usual = {
        "TELEGRAM_BOT_TOKEN": "1:usual",
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": "http://localhost:1/",
    }
    own = usual | {"MNEMOGRAM_TELEGRAM__TOKEN": "2:own"}

    assert load_config(None, usual).telegram.token.get_secret_value() == "1:usual"
    assert load_config(None, usual).claude.base_url == "http://localhost:1"
    assert load_config(None, own).telegram.token.get_secret_value() == "2:own"


def test_the_file_is_found_by_option_then_by_variable_then_in_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, minutes in (("option", 1), ("variable", 2), ("config", 3)):
        (tmp_path / f"{name}.toml").write_text(f"[sessions]\nidle_minutes = {minutes}\n")
    monkeypatch.chdir(tmp_path)
    variable = {"MNEMOGRAM_CONFIG": "variable.toml"}

    assert load_config(Path("option.toml"), variable).sessions.idle_minutes == 1
    assert load_config(None, variable).sessions.idle_minutes == 2
    assert load_config(None, {}).sessions.idle_minutes == 3


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"MNEMOGRAM_ACCESS__ADMNS": "1"}, "unknown key access.admns; did you mean access.admins?"),
        ({"ANTHROPIC_BASE_URL": "http://localhost/v1/"}, "remove /v1"),
        ({"ANTHROPIC_BASE_URL": "localhost:8080"}, "http://"),
        ({"TELEGRAM_BOT_TOKEN": "nonsense"}, "@BotFather"),
        ({"MNEMOGRAM_SESSIONS__IDLE_MINUTES": "-1"}, "greater than 0"),
        ({"MNEMOGRAM_ACCESS__USERS": "@bob"}, "access.users"),
        ({"MNEMOGRAM_MEMORY__TIMEZONE": "Mars/Olympus"}, "Europe/Berlin"),
        ({"MNEMOGRAM_WEB__LISTEN": "8080"}, "127.0.0.1:8080"),
        ({"MNEMOGRAM_STORAGE__DATABASE_URL": "mysql://x"}, "postgresql://"),
        ({"MNEMOGRAM_VECTORS__MODE": "server"}, "vectors.url"),
        ({"MNEMOGRAM_VECTORS__WARM_MB": "-1"}, "vectors.warm_mb"),
        ({"MNEMOGRAM_MEMORY__NEIGHBOURS": "6"}, "less than or equal to 5"),
        ({"MNEMOGRAM_MEMORY__RECALL_TOKENS": "99"}, "greater than or equal to 100"),
    ],
)
def test_a_fault_is_one_sentence_that_says_what_to_do(environ: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(None, environ)

    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_faulty_secret_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as error:
        load_config(None, {"TELEGRAM_BOT_TOKEN": "hunter2"})

    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[telegram\n", "is not valid TOML"),
        (b"\xff\xfe", "it is not UTF-8 text"),
        (b"telegram = 1\n", "telegram"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)

    with pytest.raises(ConfigError, match=sentence):
        load_config(file, {})


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"copy config\.example\.toml there"):
        load_config(tmp_path / "absent.toml", {})


def test_secrets_are_not_shown() -> None:
    config = load_config(None, {"TELEGRAM_BOT_TOKEN": "1:hunter2", "ANTHROPIC_API_KEY": "hunter2"})

    assert "hunter2" not in repr(config)
    assert "hunter2" not in str(config.model_dump())
