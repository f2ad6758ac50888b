"""The project's own questions: enough of them, labelled right, and a loader that says where a fault is."""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.own_set import (
    ASKER,
    FOLDER,
    LANGUAGES,
    NO_THEME,
    THEMES,
    Kind,
    OwnSet,
    Split,
    Unanswerable,
    load,
)
from memory.text import stems, text_hash

FACTS, QUESTIONS, UNANSWERABLE = "facts.tsv", "questions.tsv", "unanswerable.tsv"


@pytest.fixture(scope="module")
def own() -> OwnSet:
    return load()


def words_of_floor_set() -> set[str]:
    """The hashes of all sentences that the relevance floor is calibrated with."""
    tables = sorted(FOLDER.parent.glob("floor_*.tsv"))
    assert tables
    return {
        text_hash(cell)
        for table in tables
        for cells in csv.reader(table.read_text(encoding="utf-8").splitlines()[1:], delimiter="\t")
        for cell in cells
    }


def near(own: OwnSet, split: Split) -> list[Unanswerable]:
    return [question for question in own.unanswerable if question.split is split]


def test_every_theme_has_enough_facts_and_questions(own: OwnSet) -> None:
    facts = Counter(fact.theme for fact in own.facts.values())
    questions = Counter(own.facts[question.gold[0]].theme for question in own.questions)

    assert set(facts) == set(questions) == set(THEMES)
    assert min(facts.values()) >= 14
    assert min(questions.values()) >= 15
    assert len(own.questions) >= 180
    assert len(own.unanswerable) >= 150


def test_every_kind_is_asked_in_both_halves(own: OwnSet) -> None:
    asked = {(question.kind, question.split) for question in own.questions}

    assert asked == {(kind, split) for kind in Kind for split in Split}
    assert sum(len(question.gold) > 1 for question in own.questions) >= 30


def test_the_halves_share_no_theme_and_no_fact(own: OwnSet) -> None:
    themes = {split: {fact.theme for fact in own.facts.values() if fact.split is split} for split in Split}
    gold = {split: {one for q in own.questions if q.split is split for one in q.gold} for split in Split}

    assert len(themes[Split.TUNE]) == len(themes[Split.TEST]) == 6
    assert not themes[Split.TUNE] & themes[Split.TEST]
    assert not gold[Split.TUNE] & gold[Split.TEST]


def test_unanswerable_questions_are_split_evenly_and_brush_every_theme(own: OwnSet) -> None:
    tune, test = near(own, Split.TUNE), near(own, Split.TEST)

    assert len(tune) == len(test)
    assert {question.near for question in tune + test} == {*THEMES, NO_THEME}
    assert sum(question.near == NO_THEME for question in own.unanswerable) < len(own.unanswerable) / 2


def test_a_contradiction_asks_for_a_fact_that_replaced_another(own: OwnSet) -> None:
    newer = {fact.replaced_by for fact in own.facts.values()} - {None}

    asked = {
        one for question in own.questions if question.kind is Kind.CONTRADICTION for one in question.gold
    }

    assert asked == newer


def test_a_paraphrase_shares_no_word_with_its_facts(own: OwnSet) -> None:
    shared = {
        question.text[language]
        for question in own.questions
        for language in LANGUAGES
        for fact in question.gold
        if question.kind is Kind.PARAPHRASE
        and {*stems(question.text[language])} & {*stems(own.facts[fact].text[language])}
    }

    assert shared == set()


def test_others_than_the_asker_say_some_of_it_and_ask_some_of_it(own: OwnSet) -> None:
    speakers = Counter(fact.speaker["en"] for fact in own.facts.values())
    askers = Counter(question.asker["en"] for question in own.questions)

    assert set(speakers) == set(askers)
    assert speakers.most_common(1)[0][0] == askers.most_common(1)[0][0] == ASKER["en"]


def test_what_is_said_is_spread_over_three_years(own: OwnSet) -> None:
    days = sorted(fact.said_at for fact in own.facts.values())

    assert (days[-1] - days[0]).days > 1000
    assert {(day.year, day.month > 6) for day in days} >= {
        (year, late) for year in (2024, 2025, 2026) for late in (False, True)
    }


