"""Words within a chat: what they are worth, where they were said, and which are taken for each other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.floor import copy_of
from memory.bm25 import Around, WordScores, around_of, word_scores
from memory.chat_copy import ChatCopy
from memory.question import understand
from memory.text import stems
from memory.types import Query
from tests.fakes.clock import NOON

NO_VECTORS = np.zeros((0, 0), np.float32)


def chat_of(*texts: str) -> ChatCopy:
    """Memories without vectors, one row each."""
    return replace(copy_of(1, texts, NO_VECTORS), vectors=None)


def dead(copy: ChatCopy, *rows: int) -> ChatCopy:
    alive = copy.alive.copy()
    alive[list(rows)] = False
    return replace(copy, alive=alive, dead=len(rows))


def talk_of(*texts: str) -> ChatCopy:
    """Turns of one conversation."""
    copy = chat_of(*texts)
    return replace(copy, previous=np.arange(len(texts), dtype=np.int32) - 1)


def around(copy: ChatCopy, bots: Sequence[int] = ()) -> Around:
    return around_of(copy, ~np.isin(np.arange(len(copy)), bots))


def asked(copy: ChatCopy, text: str, bots: Sequence[int] = ()) -> WordScores:
    return word_scores(copy, around(copy, bots), stems(text))


def understood(copy: ChatCopy, text: str) -> WordScores:
    """With the other spellings that a question brings."""
    question = understand(Query(1, text), (), NOON)
    return word_scores(copy, around(copy), question.words, question.spelled)


def ranked(scores: np.ndarray[tuple[int], np.dtype[np.float32]]) -> list[int]:
    """The rows that have anything, best first."""
    order = np.argsort(-scores, kind="stable")
    return [int(row) for row in order if scores[row] > 0]


# What a word is worth


def test_a_rare_word_is_worth_more_than_a_common_one() -> None:
    copy = chat_of("the dog barks", "the cat sleeps", "the cat eats", "the cat runs")

    assert ranked(asked(copy, "a cat and a dog").own) == [0, 1, 2, 3]


def test_a_word_said_again_is_worth_more_but_less_each_time() -> None:
    copy = chat_of("tea one two three", "tea tea one two", "tea tea tea one")

    first, second, third = asked(copy, "tea").own

    assert first < second < third == 1
    assert third - second < second - first


def test_a_short_text_is_more_about_its_words_than_a_long_one() -> None:
    copy = chat_of("Bagel", "Bagel barked at the postman near the old bridge yesterday evening")

    assert ranked(asked(copy, "Bagel").own) == [0, 1]


def test_the_share_of_the_question_that_is_covered_counts_rare_words_for_more() -> None:
    copy = chat_of("a dog", "a cat", "a cat and a mouse", "a cat and a bird", "tea")

    covered = asked(copy, "dog cat").covered

    assert covered[0] > 0.5 > covered[1] > 0
    assert covered[0] + covered[1] == pytest.approx(1.0)
    assert covered[4] == 0


def test_words_that_the_chat_does_not_know_leave_the_question_uncovered() -> None:
    copy = chat_of("my dog is called Bagel", "tea")

    known, half = (asked(copy, text).covered[0] for text in ("Bagel", "Bagel zeppelin"))

    assert known == pytest.approx(1.0)
    assert 0 < half < 0.5


def test_no_more_than_all_of_a_question_is_covered() -> None:
    texts = [" ".join(map(str, range(start, start + size))) for size in range(3, 50) for start in (1, 30)]
    copy = chat_of(*texts)

    covered = np.array([asked(copy, text).covered.max() for text in texts])

    assert covered == pytest.approx(1)
    assert covered.max() <= 1


@pytest.mark.parametrize("text", ["", "the of and", "zeppelin", "и не в"])
def test_without_a_known_word_nothing_speaks_for_anything(text: str) -> None:
    scores = asked(chat_of("my dog is called Bagel", "tea"), text)

    for each in (scores.own, scores.around, scores.covered):
        assert each.dtype == np.float32
        assert each.tolist() == [0, 0]


def test_what_is_gone_neither_has_words_nor_makes_them_common() -> None:
    texts = ["a dog", "a cat", *["a dog"] * 20]
    gone = dead(chat_of(*texts), *range(2, 22))

    scores, bare = asked(gone, "dog cat"), asked(chat_of(*texts[:2]), "dog cat")

    assert scores.covered[:2] == pytest.approx(bare.covered)
    assert scores.own[:2] == pytest.approx(bare.own)
    assert not scores.own[2:].any()


def test_the_best_has_1_although_something_better_is_gone() -> None:
    copy = dead(chat_of("dog dog dog", "dog and a very long walk"), 0)

    assert asked(copy, "dog").own.tolist() == [0, 1]


def test_a_question_of_ten_thousand_words_costs_no_time() -> None:
    copy = chat_of(*(f"word{number} is here" for number in range(500)))
    words = [f"word{number}" for number in range(10_000)]
    started = time.process_time()

    scores = word_scores(copy, around(copy), words)

    assert time.process_time() - started < 2
    assert np.count_nonzero(scores.own) == 60


# Identifiers, beginnings and the other script

ORDERS = tuple(f"The number of the order is ZX-{number}" for number in range(4200, 4700))


def test_an_identifier_is_found_among_five_hundred_alike() -> None:
    copy = chat_of(*ORDERS)

    scores = asked(copy, "ZX-4471")

    assert ORDERS[ranked(scores.own)[0]].endswith("ZX-4471")
    assert scores.covered.max() > 2 * np.sort(scores.covered)[-2]


def test_the_beginning_of_an_identifier_stands_for_those_that_begin_so() -> None:
    copy = chat_of(*ORDERS)

    best = ranked(asked(copy, "ZX-44").covered)[:8]

    assert all("ZX-44" in ORDERS[row] for row in best)


@pytest.mark.parametrize(
    ("beginning", "found"), [("Бубл", True), ("бублик", True), ("Бу", False), ("ик", False)]
)
def test_the_beginning_of_a_word_stands_for_it(beginning: str, found: bool) -> None:
    copy = chat_of("Мою собаку зовут Бублик", "Кошку зовут Муся")

    assert ranked(asked(copy, beginning).covered) == ([0] if found else [])


def test_a_beginning_is_worth_less_than_the_word_itself() -> None:
    copy = chat_of("бубл", "бубл")
    whole = word_scores(copy, around(copy), ["бубл"])
    begun = word_scores(chat_of("бублик", "бублик"), around(copy), ["бубл", "бублик"])

    assert whole.covered[0] == pytest.approx(1.0)
    assert begun.covered[0] == pytest.approx(1.0)
    assert word_scores(chat_of("бублик", "чай"), around(copy), ["бубл", "чай"]).covered[0] < 0.5


def test_a_word_that_the_chat_knows_stands_for_itself_alone() -> None:
    copy = chat_of("a port", "a portal", "a portrait")

    assert ranked(asked(copy, "port").own) == [0]


def test_a_beginning_of_what_is_gone_finds_nothing() -> None:
    copy = dead(chat_of("Мою собаку зовут Бублик", "Кошку зовут Муся"), 0)

    assert ranked(asked(copy, "Бубл").covered) == []


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("Who is Dasha?", "Даша приедет в пятницу"),
        ("Кто такая Даша?", "Dasha comes on Friday"),
        ("What did Sergey bring?", "Сергей принёс торт"),
        ("Что сделал Сергей?", "Sergey made a cake"),
        ("Как дела у Жени?", "Zhenya is fine"),
        ("Где Аня?", "Anya is at home"),
        ("Что подарить Насте?", "Nastya wants a bicycle"),
        ("What does Andrey drink?", "Андрей пьёт кофе"),
        ("Where is Yulia?", "Юлия уехала"),
        ("Как там Чикаго?", "We flew to Chicago"),
        ("Have you seen Bublik?", "Бублик убежал"),
        ("Где Бублик?", "Bublik ran away"),
    ],
)
def test_a_name_is_found_in_the_other_script(question: str, memory: str) -> None:
    copy = chat_of("Tea without sugar", memory, "Чай без сахара")

    assert ranked(understood(copy, question).covered) == [1]


def test_a_name_that_is_written_as_asked_is_not_looked_for_in_the_other_script() -> None:
    copy = chat_of("Dasha likes tea", "Даша любит кофе")

    assert ranked(understood(copy, "Who is Dasha?").covered) == [0]


# What was said around


def test_what_was_said_before_and_after_a_turn_is_around_it_the_nearest_most() -> None:
    copy = talk_of("one", "two", "elephant", "four", "five", "six")

    near = asked(copy, "elephant").around

    assert ranked(near) == [3, 1, 4]  # said just before it, just after it, and two turns before it
    assert near[[0, 2, 5]].tolist() == [0, 0, 0]


def test_the_words_of_a_turn_itself_are_its_own() -> None:
    scores = asked(talk_of("one", "elephant", "three"), "elephant")

    assert ranked(scores.own) == [1]
    assert scores.around[1] == 0
    assert ranked(scores.covered) == [1]


def test_words_go_around_in_one_conversation_alone() -> None:
    copy = talk_of("one", "elephant", "three", "four")
    previous = np.array([-1, 0, -1, 2], np.int32)

    assert ranked(asked(replace(copy, previous=previous), "elephant").around) == [0]


def test_what_the_bot_says_neither_gives_nor_gets_context_and_does_not_part_those_around_it() -> None:
    copy = talk_of("Which animal?", "An elephant, I think", "It was grey")

    from_the_bot = asked(copy, "elephant", bots=[1])
    over_the_bot = asked(copy, "animal", bots=[1])

    assert ranked(from_the_bot.own) == [1]
    assert ranked(from_the_bot.around) == []
    assert ranked(over_the_bot.around) == [2]


def test_around_a_turn_are_those_of_people_the_nearest_first() -> None:
    copy = talk_of("a", "bot", "bot", "b", "c", "bot")

    found = around(copy, bots=[1, 2, 5])

    assert [rows.tolist() for rows in found.before] == [[-1, -1, -1, 0, 3, -1], [-1, -1, -1, -1, 0, -1]]
    assert [rows.tolist() for rows in found.after] == [[3, -1, -1, 4, -1, -1]]


def test_a_memory_that_is_no_turn_has_nothing_around_it() -> None:
    found = around(chat_of("a", "b", "c"))

    assert all(rows.tolist() == [-1, -1, -1] for rows in (*found.before, *found.after))


def test_a_dead_turn_is_nobodys_neighbour() -> None:
    copy = dead(talk_of("Where is the boat?", "forget me", "In the bay"), 1)

    found = around(copy)

    assert found.after[0][0] == -1
    assert found.before[0][1] == -1
