"""Measures of ranked answers, against values worked out by hand."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from benchmarks.chats import BenchmarkData, Chat, Question, Record
from benchmarks.measures import (
    Answer,
    Measured,
    all_found,
    answers,
    by_category,
    by_session,
    halves,
    interval,
    measured,
    ndcg,
    recall,
    reciprocal_rank,
)

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


def answer(gold: str, ranked: str, *, chat: str = "one", category: str = "single") -> Answer:
    """An answer whose ids are single letters."""
    return Answer(f"{gold}?", chat, category, tuple(gold), tuple(ranked))


def data(*gold: str) -> BenchmarkData:
    """Chats of four turns, two in each of two sessions, with one question each."""
    return BenchmarkData("small", "made up", "", tuple(_chat(n, one) for n, one in enumerate(gold, 1)))


def _chat(number: int, gold: str) -> Chat:
    records = tuple(Record(one, one, "Ann", "S1" if one in "ab" else "S2", NOON) for one in "abcd")
    return Chat(f"c{number}", records, (Question(f"q{number}", "What?", "single", tuple(gold), None),))


def test_recall_is_the_fraction_of_the_gold_among_the_first_k() -> None:
    two_of_three = answer("abc", "axbyc")

    assert recall(two_of_three, 1) == pytest.approx(1 / 3)
    assert recall(two_of_three, 3) == pytest.approx(2 / 3)
    assert recall(two_of_three, 10) == 1


def test_all_found_is_nothing_until_the_last_gold_id_is_there() -> None:
    assert all_found(answer("abc", "axbyc"), 4) == 0
    assert all_found(answer("abc", "axbyc"), 5) == 1


def test_ndcg_counts_a_later_find_for_less() -> None:
    first_and_third = answer("ab", "axb")

    assert ndcg(first_and_third, 10) == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3)))
    assert ndcg(first_and_third, 2) == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_ndcg_is_one_when_the_first_k_could_hold_no_more_gold() -> None:
    assert ndcg(answer("abc", "ab"), 2) == 1


def test_reciprocal_rank_looks_at_the_first_find_only() -> None:
    assert reciprocal_rank(answer("ab", "xyab")) == pytest.approx(1 / 3)
    assert reciprocal_rank(answer("ab", "xyz")) == 0


def test_nothing_brought_is_nothing_found() -> None:
    silent = answer("a", "")

    assert (recall(silent, 5), all_found(silent, 5), ndcg(silent, 5), reciprocal_rank(silent)) == (0, 0, 0, 0)


def test_a_question_that_nothing_answers_cannot_be_measured() -> None:
    with pytest.raises(ValueError, match="no gold ids"):
        recall(answer("", "ab"), 5)


def test_answers_put_the_ranking_beside_the_gold_and_drop_what_is_there_twice() -> None:
    assert answers(data("a"), {"q1": ["b", "a", "b"]}) == [Answer("q1", "c1", "single", ("a",), ("b", "a"))]


def test_answers_leave_out_questions_that_nothing_answers() -> None:
    assert [one.qid for one in answers(data("a", ""), {"q1": [], "q2": ["a"]})] == ["q1"]


def test_a_question_that_was_not_asked_is_a_fault_and_no_miss() -> None:
    with pytest.raises(ValueError, match="q2 has no ranking"):
        answers(data("a", "b"), {"q1": ["a"]})


def test_sessions_take_the_place_of_their_turns_once() -> None:
    file = data("ac")

    [one] = by_session(file, answers(file, {"q1": ["b", "a", "d"]}))

    assert (one.gold, one.ranked) == (("S1", "S2"), ("S1", "S2"))


def test_the_first_half_of_the_chats_is_for_tuning_and_the_rest_for_the_report() -> None:
    file = data("a", "a", "a", "a")

    tune, report = halves(file, answers(file, {f"q{n}": ["a"] for n in (1, 2, 3, 4)}))

    assert [one.chat_id for one in tune] == ["c1", "c2"]
    assert [one.chat_id for one in report] == ["c3", "c4"]


def test_answers_are_told_apart_by_the_kind_of_their_question() -> None:
    single, multi = answer("a", "a"), answer("b", "a", category="multi")

    assert by_category([single, multi, single]) == {"multi": [multi], "single": [single, single]}


def test_a_measure_is_the_mean_over_the_questions() -> None:
    found = measured(
        [answer("a", "a"), answer("ab", "xa"), answer("a", "x"), answer("a", "xya")], ["recall@5"]
    )

    assert found["recall@5"].mean == pytest.approx((1 + 1 / 2 + 0 + 1) / 4)
    assert found["recall@5"].questions == 4


def test_the_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    few, many = interval([0.0, 1.0] * 20), interval([0.0, 1.0] * 500)

    assert few.low < few.mean < few.high
    # 1.96 standard errors of a coin are 0.155 for 40 throws and 0.031 for 1,000.
    assert few.high - few.mean == pytest.approx(0.155, abs=0.025)
    assert many.high - many.mean == pytest.approx(0.031, abs=0.005)


def test_the_interval_is_the_same_in_every_run() -> None:
    assert interval([0.0, 0.5, 1.0]) == interval([0.0, 0.5, 1.0])


def test_values_that_agree_have_no_spread() -> None:
    assert interval([1.0, 1.0]) == Measured(1.0, 1.0, 1.0, 2)


def test_no_answers_cannot_be_measured() -> None:
    with pytest.raises(ValueError, match="no answers to measure"):
        measured([])
