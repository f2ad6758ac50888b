"""The file of a benchmark: what is read from it, and what is said of a broken one."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.chats import Record, load

SMALL: dict[str, Any] = {
    "name": "small",
    "source": "made up for this test",
    "licence": "MIT",
    "chats": [
        {
            "chat_id": "c1",
            "records": [
                {
                    "id": "t1",
                    "text": "Мой кот — Барсик",
                    "speaker": "Аня",
                    "session": "S1",
                    "ts": "2025-03-01T12:00:00",
                },
                {
                    "id": "t2",
                    "text": "A fine name!",
                    "speaker": "assistant",
                    "session": "S1",
                    "ts": "2025-03-01T15:01:00+03:00",
                },
            ],
            "questions": [
                {
                    "qid": "q1",
                    "text": "Как зовут кота?",
                    "category": "single-hop",
                    "gold": ["t1"],
                    "date": None,
                },
                {
                    "qid": "q2",
                    "text": "Where?",
                    "category": "none",
                    "gold": [],
                    "date": "2025-04-01T09:00:00",
                },
            ],
        }
    ],
}


def written(tmp_path: Path, content: object) -> Path:
    file = tmp_path / "small.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def broken(*path: str | int, value: object) -> dict[str, Any]:
    """The small file with one value changed."""
    content: Any = copy.deepcopy(SMALL)
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    result: dict[str, Any] = content
    return result


def test_a_file_becomes_chats_with_turns_and_questions(tmp_path: Path) -> None:
    data = load(written(tmp_path, SMALL))

    [chat] = data.chats
    assert (data.name, data.source, data.licence, chat.chat_id) == (
        "small",
        "made up for this test",
        "MIT",
        "c1",
    )
    assert [record.id for record in chat.records] == ["t1", "t2"]
    assert [(one.qid, one.category, one.gold) for one in chat.questions] == [
        ("q1", "single-hop", ("t1",)),
        ("q2", "none", ()),
    ]


def test_times_are_aware_and_in_utc(tmp_path: Path) -> None:
    [chat] = load(written(tmp_path, SMALL)).chats

    assert [record.said_at for record in chat.records] == [
        datetime(2025, 3, 1, 12, 0, tzinfo=UTC),
        datetime(2025, 3, 1, 12, 1, tzinfo=UTC),
    ]
    assert [one.asked_at for one in chat.questions] == [None, datetime(2025, 4, 1, 9, 0, tzinfo=UTC)]


@pytest.mark.parametrize("speaker", ["assistant", "Bot", " Ассистент "])
def test_some_speakers_are_the_assistant(speaker: str) -> None:
    assert Record("t1", "Hello", speaker, "S1", datetime(2025, 3, 1, tzinfo=UTC)).by_assistant


def test_other_speakers_are_people_and_stand_in_their_line() -> None:
    record = Record("t1", "Hello", "Abbot", "S1", datetime(2025, 3, 1, tzinfo=UTC))

    assert not record.by_assistant
    assert record.line == "Abbot: Hello"


def test_some_chats_can_be_taken_from_the_front(tmp_path: Path) -> None:
    data = load(written(tmp_path, SMALL))

    assert data.first(1) == data
    assert data.first(0).chats == ()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ([], "The list 'chats' is missing in the file."),
        (broken("chats", value="none"), "The list 'chats' is missing in the file."),
        (broken("name", value=None), "The text 'name' is missing in the file."),
        (broken("chats", 0, value=5), "The text 'chat_id' is missing in chat 1."),
        (broken("chats", 0, "questions", value=None), "The list 'questions' is missing in chat c1."),
        (
            broken("chats", 0, "records", 1, "id", value=7),
            "The text 'id' is missing in a record of chat c1.",
        ),
        (
            broken("chats", 0, "records", 1, "speaker", value=None),
            "The text 'speaker' is missing in record t2 of chat c1.",
        ),
        (broken("chats", 0, "records", 1, "id", value="t1"), "The id t1 stands for more than one record of"),
        (
            broken("chats", 0, "records", 1, "ts", value="noon"),
            "The time of record t2 of chat c1 is not in ISO",
        ),
        (
            broken("chats", 0, "questions", 1, "date", value=5),
            "The time of question q2 of chat c1 is not in ISO",
        ),
        (
            broken("chats", 0, "questions", 1, "qid", value="q1"),
            "The id q1 stands for more than one question.",
        ),
        (
            broken("chats", 0, "questions", 0, "gold", value=[1]),
            "The gold of question q1 of chat c1 is not a list",
        ),
        (
            broken("chats", 0, "questions", 0, "gold", value=["t9"]),
            "Question q1 of chat c1 names the unknown record t9.",
        ),
        (broken("chats", value=SMALL["chats"] * 2), "The id c1 stands for more than one chat."),
    ],
)
def test_a_fault_is_told_in_a_sentence(tmp_path: Path, content: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"\.$") as caught:
        load(written(tmp_path, content))

    assert str(caught.value).startswith(sentence)


def test_a_file_that_is_not_there_or_no_json_is_told_in_a_sentence(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("not json", encoding="utf-8")

    with pytest.raises(ValueError, match=r"none\.json cannot be read: No such file or directory\."):
        load(tmp_path / "none.json")
    with pytest.raises(ValueError, match=r"other\.json is no JSON in UTF-8\."):
        load(other)
