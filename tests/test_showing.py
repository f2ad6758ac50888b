"""What is shown of memories: why one was found, what was said around it, and the parts of its score."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from bot.cli.output import PARTS, hit_json, memory_line, neighbour_lines, score_line
from bot.showing import around, speaker_of, why
from bot.texts import LANGUAGES, text
from memory.types import Author, Hit, Memory, MemoryType, Origin, Score, Status

NOW = datetime(2026, 3, 4, 23, 30, tzinfo=UTC)
ANNA = Author(7, "Anna")
TURN = Memory(
    5, 1, MemoryType.TURN, "we moved to Lisbon", Origin.PERSON, Status.ACTIVE, NOW, NOW, 9, "Anna", 7
)
ASKED = replace(TURN, id=4, speaker="Boris", speaker_id=8, text="where do\nyou live?")
ANSWERED = replace(TURN, id=6, speaker="", speaker_id=None, origin=Origin.ASSISTANT, text="Nice!")


def hit(**parts: float) -> Hit:
    return Hit(TURN, Score(parts.pop("total", 0.5), **parts), (ASKED,), (ANSWERED,))


# Why


@pytest.mark.parametrize(
    ("parts", "english", "russian"),
    [
        ({"relevance": 0.4, "cosine": 0.5}, "by meaning", "по смыслу"),
        ({"relevance": 0.2, "words": 0.5}, "by words", "по словам"),
        (
            {"relevance": 0.6, "cosine": 0.5, "words": 0.5},
            "by meaning and by words",
            "по смыслу и по словам",
        ),
        ({"relevance": 0.1, "context": 0.4}, "by what was said around it", "по сказанному рядом"),
        (
            {"relevance": 0.3, "linked": 0.3},
            "by a link with another memory",
            "по связи с другим воспоминанием",
        ),
    ],
)
def test_a_hit_says_how_it_was_found_in_both_languages(
    parts: dict[str, float], english: str, russian: str
) -> None:
    assert (why(hit(**parts), "en", ANNA), why(hit(**parts), "ru", ANNA)) == (english, russian)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"relevance": 0.4, "cosine": 0.5, "words": 0.14}, "by meaning"),  # one common word of many
        ({"relevance": 0.44, "cosine": 0.2, "words": 1.0}, "by words"),  # as far as any unrelated text
        ({"relevance": 0.3, "words": 0.3}, "by words"),  # a memory without a vector
        ({"relevance": 0.02, "cosine": 0.15, "words": 0.1}, "by meaning"),  # hardly anything
        ({"relevance": 0.02, "cosine": 0.05, "words": 0.1}, "by words"),
        ({"relevance": 0.1, "words": 0.25, "context": 0.9, "linked": 0.9}, "by words"),
    ],
)
def test_what_hardly_counts_is_no_reason(parts: dict[str, float], said: str) -> None:
    assert why(hit(**parts), "en", ANNA) == said


@pytest.mark.parametrize(
    ("parts", "english", "russian"),
    [
        ({"window": 1.0}, "at the time you named", "в названное время"),
        ({"speaker": 1.0}, "said by you", "сказано вами"),
        ({"reranked": 0.9}, "confirmed by a second reading", "подтверждено повторным чтением"),
    ],
)
def test_a_hit_says_what_else_spoke_for_it(parts: dict[str, float], english: str, russian: str) -> None:
    found = hit(relevance=0.4, cosine=0.5, **parts)

    assert why(found, "en", ANNA) == f"by meaning, {english}"
    assert why(found, "ru", ANNA) == f"по смыслу, {russian}"


def test_a_time_that_is_missed_and_a_second_opinion_that_is_against_are_no_reasons() -> None:
    assert why(hit(relevance=0.4, cosine=0.5, window=0.3, reranked=0.1), "en", ANNA) == "by meaning"


def test_who_said_it_is_you_by_the_account_and_by_the_name_where_no_account_is_known() -> None:
    found = hit(relevance=0.4, cosine=0.5, speaker=1.0)
    imported = replace(found, memory=replace(TURN, speaker_id=None))

    assert why(found, "en", Author(7, "Anna-Maria")) == "by meaning, said by you"
    assert why(found, "en", Author(8, "Anna")) == "by meaning, said by Anna"
    assert why(found, "ru", Author(8, "Boris")) == "по смыслу, автор: Anna"
    assert why(imported, "en", ANNA) == "by meaning, said by you"
    assert why(imported, "en", Author(7, "Boris")) == "by meaning, said by Anna"


# What stands around


def test_a_turn_shows_what_was_said_before_and_after_it_in_one_line_each() -> None:
    long = replace(hit(), after=(replace(ASKED, text="word " * 100),))

    assert around(hit(), "en") == ["before: Boris: where do you live?", "after: me: Nice!"]
    assert around(hit(), "ru") == ["до этого: Boris: where do you live?", "после этого: я: Nice!"]
    assert around(Hit(TURN, Score(0.5)), "en") == []
    assert all(len(line) < 140 for line in around(long, "en"))


def test_only_a_turn_of_the_bot_is_its_own_word() -> None:
    knowledge = replace(ANSWERED, type=MemoryType.KNOWLEDGE)

    assert (speaker_of(ANSWERED, "en"), speaker_of(knowledge, "en")) == ("me", "")
    assert speaker_of(TURN, "en") == "Anna"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", MemoryType)
def test_every_type_has_a_name_in_both_languages(kind: MemoryType, language: str) -> None:
    assert text(f"memory-type-{kind}", language)


# On the command line


def test_every_part_of_a_score_has_a_name_for_people() -> None:
    assert list(PARTS) == list(Score.__slots__)


def test_a_score_is_explained_by_the_parts_that_are_there() -> None:
    assert score_line(Score(0.534, 0.4, cosine=0.5, importance=0.5, words=0.004)) == (
        "        total 0.53, relevance 0.40, meaning 0.50, importance 0.50"
    )
    assert score_line(Score(0.0, window=1.0, linked=0.2, context=0.1, reranked=0.0)) == (
        "        total 0.00, words around 0.10, time window 1.00, linked 0.20, second opinion 0.00"
    )


def test_a_hit_in_json_has_every_part_and_its_neighbours() -> None:
    shown = json.loads(json.dumps(hit_json(hit(relevance=0.123456)), default=str))

    assert set(shown) == {"score", "memory", "before", "after"}
    assert set(shown["score"]) == set(Score.__slots__)
    assert (shown["score"]["relevance"], shown["score"]["reranked"]) == (0.1235, None)
    assert [turn["text"] for turn in shown["before"] + shown["after"]] == [ASKED.text, "Nice!"]


def test_a_turn_is_a_line_with_day_and_speaker_and_its_neighbours_stand_below() -> None:
    zone = ZoneInfo("Europe/Lisbon")

    assert memory_line(TURN, zone) == "     5  2026-03-04  turn        Anna: we moved to Lisbon"
    assert neighbour_lines(hit()) == [
        "                    before      Boris: where do you live?",
        "                    after       the bot: Nice!",
    ]
