"""That the tables of the project's own set fit together: every fault is told with its file and line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date
from typing import TypeAlias, TypeVar

from benchmarks.own_values import ASKER, NO_THEME, THEMES, TODAY, Fact, Kind, Question, Unanswerable
from memory.text import text_hash

_Item: TypeAlias = Fact | Question | Unanswerable
_From = TypeVar("_From")
_To = TypeVar("_To")


def check(
    facts: Collection[Fact], questions: Collection[Question], unanswerable: Collection[Unanswerable]
) -> None:
    """Raise ValueError for a row that repeats another one or does not fit to the rest."""
    asked: set[str] = set()
    by_line("facts.tsv", facts, _new(set()))
    by_line("questions.tsv", questions, _new(asked))
    by_line("unanswerable.tsv", unanswerable, _new(asked))
    by_id = {fact.id: fact for fact in facts}
    by_line("facts.tsv", facts, lambda fact: _check_fact(fact, by_id))
    by_line("questions.tsv", questions, lambda question: _check_question(question, by_id))
    by_line("unanswerable.tsv", unanswerable, _check_unanswerable)


def by_line(name: str, items: Iterable[_From], do: Callable[[_From], _To]) -> list[_To]:
    """Do it to each line below the header, and add the line to what is said about a fault."""
    done: list[_To] = []
    for line, item in enumerate(items, start=2):
        try:
            done.append(do(item))
        except ValueError as fault:
            raise ValueError(f"{name}:{line}: {fault}") from None
    return done


def _check_fact(fact: Fact, facts: Mapping[str, Fact]) -> None:
    if THEMES.get(fact.theme) is not fact.split:
        raise ValueError(f"the theme {fact.theme!r} is not in the split {fact.split}")
    if fact.said_at.date() > TODAY:
        raise ValueError(f"said after {TODAY}")
    if fact.replaced_by is None:
        return
    newer = facts.get(fact.replaced_by)
    if newer is None or newer.theme != fact.theme or newer.said_at <= fact.said_at:
        raise ValueError(f"replaced by {fact.replaced_by!r}, which is no later fact of the theme")


def _check_question(question: Question, facts: Mapping[str, Fact]) -> None:
    _check_gold(question, facts)
    gold = [facts[fact] for fact in question.gold]
    if question.asker not in [fact.speaker for fact in facts.values()]:
        raise ValueError(f"{question.asker['en']} never says anything")
    if question.kind is Kind.MULTI and len(gold) < 2:
        raise ValueError("a multi question needs several facts")
    if question.kind is Kind.OTHER_SPEAKER and ASKER in [fact.speaker for fact in gold]:
        raise ValueError(f"{ASKER['en']} said that herself")
    if (question.kind is Kind.WINDOWED) != (question.window is not None):
        raise ValueError("a windowed question, and no other, has a window")
    if question.window and not all(_within(fact, question.window) for fact in gold):
        raise ValueError("a fact was said outside of the window")


def _check_gold(question: Question, facts: Mapping[str, Fact]) -> None:
    if len(set(question.gold)) < len(question.gold):
        raise ValueError("a fact is named twice")
    for one in question.gold:
        if one not in facts:
            raise ValueError(f"there is no fact {one!r}")
        if facts[one].replaced_by is not None:
            raise ValueError(f"{one} was replaced and answers nothing")
        if facts[one].split is not question.split:
            raise ValueError(f"{one} is in the other split")


def _within(fact: Fact, window: tuple[date, date]) -> bool:
    first, last = window
    return first <= fact.said_at.date() <= last


def _check_unanswerable(question: Unanswerable) -> None:
    if question.near != NO_THEME and THEMES.get(question.near) is not question.split:
        raise ValueError(f"the theme {question.near!r} is not in the split {question.split}")


def _new(seen: set[str]) -> Callable[[_Item], None]:
    """Return a check that neither id nor wording is in `seen` yet; it adds them."""

    def check_new(item: _Item) -> None:
        for said in (item.id, *map(text_hash, item.text.values())):
            if said in seen:
                raise ValueError(f"{item.id} or its words were there before")
            seen.add(said)

    return check_new
