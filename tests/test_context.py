"""The budget of a request: estimates, big steps of trimming, and a start that stays where it is."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.context import build_request, shrunk, trimmed_history
from bot.ports import ModelRequest, PastMessage, TurnInput
from bot.prompts import SYSTEM
from bot.tool_arguments import TOOL_SPECS
from memory.tokens import estimate_tokens
from memory.types import Hit, Memory, MemoryType, Origin, Role, Score, Status

NOW = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)


def turn(text: str = "What is new?", recalled: tuple[Hit, ...] = ()) -> TurnInput:
    return TurnInput(text, "Ann", NOW, NOW, "en", profile="", recalled=recalled)


def talk(turns: int, chars: int = 100) -> list[PastMessage]:
    return [
        PastMessage(role, f"{number} {role} ".ljust(chars, "x"))
        for number in range(turns)
        for role in (Role.USER, Role.ASSISTANT)
    ]


def built(history: list[PastMessage], said: TurnInput, context_tokens: int) -> ModelRequest:
    return build_request(1, SYSTEM, TOOL_SPECS, history, said, context_tokens=context_tokens, max_tokens=1000)


def total_tokens(history: tuple[PastMessage, ...]) -> int:
    return sum(estimate_tokens(message.text) for message in history)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a" * 35, 10), ("я" * 20, 10), ("я" * 20 + "a" * 35, 20), ("日本語", 3), ("🙂", 1)],
)
def test_tokens_are_estimated_by_script(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_a_history_that_fits_is_kept_whole() -> None:
    history = talk(10)

    assert trimmed_history(history, 10_000) == tuple(history)


def test_the_start_moves_rarely_and_then_far() -> None:
    history = talk(200)
    starts = []
    for turns in range(1, 201):
        window = trimmed_history(history[: 2 * turns], 2_000)
        starts.append(history.index(window[0]))

    moves = [(before, after) for before, after in itertools.pairwise(starts) if before != after]
    assert starts == sorted(starts)
    assert len(moves) < 20
    assert all(after - before >= 16 for before, after in moves)


def test_between_two_moves_each_history_continues_the_last_one() -> None:
    history = talk(100)
    windows = [trimmed_history(history[: 2 * turns], 2_000) for turns in range(1, 101)]

    for before, after in itertools.pairwise(windows):
        if before[0] == after[0]:
            assert after[: len(before)] == before


@given(
    st.lists(st.tuples(st.sampled_from(Role), st.text(alphabet="ab яж\n\ud800", max_size=200)), max_size=40),
    st.integers(min_value=0, max_value=600),
)
def test_a_trimmed_history_alternates_begins_with_the_person_and_fits(
    messages: list[tuple[Role, str]], budget: int
) -> None:
    window = trimmed_history([PastMessage(role, text) for role, text in messages], budget)

    roles = [message.role for message in window]
    assert all(before is not after for before, after in itertools.pairwise(roles))
    assert not roles or roles[0] is Role.USER
    assert all(message.text.strip() for message in window)
    assert total_tokens(window) <= budget
    "".join(message.text for message in window).encode()


def test_one_huge_message_does_not_push_out_the_rest() -> None:
    history = [
        *talk(2),
        PastMessage(Role.USER, "BEGIN" + "x" * 100_000 + "END"),
        PastMessage(Role.ASSISTANT, "I see."),
    ]

    window = trimmed_history(history, 2_000)

    assert len(window) == 6
    assert window[4].text.startswith("BEGIN")
    assert window[4].text.endswith("END")
    assert "[…]" in window[4].text


def test_a_request_fits_into_its_budget() -> None:
    request = built(talk(500), turn(), 8_000)

    assert 1_000 < total_tokens(request.history) < 5_000
    assert request.history[0].role is Role.USER


def test_a_long_message_takes_its_room_from_the_history_for_this_once() -> None:
    history = talk(500)

    usual = built(history, turn(), 8_000)
    crowded = built(history, turn("word " * 4_000), 8_000)
    usual_again = built(history, turn(), 8_000)

    assert len(crowded.history) < len(usual.history)
    assert usual_again == usual


def test_the_size_of_a_message_does_not_move_the_start_as_long_as_it_fits() -> None:
    history = talk(100)

    short, longer = (built(history, turn("word " * count), 8_000) for count in (1, 300))

    assert short.history == longer.history


def test_shrinking_halves_the_history_then_drops_what_was_recalled_then_gives_up() -> None:
    known = Memory(1, 1, MemoryType.FACT, "x", Origin.PERSON, Status.ACTIVE, NOW, NOW, revision=1)
    request: ModelRequest | None = built(talk(3), turn(recalled=(Hit(known, Score(total=1.0)),)), 60_000)

    sizes = []
    while request is not None:
        sizes.append((len(request.history), len(request.turn.recalled)))
        request = shrunk(request)

    assert sizes == [(6, 1), (2, 1), (0, 1), (0, 0)]