def test_no_sentence_is_shared_with_the_set_that_calibrates_the_floor(own: OwnSet) -> None:
    texts = [
        *(fact.text for fact in own.facts.values()),
        *(question.text for question in own.questions),
        *(question.text for question in own.unanswerable),
    ]

    assert not words_of_floor_set() & {text_hash(said) for text in texts for said in text.values()}


@pytest.mark.parametrize(
    ("table", "old", "new", "fault"),
    [
        (FACTS, "speaker_ru", "speaker", r"facts.tsv:1: the columns must be id theme"),
        (FACTS, "\twork-02\n", "\tpets-02\n", r"facts.tsv:21: replaced by 'pets-02'"),
        (FACTS, "\t2024-01-14\t", "\t2027-01-14\t", r"facts.tsv:3: said after"),
        (FACTS, "\t2024-01-14\t", "\tyesterday\t", r"facts.tsv:3: "),
        (FACTS, "У папы на пасеке восемь ульев", "Eight hives", r"facts.tsv:5: fact_ru is not in its"),
        (FACTS, "У папы на пасеке восемь ульев", "", r"facts.tsv:5: fact_ru is not in its language"),
        (FACTS, "family\ttune", "family\ttest", r"facts.tsv:2: the theme 'family' is not in the split"),
        (FACTS, "\tfact\t", "\tgossip\t", r"facts.tsv:2: 'gossip'"),
        (FACTS, "family-02\t", "family-01\t", r"facts.tsv:3: family-01 or its words"),
        (QUESTIONS, "\tfamily-01\t", "\tfamily-99\t", r"questions.tsv:2: there is no fact 'family-99'"),
        (QUESTIONS, "\tfamily-01\t", "\ttravel-01\t", r"questions.tsv:2: travel-01 is in the other split"),
        (QUESTIONS, "\tfamily-01\t", "\tfamily-04\t", r"questions.tsv:2: family-04 was replaced"),
        (QUESTIONS, "\tfamily-01,family-02\t", "\tfamily-01\t", r"questions.tsv:21: a multi question"),
        (
            QUESTIONS,
            "\tfamily-01,family-02\t",
            "\tfamily-01,family-01\t",
            r"questions.tsv:21: a fact is named",
        ),
        (QUESTIONS, "\t2026-11-23\t2026-11-29\t", "\t\t\t", r"questions.tsv:15: a windowed question"),
        (QUESTIONS, "\t2026-11-23\t", "\t\t", r"questions.tsv:15: a window needs both"),
        (QUESTIONS, "\t2026-11-23\t", "\t2026-11-28\t", r"questions.tsv:15: a fact was said outside"),
        (QUESTIONS, "other-speaker\tfamily-11", "other-speaker\tfamily-01", r"questions.tsv:11: Vera said"),
        (QUESTIONS, "Вера\tVera", "Вера\tInga", r"questions.tsv:2: Inga never says anything"),
        (QUESTIONS, "как зовут племянников?", "как зовут племянников? ", r"questions.tsv:4: spaces around"),
        (QUESTIONS, "как зовут племянников?", "в каком городе живёт Даша", r"questions.tsv:4: family-q03 or"),
        (UNANSWERABLE, "\tfamily\t", "\tfishing\t", r"unanswerable.tsv:2: the theme 'fishing'"),
        (UNANSWERABLE, "как зовут моего брата?", "как зовут племянников?", r"unanswerable.tsv:2: family-u01"),
        (UNANSWERABLE, "\tfamily\t", "\t", r"unanswerable.tsv:2: 4 cells, the header has 5"),
    ],
)
def test_a_fault_is_told_with_its_file_and_line(
    tmp_path: Path, table: str, old: str, new: str, fault: str
) -> None:
    folder = Path(shutil.copytree(FOLDER, tmp_path / "own"))
    text = (folder / table).read_text(encoding="utf-8")
    assert old in text
    (folder / table).write_text(text.replace(old, new, 1), encoding="utf-8")

    with pytest.raises(ValueError, match=fault):
        load(folder)
