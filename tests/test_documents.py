"""Cutting documents: nothing is lost, pieces end where a reader would end them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.documents import chunk
from memory.text import clean

LOREM = "The river rises in spring. People move their boats. Children watch the ice. Nobody is afraid of it. "

words = st.text("aбВг.,!?-#*`1 \n", min_size=0, max_size=12)
texts = st.lists(
    st.one_of(
        words,
        st.sampled_from(["\n\n", "\n", "```\n", "# Заголовок\n", "- item\n", ". ", "т. е. ", "! ", " A. "]),
        st.text(max_size=30),
        st.just("x" * 90),
    ),
    max_size=60,
).map("".join)


def bare(text: str) -> str:
    return re.sub(r"\s+", "", text)


def covered(text: str, pieces: list[str]) -> bool:
    """Whether the pieces, in order and each overlapping the one before or touching it, give the text."""
    whole = bare(text)
    reached = {0}  # in a text that repeats itself a piece may stand in several places
    for piece in map(bare, pieces):
        starts = [match.start() for match in re.finditer(f"(?={re.escape(piece)})", whole)]
        ends = {start + len(piece): start for start in starts}
        reached = {end for end, start in ends.items() if any(start <= before <= end for before in reached)}
    return len(whole) in reached


@given(texts, st.integers(10, 120), st.data())
@settings(max_examples=300, deadline=None)
def test_no_text_is_lost_and_no_piece_is_blank_or_too_long(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))

    pieces = chunk(text, size, overlap)

    assert all(piece.strip() for piece in pieces)
    assert all(len(piece) <= size for piece in pieces)
    assert covered(clean(text), pieces)


def test_a_text_that_repeats_itself_is_covered_too() -> None:
    text = "11111?1 1111?1"
    assert covered(text, chunk(text, size=10, overlap=7))


@pytest.mark.parametrize("text", ["", "   ", "\n\n\t\n", "\x00\ud800"])
def test_a_text_without_words_gives_no_piece(text: str) -> None:
    assert chunk(text) == []


def test_a_short_text_stays_whole() -> None:
    assert chunk("One.\n\nTwo.") == ["One.\n\nTwo."]


def test_pieces_end_with_sentences_and_repeat_the_last_one() -> None:
    pieces = chunk(LOREM, size=60, overlap=30)

    assert pieces == [
        "The river rises in spring. People move their boats.",
        "People move their boats. Children watch the ice.",
        "Children watch the ice. Nobody is afraid of it.",
    ]


def test_without_overlap_nothing_is_repeated() -> None:
    assert "".join(bare(piece) for piece in chunk(LOREM * 5, size=100, overlap=0)) == bare(LOREM * 5)


@pytest.mark.parametrize(
    "sentence",
    [
        "Это было в доме им. Горького, т. е. А. С. Пушкин там не жил.",
        "Цена — 5 тыс. Руб. и коп. не считаем, см. Рис. 3 на стр. 12.",
        "Dr. Smith met J. R. Jones at St. Mary's, e.g. Monday, cf. Fig. 3 of vol. II.",
        'Он спросил: "Когда?" и ушёл.',
    ],
)
def test_abbreviations_and_initials_do_not_end_a_sentence(sentence: str) -> None:
    pieces = chunk(f"{sentence} {'Второе предложение тут. ' * 3}", size=len(sentence) + 10, overlap=0)

    assert pieces[0] == sentence


def test_russian_and_english_sentence_ends_are_seen() -> None:
    text = "Правда?! Да… «Конечно.» Ура! It works. Does it? (Yes.) Good."

    assert chunk(text, size=11, overlap=0) == [
        "Правда?!",
        "Да…",
        "«Конечно.»",
        "Ура!",
        "It works.",
        "Does it?",
        "(Yes.)",
        "Good.",
    ]


def test_a_heading_opens_a_piece_and_stays_with_its_text() -> None:
    text = f"# Summer\n{LOREM}\n\n# Winter\n\nIt is cold."

    pieces = chunk(text, size=200, overlap=50)

    assert pieces[0].startswith("# Summer\nThe river")
    assert pieces[-1] == "# Winter\n\nIt is cold."


def test_headings_one_below_the_other_are_not_torn_apart() -> None:
    assert chunk("# Book\n\n## Chapter\n\nText.", size=100, overlap=0) == ["# Book\n\n## Chapter\n\nText."]


def test_list_items_are_kept_whole() -> None:
    items = [f"{number}. Buy the thing number {number} and pay. Then bring it home" for number in range(1, 9)]

    pieces = chunk("\n".join(items), size=120, overlap=0)

    assert all(re.match(r"\d\. ", piece) for piece in pieces)


def test_code_is_cut_between_lines_and_keeps_its_indentation() -> None:
    code = "```python\n" + "\n".join(f"    value_{n} = compute(n). Then" for n in range(20)) + "\n```"

    pieces = chunk(f"See this:\n\n{code}", size=150, overlap=0)

    lines = [line for piece in pieces for line in piece.splitlines()]
    assert [line for line in lines if "value" in line] == [
        line for line in code.splitlines() if "value" in line
    ]


def test_a_sentence_longer_than_a_piece_is_cut_between_words_with_overlap() -> None:
    sentence = " ".join(f"word{number}" for number in range(100))

    pieces = chunk(sentence, size=100, overlap=20)

    assert all(len(piece) <= 100 for piece in pieces)
    assert all(re.fullmatch(r"(word\d+ ?)+", piece) for piece in pieces)
    assert all(piece.split()[0] in pieces[number].split() for number, piece in enumerate(pieces[1:]))


def test_a_word_longer_than_a_piece_is_cut_as_well() -> None:
    assert chunk("x" * 25, size=10, overlap=0) == ["x" * 10, "x" * 10, "x" * 5]


def test_a_large_document_is_cut_in_no_time() -> None:
    assert len(chunk(LOREM * 10_000)) > 1_000
    assert len(chunk("слово" * 100_000)) > 400


@pytest.mark.parametrize(("size", "overlap"), [(10, 10), (0, 0), (10, -1)])
def test_an_impossible_size_is_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="overlap"):
        chunk("text", size, overlap)
