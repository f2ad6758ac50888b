"""Which hits are shown: each wording once, from different conversations, within the budget."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.selection import SAME_SESSION, SAME_SESSION_FOR_SEVERAL, distinct, diverse, within
from memory.tokens import estimate_tokens
from memory.types import Hit, Memory, MemoryType, Origin, Score, Status
from tests.fakes.clock import NOON

FACT = Memory(1, 7, MemoryType.FACT, "", Origin.PERSON, Status.ACTIVE, NOON, NOON, revision=1)


def hit(text: str, total: float = 0.5) -> Hit:
    return Hit(replace(FACT, text=text), Score(total))


def turn(text: str, total: float, session: int | None) -> Hit:
    return Hit(replace(FACT, text=text, type=MemoryType.TURN, session_id=session), Score(total))


def texts(hits: list[Hit]) -> list[str]:
    return [each.memory.text for each in hits]


# Each wording once


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("Мою собаку зовут Бублик", "Зовут мою собаку — Бублик!"),
        ("Мою собаку зовут Бублик", "мою собаку зовут бублик."),
        ("Мою собаку зовут Бублик", "Бубликом зовут мою собаку"),
        ("I drink green tea", "Green tea, I drink!"),
        ("Ёлка стоит", "Елка стоит"),
        ("🙂", "🙂"),
    ],
)
def test_what_says_the_same_as_a_better_hit_is_left_out(first: str, again: str) -> None:
    assert texts(list(distinct([hit(first), hit(again)]))) == [first]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Варя любит кошек", "Варя не любит кошек"),
        ("Я люблю Машу", "Маша любит меня"),
        ("I like tea", "I don't like tea"),
        ("I like tea", "I never like tea"),
        ("Чай с сахаром", "Чай без сахара"),
        ("Мой рост 182", "Мой рост 183"),
        ("🙂", "🙃"),
        ("ZX-4471", "ZX-4472"),
    ],
)
def test_texts_that_only_look_alike_both_stay(one: str, other: str) -> None:
    assert texts(list(distinct([hit(one), hit(other)]))) == [one, other]


# From different conversations


def test_without_conversations_the_best_come_in_their_order() -> None:
    hits = [hit("a", 0.9), hit("b", 0.8), hit("c", 0.8), hit("d", 0.1)]

    assert texts(diverse(hits, 3, several=True)) == ["a", "b", "c"]


@pytest.mark.parametrize(("several", "step"), [(False, SAME_SESSION), (True, SAME_SESSION_FOR_SEVERAL)])
def test_a_near_tie_goes_to_another_conversation(several: bool, step: float) -> None:
    first, near = turn("first", 0.9, 1), turn("near", 0.8, 1)
    within_step, beyond = turn("within", 0.8 - 0.9 * step, 2), turn("beyond", 0.8 - 1.1 * step, 2)

    assert texts(diverse([first, near, within_step], 2, several=several)) == ["first", "within"]
    assert texts(diverse([first, near, beyond], 2, several=several)) == ["first", "near"]


def test_a_question_for_several_things_asks_more_conversations() -> None:
    hits = [turn("a", 0.50, 1), turn("b", 0.49, 1), turn("c", 0.48, 1), turn("d", 0.43, 2)]

    assert texts(diverse(hits, 3, several=False)) == ["a", "b", "c"]
    assert texts(diverse(hits, 3, several=True)) == ["a", "b", "d"]


def test_turns_of_no_conversation_and_facts_do_not_stand_in_each_others_way() -> None:
    same_session = [Hit(replace(FACT, text=text, session_id=1), Score(0.5)) for text in "abc"]
    nowhere = [turn(text, 0.5, None) for text in "def"]

    assert texts(diverse([*same_session, *nowhere], 6, several=True)) == list("abcdef")


@pytest.mark.parametrize(("k", "count"), [(0, 0), (1, 1), (2, 2), (50, 3)])
def test_there_are_no_more_than_asked_for_and_no_more_than_there_are(k: int, count: int) -> None:
    assert len(diverse([turn(text, 0.5, 1) for text in "abc"], k, several=False)) == count


# Within the budget


def surrounded(text: str, before: str = "", after: str = "") -> Hit:
    sides = [(replace(FACT, text=side),) if side else () for side in (before, after)]
    return replace(hit(text), before=sides[0], after=sides[1])


def test_without_a_budget_everything_is_kept() -> None:
    hits = [surrounded("a" * 10_000, "b" * 10_000, "c"), hit("d")]

    assert within(hits, None) == hits


def test_the_turns_around_a_hit_go_before_the_hit_does() -> None:
    full = surrounded("a" * 35, "b" * 35, "c" * 35)  # 10 tokens each
    bare = replace(full, before=(), after=())

    assert within([full], 30) == [full]
    assert within([full], 29) == [bare]
    assert within([full], 10) == [bare]
    assert within([full], 9) == []


def test_what_is_too_long_makes_room_for_what_is_not() -> None:
    assert texts(within([hit("a" * 35), hit("b" * 350), hit("c" * 35)], 20)) == ["a" * 35, "c" * 35]


@pytest.mark.parametrize("tokens", [0, -1])
def test_without_room_nothing_is_kept(tokens: int) -> None:
    assert within([hit("a"), surrounded("b", "c")], tokens) == []


def test_the_best_take_their_room_first_and_all_fit_together() -> None:
    hits = [surrounded("a" * 35, "b" * 35), surrounded("d" * 35, "e" * 35), hit("f" * 35)]

    kept = within(hits, 40)
    spent = sum(estimate_tokens(m.text) for each in kept for m in (*each.before, each.memory, *each.after))

    assert [len(each.before) for each in kept] == [1, 1]
    assert spent == 40
