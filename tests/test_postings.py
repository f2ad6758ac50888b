"""The inverted index in memory, against a dictionary that says the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory.postings import Postings

Texts = list[dict[str, int]]

texts = st.lists(
    st.lists(
        st.dictionaries(st.sampled_from(["a", "ab", "abc", "b", "ба", "бв", "zx-1"]), st.integers(1, 9)),
        max_size=6,
    ),
    max_size=8,
)
"""Some rows at a time, each with its words and how often it has them."""


def added(postings: Postings, rows: Texts, start: int) -> Postings:
    words = list(dict.fromkeys(word for row in rows for word in row))[::-1]
    listed = [(words.index(word), start + at, n) for at, row in enumerate(rows) for word, n in row.items()]
    places, numbers, counts = np.array(listed, np.int64).reshape(-1, 3).T
    return postings.with_added(words, places, numbers.astype(np.int32), counts.astype(np.int32))


def said(postings: Postings) -> dict[str, dict[int, int]]:
    found = {}
    for word in postings.beginning(""):
        rows, counts = postings.find(word)
        assert rows.tolist() == sorted(rows.tolist())
        found[word] = dict(zip(rows.tolist(), counts.tolist(), strict=True))
    return found


@given(texts)
def test_an_index_says_what_was_added_and_older_ones_stay(batches: list[Texts]) -> None:
    postings, truth, start = Postings(), dict[str, dict[int, int]](), 0
    older: list[tuple[Postings, dict[str, dict[int, int]]]] = []
    for rows in batches:
        older.append((postings, said(postings)))
        postings = added(postings, rows, start)
        for at, row in enumerate(rows):
            for word, count in row.items():
                truth.setdefault(word, {})[start + at] = count
        start += len(rows)
    assert said(postings) == truth
    assert list(postings.beginning("ab")) == sorted(word for word in truth if word.startswith("ab"))
    assert postings.find("unknown")[0].size == 0
    assert all(said(each) == before for each, before in older)


def test_however_often_it_is_added_to_there_are_few_segments() -> None:
    postings = Postings()
    for row in range(2_000):
        postings = added(postings, [{"tea": 1, f"word{row % 50}": 1}], row)
    assert len(postings.segments) <= 6
    assert postings.find("tea")[0].tolist() == list(range(2_000))
    assert postings.work_to_add(10**9) == 10**9 + 4_000
    assert postings.nbytes > 2 * 4 * 4_000
