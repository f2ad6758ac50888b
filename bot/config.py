"""The configuration: one class for each section of config.toml, which it mirrors one to one."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from memory.errors import ConfigError

BUNDLED_MODEL = "bundled"
"""The name in `embeddings.model` of the encoder whose weights are installed with the program."""

MAX_NEIGHBOURS = 5
"""The most turns that a search shows on each side of a found one."""

ANTHROPIC = "https://api.anthropic.com"

# The usual names of these settings, honoured beside MNEMOGRAM_SECTION__KEY.
USUAL_NAMES = {
    "TELEGRAM_BOT_TOKEN": "MNEMOGRAM_TELEGRAM__TOKEN",
    "ANTHROPIC_API_KEY": "MNEMOGRAM_CLAUDE__API_KEY",
    "ANTHROPIC_BASE_URL": "MNEMOGRAM_CLAUDE__BASE_URL",
}


def _ids(value: object) -> object:
    """Let an environment variable name ids as "1, 2, 3", and a single id stand alone."""
    if isinstance(value, str) and value.strip().lower() == "all":
        return "all"
    if isinstance(value, str):
        return [part for part in value.replace(",", " ").split() if part]
    return [value] if isinstance(value, int) else value


UserIds: TypeAlias = Annotated[frozenset[int], BeforeValidator(_ids)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Telegram(Section):
    token: SecretStr = SecretStr("")
    api_base: str = "https://api.telegram.org"
    mode: Literal["polling", "webhook"] = "polling"
    drain_seconds: float = Field(20.0, ge=0, le=600)

    @property
    def bot_id(self) -> int:
        """The bot's own id, which its token begins with; 0 without a token."""
        return int(self.token.get_secret_value().partition(":")[0] or 0)

    @field_validator("token")
    @classmethod
    def _shape(cls, token: SecretStr) -> SecretStr:
        bot_id, _, secret = token.get_secret_value().partition(":")
        if token.get_secret_value() and not (bot_id.isdecimal() and secret):
            raise ValueError(
                "is not a bot token; copy the whole line that @BotFather gave you, like 123456:ABC…"
            )
        return token

    @field_validator("mode")
    @classmethod
    def _polling_only(cls, mode: str) -> str:
        if mode == "webhook":
            raise ValueError('must be "polling"; webhooks are not built yet')
        return mode

    @field_validator("api_base")
    @classmethod
    def _address(cls, url: str) -> str:
        return _http_url(url)


class Access(Section):
    admins: UserIds = frozenset()
    users: UserIds | Literal["all"] = frozenset()


class Claude(Section):
    api_key: SecretStr = SecretStr("")
    base_url: str = ANTHROPIC
    profile: Literal["anthropic", "compatible"] = "anthropic"
    model: str = Field("claude-sonnet-5-5", min_length=1)
    background_model: str = Field("claude-haiku-5-5", min_length=1)
    effort: Literal["low", "medium", "high"] = "low"
    max_tokens: int = Field(8192, ge=256, le=64_000)
    context_tokens: int = Field(60_000, ge=4_000, le=900_000)
    timeout_seconds: float = Field(120.0, gt=0, le=600)
    max_steps: int = Field(6, ge=1, le=30)
    turn_seconds: float = Field(240.0, gt=0, le=1800)

    @field_validator("base_url")
    @classmethod
    def _address(cls, url: str) -> str:
        url = _http_url(url)
        if urlsplit(url).path.endswith("/v1"):
            raise ValueError(
                "must be the address without /v1, which is added by itself; remove /v1 from its end"
            )
        return url

    @property
    def is_configured(self) -> bool:
        """Anthropic's own server wants a key; a compatible one elsewhere may do without."""
        own_server = self.profile == "compatible" and self.base_url != ANTHROPIC
        return own_server or bool(self.api_key.get_secret_value())


class Storage(Section):
    dir: Path = Path("data")

    @field_validator("dir", mode="before")
    @classmethod
    def _named(cls, directory: object) -> object:
        if isinstance(directory, str) and not directory.strip():
            raise ValueError('must name a directory, for example "data"')
        return directory

    database_url: SecretStr = SecretStr("")

    @field_validator("database_url")
    @classmethod
    def _engine(cls, url: SecretStr) -> SecretStr:
        if url.get_secret_value() and not url.get_secret_value().startswith(
            ("postgresql://", "postgresql+asyncpg://")
        ):
            raise ValueError("must be empty (for SQLite) or start with postgresql://")
        return url


class Vectors(Section):
    mode: Literal["embedded", "server"] = "embedded"
    url: str = ""
    warm_mb: int = Field(400, ge=0)

    @model_validator(mode="after")
    def _server_has_an_address(self) -> Self:
        if self.mode == "server":
            if not self.url:
                raise ValueError("must name the server in vectors.url, for example http://localhost:8000")
            _http_url(self.url)
        return self


