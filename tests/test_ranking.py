"""What speaks for a memory: words, meaning, what was said around it, by whom and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.floor import copy_of
from memory.bm25 import around_of, word_scores
from memory.chat_copy import ChatCopy
from memory.question import Question, understand
from memory.ranking import HALF_LIFE, QUESTION_SHARE, TOLD_LATER, Ranking, of_people, rank, score
from memory.scales import PAIRS, Scale
from memory.types import Memory, MemoryType, Origin, Query, Score, Status
from tests.fakes.clock import NOON

PLAIN = Scale(dict.fromkeys(PAIRS, 0.1), dict.fromkeys(PAIRS, 0.5))
SPEAKERS = ("Anna", "Bob", "")
TYPES, ORIGINS = tuple(MemoryType), tuple(Origin)


@dataclass(frozen=True, slots=True)
class Told:
    """One memory of a chat, with the cosine that it has with the question; none for one without a vector."""

    text: str
    cosine: float | None = None
    type: MemoryType = MemoryType.FACT
    speaker: str = ""
    session: int = 0
    origin: Origin = Origin.PERSON
    at: datetime = NOON
    importance: float = 0.5


def said(
    text: str, cosine: float | None = None, speaker: str = "Anna", session: int = 1, **more: Any
) -> Told:
    return Told(text, cosine, MemoryType.TURN, speaker, session, **more)


def chat_of(told: Sequence[Told]) -> ChatCopy:
    """The copy of a chat; turns of a session follow each other."""
    copy = copy_of(1, [each.text for each in told], np.zeros((len(told), 1), np.float32))
    before: dict[int, int] = {}
    previous = []
    for row, each in enumerate(told):
        is_turn = each.type is MemoryType.TURN
        previous.append(before.get(each.session, -1) if is_turn else -1)
        before |= {each.session: row} if is_turn else {}
    return replace(
        copy,
        types=np.array([TYPES.index(each.type) for each in told], np.int8),
        origins=np.array([ORIGINS.index(each.origin) for each in told], np.int8),
        speakers=np.array([SPEAKERS.index(each.speaker) for each in told], np.int32),
        speaker_names=SPEAKERS,
        sessions=np.array([each.session for each in told], np.int64),
        valid_from=np.array([each.at.timestamp() for each in told]),
        importance=np.array([each.importance for each in told], np.float32),
        previous=np.array(previous, np.int32),
    )


def scores(
    text: str, *told: Told, scale: Scale | None = PLAIN, asker: str = "", now: datetime = NOON
) -> list[Score]:
    """The score of each memory for a question."""
    copy = chat_of(told)
    question = understand(Query(1, text, asker=asker), SPEAKERS, now)
    ranking = ranked(copy, question, told, scale, now)
    return [score(ranking, copy, row, memory_of(row, each), question, scale) for row, each in enumerate(told)]


def ranked(
    copy: ChatCopy, question: Question, told: Sequence[Told], scale: Scale | None, now: datetime = NOON
) -> Ranking:
    around = around_of(copy, of_people(copy))
    words = word_scores(copy, around, question.words, question.spelled)
    cosines = np.array([np.nan if each.cosine is None else each.cosine for each in told], np.float32)
    return rank(copy, around, question, words, cosines, scale, now)


def memory_of(row: int, told: Told) -> Memory:
    return Memory(
        row,
        1,
        told.type,
        told.text,
        told.origin,
        Status.ACTIVE,
        told.at,
        told.at,
        revision=row,
        speaker=told.speaker,
        session_id=told.session or None,
        importance=told.importance,
    )


def totals(text: str, *told: Told, **more: Any) -> list[float]:
    return [each.total for each in scores(text, *told, **more)]


# How surely it answers


def test_relevance_is_made_of_words_and_meaning_alone() -> None:
    plain = Told("the dog barks", 0.4)
    dressed = replace(plain, importance=1.0, speaker="Anna", type=MemoryType.PREFERENCE)
    old = replace(plain, at=NOON - timedelta(days=3_000))

    found = [scores("a dog", each)[0].relevance for each in (plain, dressed, old)]

    assert 0 < found[0] < 1
    assert found == [found[0]] * 3


def test_both_sides_make_relevance_greater() -> None:
    neither, words, meaning, both = (
        each.relevance
        for each in scores(
            "a dog", Told("tea", 0.1), Told("a dog", 0.1), Told("a hound", 0.6), Told("the dog", 0.6)
        )
    )

    assert neither == 0
    assert 0 < words < both
    assert 0 < meaning < both <= 1


def test_without_a_vector_words_alone_decide() -> None:
    bare, known, nothing = scores("a dog", Told("a dog"), Told("a dog", 0.3), Told("tea"))

    assert bare.relevance == bare.words == pytest.approx(1.0)
    assert known.relevance < 1
    assert nothing.relevance == 0


def test_without_an_embedder_no_cosine_counts() -> None:
    near, far = scores("a dog", Told("tea", 0.9), Told("tea", 0.1), scale=None)

    assert near.total == far.total
    assert near.relevance == far.relevance == 0


def test_a_cosine_is_worth_what_the_two_languages_say() -> None:
    low = dict.fromkeys(PAIRS, 0.1) | {("ru", "en"): 0.5}
    scale = Scale(low, dict.fromkeys(PAIRS, 0.5))

    same, across = scores("где собака", Told("чай", 0.4), Told("tea", 0.4), scale=scale)

    assert same.relevance > across.relevance == 0
    assert same.total > across.total


# When, by whom, and how weighty


@pytest.mark.parametrize("kind", list(MemoryType))
def test_what_is_as_old_as_its_half_life_is_half_as_recent(kind: MemoryType) -> None:
    old = Told("a dog", type=kind, at=NOON - HALF_LIFE[kind])
    to_come = Told("a dog", type=kind, at=NOON + timedelta(days=9))

    assert [each.recency for each in scores("a dog", old, to_come)] == [pytest.approx(0.5), 1.0]


def test_of_two_alike_the_newer_and_of_two_as_old_the_weightier_wins() -> None:
    older = Told("a dog", 0.3, at=NOON - timedelta(days=200))
    newer = replace(older, at=NOON - timedelta(days=100))
    weighty = replace(older, importance=0.9)

    best, middle = totals("a dog", newer, older)
    assert best > middle
    assert totals("a dog", weighty, older)[0] > middle


def test_recency_and_importance_do_not_outweigh_an_answer() -> None:
    answer = Told("my dog is called Bagel", 0.5, at=NOON - timedelta(days=3_000), importance=0.0)
    chatter = Told("the bus is late", 0.15, importance=1.0)

    assert totals("what is my dog called?", answer, chatter)[0] > totals("my dog?", answer, chatter)[1]


def test_a_time_in_the_question_prefers_what_was_said_in_it_and_soon_after() -> None:
    day = timedelta(days=1)
    inside, soon, late, before = scores(
        "where did we eat last week?",  # from the 23rd of February to the 1st of March
        *(Told("we ate", 0.3, at=NOON - age) for age in (4 * day, 2 * day, -2 * day, 20 * day)),
    )

    assert [each.window for each in (inside, soon, late, before)] == [1.0, 0.5, 0.0, 0.0]
    assert inside.total > soon.total > before.total


def test_a_window_adds_nothing_to_relevance_and_shuts_nothing_out() -> None:
    outside, inside = scores(
        "what is my dog called, which I got yesterday?",
        Told("my dog is called Bagel", 0.6, at=NOON - timedelta(days=400)),
        Told("the bus is late", 0.1, at=NOON - timedelta(days=1)),
    )

    assert outside.relevance > inside.relevance == pytest.approx(0, abs=0.01)
    assert outside.total > inside.total
    assert (outside.window, inside.window) == (0, 1)


def test_without_a_time_in_the_question_nothing_is_in_its_window() -> None:
    assert [each.window for each in scores("a dog", Told("a dog"), Told("a cat"))] == [0, 0]


def test_what_is_told_long_after_a_time_is_not_of_it() -> None:
    at = datetime(2026, 3, 4, tzinfo=UTC)  # the end of yesterday
    just, late = scores(
        "what was yesterday?",
        Told("a dog", at=at + TOLD_LATER - timedelta(seconds=1)),
        Told("a dog", at=at + TOLD_LATER),
    )

    assert (just.window, late.window) == (0.5, 0)


@pytest.mark.parametrize(("text", "asker"), [("What does Anna eat?", ""), ("what do I eat?", "Anna")])
def test_the_words_of_the_one_who_is_asked_about_are_preferred(text: str, asker: str) -> None:
    bobs, annas = scores(
        text, Told("I eat rice", speaker="Bob"), Told("I eat rye", speaker="Anna"), asker=asker
    )

    assert (bobs.speaker, annas.speaker) == (0, 1)
    assert annas.total > bobs.total
    assert annas.relevance == bobs.relevance


def test_what_the_one_asked_about_says_of_somebody_else_is_not_preferred_so_much() -> None:
    mine, yours = scores("What does Anna eat?", said("I eat rice"), said("you eat rice", speaker="Bob"))

    assert mine.total > yours.total


# Turns


def test_what_was_kept_stands_above_a_turn_with_the_same_words() -> None:
    fact, turn = totals("a dog", Told("I have a dog", 0.4), said("I have a dog", 0.4))

    assert fact > turn


def test_an_answer_gains_from_the_question_before_it() -> None:
    _, answer, other, _ = scores(
        "What is the dog called?",
        said("What is your dog called?", 0.6, session=1),
        said("Bagel", 0.2, "Bob", session=1),
        said("Bagel", 0.2, "Bob", session=2),
        said("It rains", 0.1, session=2),
    )

    assert answer.context > 0 == other.context
    assert answer.total > other.total


def test_the_bots_own_words_give_their_neighbours_nothing() -> None:
    def answers(origin: Origin) -> list[Score]:
        first = said("What is the dog called?", 0.6, origin=origin)
        return scores("What is the dog called?", first, said("Bagel", 0.2), said("It rains", 0.1, session=2))

    from_the_bot, from_a_person = (answers(origin)[1] for origin in (Origin.ASSISTANT, Origin.PERSON))

    assert from_the_bot.context == 0 < from_a_person.context
    assert from_the_bot.total < from_a_person.total


def test_a_turn_gains_from_the_meaning_of_those_around_it() -> None:
    def middle(before: float, after: float) -> float:
        three = said("one", before), said("two", 0.2), said("three", after)
        return totals("zeppelin", *three, said("the best", 0.9, session=2))[1]

    alone = middle(0.1, 0.1)

    assert middle(0.5, 0.1) > middle(0.1, 0.5) > alone


def test_a_turn_of_the_conversation_that_tells_most_is_preferred() -> None:
    told = [
        said("Bagel the dog", 0.6, session=1),
        *(said("It rains", 0.2, session=session) for session in (3, 2, 1)),
    ]

    third, second, first = totals("Bagel the dog", *told)[1:]

    assert first > second == third


@pytest.mark.parametrize(
    ("question", "plain"),
    [("Is my dog called Bagel?", "My dog is called Bagel."), ("Где мои ключи?", "Там мои ключи.")],
)
def test_a_past_question_does_not_answer(question: str, plain: str) -> None:
    asking, telling = scores(question, said(question, 0.5), said(plain, 0.5, session=2))

    assert asking.total < telling.total
    assert asking.relevance < telling.relevance
    assert asking.relevance <= QUESTION_SHARE


def test_a_question_that_a_fact_quotes_is_not_held_against_it() -> None:
    fact, turn = scores("who are you?", Told("Who are you?", 0.5), said("Who are you?", 0.5))

    assert turn.relevance == pytest.approx(QUESTION_SHARE * fact.relevance)


@pytest.mark.parametrize(
    ("question", "wanted", "other"),
    [
        ("how many stairs are there?", "stairs, 12 of them", "stairs, lots of them"),
        ("when is the party?", "the party is on Friday", "the party is on fire"),
        ("сколько там ступеней?", "ступеней там три", "ступеней там тьма"),
        ("когда вечеринка?", "вечеринка в июне", "вечеринка в доме"),
    ],
)
def test_a_turn_that_tells_what_is_wanted_is_preferred(question: str, wanted: str, other: str) -> None:
    right, wrong = totals(question, said(wanted, 0.4), said(other, 0.4, session=2))

    assert right > wrong


# All of it


def test_rows_that_are_gone_change_nothing_for_the_others() -> None:
    told = [said("a dog", 0.5), said("a dog barks", 0.9, session=2), said("tea", 0.2, session=2)]
    copy = chat_of(told)
    alive = np.array([True, False, False])
    question = understand(Query(1, "a dog"), SPEAKERS, NOON)

    with_gone = ranked(replace(copy, alive=alive, dead=2), question, told, PLAIN)
    without = ranked(chat_of(told[:1]), question, told[:1], PLAIN)

    assert with_gone.relevance[0] == pytest.approx(without.relevance[0])
    assert with_gone.raw[0] == pytest.approx(without.raw[0])


def test_a_chat_of_which_only_the_bots_turns_are_left_is_weighed() -> None:
    told = [said("a dog", 0.5, origin=Origin.ASSISTANT)]

    [found] = scores("a dog", *told)

    assert 0 < found.relevance <= 1


TOLD = st.builds(
    Told,
    text=st.sampled_from(
        ["a dog", "where is the dog?", "я люблю чай", "Bagel is 12 in June", "you and I", "🙂 x"]
    ),
    cosine=st.none() | st.floats(-1, 1, width=32),
    type=st.sampled_from(MemoryType),
    speaker=st.sampled_from(SPEAKERS),
    session=st.integers(0, 3),
    origin=st.sampled_from(Origin),
    at=st.integers(-50_000, 50_000).map(lambda hours: NOON + timedelta(hours=hours)),
    importance=st.floats(0, 1, width=32),
)


@given(
    st.lists(TOLD, min_size=1, max_size=8),
    st.sampled_from(
        ["a dog yesterday", "сколько чая пьёт Anna?", "what is my dog called?", "what dogs", "1"]
    ),
    st.booleans(),
)
def test_every_part_of_every_score_lies_between_0_and_1(told: list[Told], text: str, embedded: bool) -> None:
    for found in scores(text, *told, scale=PLAIN if embedded else None, asker="Bob"):
        parts = (
            found.total,
            found.relevance,
            found.cosine,
            found.words,
            found.context,
            found.recency,
            found.importance,
            found.window,
            found.speaker,
            found.linked,
        )
        assert all(0 <= part <= 1 for part in parts), found
