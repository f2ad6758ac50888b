"""The file of a benchmark: what was said in some chats, and questions with the turns that answer them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

ASSISTANTS = frozenset({"assistant", "ai", "bot", "chatbot", "model", "ассистент", "бот", "помощник"})
"""Names of speakers who are the assistant, in lower case."""


@dataclass(frozen=True, slots=True)
class Record:
    """One turn of a chat. Its id is unique in the chat; `said_at` is aware and in UTC."""

    id: str
    text: str
    speaker: str
    session: str
    said_at: datetime

    @property
    def by_assistant(self) -> bool:
        return self.speaker.strip().lower() in ASSISTANTS

    @property
    def line(self) -> str:
        """The turn as a transcript shows it, for systems that know no speakers."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question, unique in the file by `qid`; `gold` are the turns that answer it, none if nothing does."""

    qid: str
    text: str
    category: str
    gold: tuple[str, ...]
    asked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Chat:
    """One conversation: its turns in the order in which they were said, and what is asked about them."""

    chat_id: str
    records: tuple[Record, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkData:
    """All chats of a file, and where they come from."""

    name: str
    source: str
    licence: str
    chats: tuple[Chat, ...]

    def first(self, chats: int | None) -> BenchmarkData:
        """Return the same with the first `chats` chats only, or all of them."""
        return BenchmarkData(self.name, self.source, self.licence, self.chats[:chats])


def load(path: Path) -> BenchmarkData:
    """Return what the JSON file at `path` holds. Times without a zone are taken for UTC.

    Raises ValueError with one sentence about the first fault, a missing file included.
    """
    try:
        raw: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"The benchmark file {path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise ValueError(f"The benchmark file {path} is no JSON in UTF-8.") from None
    chats = tuple(_chat(each, f"chat {number}") for number, each in enumerate(_list(raw, "chats", "file"), 1))
    _require_unique("chat", (chat.chat_id for chat in chats))
    _require_unique("question", (one.qid for one in chain.from_iterable(chat.questions for chat in chats)))
    return BenchmarkData(
        _text(raw, "name", "file"), _text(raw, "source", "file"), raw.get("licence", ""), chats
    )


def _chat(raw: Any, where: str) -> Chat:
    chat_id = _text(raw, "chat_id", where)
    where = f"chat {chat_id}"
    records = tuple(_record(each, where) for each in _list(raw, "records", where))
    questions = tuple(_question(each, where) for each in _list(raw, "questions", where))
    _require_unique(f"record of {where}", (record.id for record in records))
    known = {record.id for record in records}
    for question in questions:
        if strange := [one for one in question.gold if one not in known]:
            raise ValueError(f"Question {question.qid} of {where} names the unknown record {strange[0]}.")
    return Chat(chat_id, records, questions)


def _record(raw: Any, where: str) -> Record:
    record_id = _text(raw, "id", f"a record of {where}")
    where = f"record {record_id} of {where}"
    return Record(
        record_id,
        _text(raw, "text", where),
        _text(raw, "speaker", where),
        _text(raw, "session", where),
        _time(_text(raw, "ts", where), where),
    )


def _question(raw: Any, where: str) -> Question:
    qid = _text(raw, "qid", f"a question of {where}")
    where = f"question {qid} of {where}"
    gold = _list(raw, "gold", where)
    if not all(isinstance(one, str) for one in gold):
        raise ValueError(f"The gold of {where} is not a list of record ids.")
    date = raw.get("date")
    return Question(
        qid,
        _text(raw, "text", where),
        _text(raw, "category", where),
        tuple(dict.fromkeys(gold)),
        None if date is None else _time(date, where),
    )


def _time(value: Any, where: str) -> datetime:
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"The time of {where} is not in ISO 8601: {value!r}.") from None
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def _text(raw: Any, key: str, where: str) -> str:
    return str(_field(raw, key, str, where))


def _list(raw: Any, key: str, where: str) -> list[Any]:
    return list(_field(raw, key, list, where))


def _field(raw: Any, key: str, kind: type, where: str) -> Any:
    value = raw.get(key) if isinstance(raw, Mapping) else None
    if not isinstance(value, kind):
        wanted = "text" if kind is str else "list"
        raise ValueError(f"The {wanted} {key!r} is missing in {_the(where)}.")
    return value


def _the(where: str) -> str:
    return where if where.startswith("a ") else f"the {where}" if where == "file" else where


def _require_unique(what: str, ids: Iterator[str]) -> None:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise ValueError(f"The id {one} stands for more than one {what}.")
        seen.add(one)