class Embeddings(Section):
    model: str = Field(BUNDLED_MODEL, min_length=1)
    query_cache: int = Field(2048, ge=0)


class Sessions(Section):
    idle_minutes: float = Field(30.0, gt=0)
    compress_every_n: int = Field(40, ge=4)


class MemorySettings(Section):
    undo_minutes: float = Field(10.0, ge=0)
    recall_k: int = Field(6, ge=0, le=50)
    recall_tokens: int = Field(1500, ge=100)
    neighbours: int = Field(1, ge=0, le=MAX_NEIGHBOURS)
    reranker: str = ""
    timezone: str = "UTC"

    @field_validator("timezone")
    @classmethod
    def _zone(cls, name: str) -> str:
        if name not in available_timezones():
            raise ValueError("is not a time zone; use a name such as Europe/Berlin or Asia/Vladivostok")
        return name

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)


class Jobs(Section):
    tick_seconds: float = Field(60.0, ge=0.1)


class Web(Section):
    listen: str = ""

    @field_validator("listen")
    @classmethod
    def _address(cls, listen: str) -> str:
        host, _, port = listen.rpartition(":")
        if listen and not (host and port.isdecimal() and int(port) < 65_536):
            raise ValueError("must be host:port, for example 127.0.0.1:8080, or empty")
        return listen


class Log(Section):
    level: Literal["debug", "info", "warning", "error"] = "info"


class Config(Section):
    """The whole configuration. `load_config` builds it and turns every fault into one sentence."""

    telegram: Telegram = Telegram()
    access: Access = Access()
    claude: Claude = Claude()
    storage: Storage = Storage()
    vectors: Vectors = Vectors()
    embeddings: Embeddings = Embeddings()
    sessions: Sessions = Sessions()
    memory: MemorySettings = MemorySettings()
    jobs: Jobs = Jobs()
    web: Web = Web()
    log: Log = Log()


def load_config(path: Path | None, environ: Mapping[str, str]) -> Config:
    """Read the file and lay the environment over it.

    `path` comes from the command line; without it `MNEMOGRAM_CONFIG` names the file, and without that
    `config.toml` in the current directory is read where there is one. Raises ConfigError.
    """
    named = path or (Path(environ["MNEMOGRAM_CONFIG"]) if environ.get("MNEMOGRAM_CONFIG") else None)
    values = _read(named or Path("config.toml"), must_exist=named is not None)
    for (section, key), value in _from_environment(environ).items():
        table = values.setdefault(section, {})
        if isinstance(table, dict):
            table[key] = value
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(_sentence(error)) from None


def _read(file: Path, *, must_exist: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if must_exist:
            raise ConfigError(
                f"There is no file {file}; copy config.example.toml there and edit it."
            ) from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{file} cannot be read ({reason}); check the path and its permissions.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not valid TOML: {error}; correct that line.") from None


def _from_environment(environ: Mapping[str, str]) -> dict[tuple[str, str], str]:
    named = {USUAL_NAMES[name]: value for name, value in environ.items() if name in USUAL_NAMES}
    own = {name: value for name, value in environ.items() if name.startswith("MNEMOGRAM_")}
    found = {}
    for name, value in (named | own).items():
        section, double, key = name.removeprefix("MNEMOGRAM_").lower().partition("__")
        if double:
            found[section, key] = value
    return found


_REASONS = {
    "bool_parsing": "must be true or false",
    "float_parsing": "must be a number",
    "frozen_set_type": 'must be a list of numeric Telegram ids, like [12345678], or "all" for access.users',
    "int_parsing": "must be a whole number, such as a numeric Telegram id",
    "string_type": "must be a text in quotes",
}
"""What the validation library says in the words of a programmer, by its kinds of errors."""


def _sentence(error: ValidationError) -> str:
    """Say what is wrong with the first faulty key, without repeating its value, which may be a secret."""
    first = error.errors(include_input=False, include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"][:2])
    if first["type"] == "extra_forbidden":
        what, known = ("key", _known_keys()) if "." in key else ("section", list(Config.model_fields))
        close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]}?" if close else f"config.example.toml lists every {what}."
        return f"The configuration has an unknown {what} {key}; {hint}"
    reason = _REASONS.get(first["type"]) or first["msg"].removeprefix("Value error, ")
    if not reason.startswith(("is ", "must ")):
        reason = f"is not right: {reason[0].lower()}{reason[1:]}"
    return f"In the configuration, {key} {reason}."


def _known_keys() -> list[str]:
    return [
        f"{section}.{key}"
        for section, owner in Config.model_fields.items()
        if isinstance(owner.annotation, type) and issubclass(owner.annotation, Section)
        for key in owner.annotation.model_fields
    ]


def _http_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an address that starts with http:// or https://")
    return url.rstrip("/")
