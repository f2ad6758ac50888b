"""Whatever is asked of whatever a chat holds: a clear result, in no time, and never a foreign memory."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.search import MAX_HITS
from memory.selection import SAME_SESSION_FOR_SEVERAL
from memory.text import clean
from memory.tokens import estimate_tokens
from memory.types import Hit, MemoryType, Origin, Status, Where
from tests.contracts.chats import open_session
from tests.fakes.clock import NOON
from tests.fakes.embedder import HashEmbedder
from tests.recall import CHAT, OTHER_CHAT, Recall, open_recall


@pytest.fixture
async def recall(tmp_path: Path) -> AsyncIterator[Recall]:
    async with open_recall(tmp_path, HashEmbedder()) as recall:
        yield recall


DOG = "мою собаку зовут Бублик"
FACTS = (DOG, "У меня аллергия на арахис", "I live in Omsk", "Номер заказа ZX-4471", "🙂")


@pytest.mark.parametrize(
    "text", ["", "   ", "🙂🎉", "?!…", "\ud800", "\x00", "\n\t\u200b", "—", "\udc00\ud800 \x00"]
)
async def test_asking_nothing_finds_nothing(recall: Recall, text: str) -> None:
    await recall.remember(*FACTS)

    assert await recall.texts(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "кто я и где?",
        "и не в",
        "the of and",
        "Бублик \ud83d",
        "Буб\x00лик",
        "вчера",
        "İ",
        "%",
        "' OR 1=1 --",
        "*:^(",
    ],
)
async def test_odd_questions_are_answered_like_others(recall: Recall, text: str) -> None:
    await recall.remember(DOG)

    assert len(await recall.texts(text)) == (1 if any(map(str.isalnum, text)) else 0)


async def test_what_a_question_cannot_hold_is_not_part_of_it(recall: Recall) -> None:
    await recall.remember(*FACTS)

    assert await recall.hits("\x00Буб\x00лик\ud800") == await recall.hits("Бублик")


MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        "слово " * 10_000,
        " ".join(map(str, range(10_000))),
        "Бублик " * 150_000,
        "x" * MEGABYTE,
        "ж" * MEGABYTE,
        "\ud800\x00" * (MEGABYTE // 2),
        "🙂" * MEGABYTE,
        "вчера " * 170_000,
        "Аня " * 250_000,
        "ZX-" * 330_000,
        " ".join(f"Shchya{number}eiou" for number in range(80_000)),
        "漢字" * (MEGABYTE // 2),
    ],
    ids=range(12),
)
@pytest.mark.parametrize("asker", ["", "Аня"])
async def test_a_question_of_any_length_is_answered_in_no_time(recall: Recall, text: str, asker: str) -> None:
    await recall.remember(*FACTS)
    await recall.talk("Аня: Как зовут пса?", "Илья: Бублик")
    started = time.process_time()

    hits = await recall.hits(text, asker=asker, neighbours=1)

    assert time.process_time() - started < 2
    assert all(hit.memory.chat_id == CHAT for hit in hits)


@pytest.mark.parametrize(("k", "found"), [(0, 0), (-1, 0), (-(10**9), 0), (3, 3), (10_000, 5), (10**18, 5)])
async def test_any_number_of_hits_may_be_asked_for(recall: Recall, k: int, found: int) -> None:
    await recall.remember(*FACTS)

    assert len(await recall.texts("что ты знаешь?", k=k)) == found


@pytest.mark.parametrize(
    "where",
    [
        Where(since=NOON, until=NOON - timedelta(seconds=1)),
        Where(since=NOON, until=NOON),
        Where(since=datetime.max.replace(tzinfo=UTC), until=datetime.min.replace(tzinfo=UTC)),
        Where(speaker="'; DROP TABLE memories"),
        Where(speaker="\ud800"),
        Where(session_id=-1),
        Where(session_id=10**30),
    ],
    ids=str,
)
async def test_filters_that_nothing_can_fit_find_nothing(recall: Recall, where: Where) -> None:
    await recall.remember(*FACTS)

    assert await recall.texts("Бублик", where) == []


@pytest.mark.parametrize(
    "where", [Where(since=datetime.min.replace(tzinfo=UTC)), Where(until=datetime.max.replace(tzinfo=UTC))]
)
async def test_the_ends_of_time_are_moments_like_others(recall: Recall, where: Where) -> None:
    await recall.remember(DOG)

    assert await recall.texts("Бублик", where) == [DOG]


@pytest.mark.parametrize("zone", ["Asia/Vladivostok", "Pacific/Kiritimati", "America/Anchorage"])
@pytest.mark.parametrize("text", ["вчера Бублик", "3 days before New Year Бублик", "в 0001 году Бублик"])
async def test_a_time_may_be_asked_for_anywhere(recall: Recall, text: str, zone: str) -> None:
    await recall.remember(DOG)

    assert await recall.texts(text, zone=ZoneInfo(zone)) == [DOG]


@pytest.mark.parametrize("neighbours", [-1, 0, 10**6])
@pytest.mark.parametrize("tokens", [-1, 0, 10**9, None])
async def test_neighbours_and_budget_may_be_any_number(
    recall: Recall, neighbours: int, tokens: int | None
) -> None:
    await recall.talk("Аня: Как зовут пса?", "Илья: Бублик")

    hits = await recall.hits("Бублик", neighbours=neighbours, tokens=tokens)

    assert len(hits) == (2 if tokens is None or tokens > 0 else 0)


async def test_a_chat_that_was_never_heard_of_has_nothing(recall: Recall) -> None:
    for chat_id in (0, -1, 2**40, -(2**40)):
        assert await recall.texts("Бублик", chat_id=chat_id) == []


async def test_many_questions_at_once_get_the_answers_of_one_after_another(recall: Recall) -> None:
    await recall.remember(*FACTS)
    search = recall.search()
    texts = ["Бублик", "арахис", "Omsk", "заказ ZX-4471"] * 5

    at_once = await asyncio.gather(*(recall.hits(text, search=search) for text in texts))

    assert at_once == [await recall.hits(text) for text in texts]


# Any chat, any question


@dataclass(frozen=True, slots=True)
class Told:
    """A memory of one of two chats. `link` says how many places before it that one lies which it links."""

    text: str
    chat_id: int
    type: MemoryType
    origin: Origin
    speaker: str
    hours: int
    importance: float
    bare: bool
    gone: bool
    link: int
    new_session: bool


WORDS = (
    *(
        "собака",
        "Бублик",
        "не",
        "любит",
        "Аня",
        "Dasha",
        "I",
        "my",
        "dog",
        "called",
        "where",
        "is",
        "it?",
        "вчера",
    ),
    *(
        "ZX-4471",
        "ZX-44",
        "in",
        "June",
        "три",
        "🙂",
        "чай",
        "Bublik",
        "last week",
        "how many",
        "какие",
        "x",
        "?",
    ),
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join) | st.text(max_size=12)
TOLD = st.builds(
    Told,
    text=TEXTS.filter(clean),
    chat_id=st.sampled_from((CHAT, CHAT, CHAT, OTHER_CHAT)),
    type=st.sampled_from((MemoryType.TURN, *MemoryType)),
    origin=st.sampled_from(Origin),
    speaker=st.sampled_from(("", "Аня", "Dasha", "Илья Петров")),
    hours=st.integers(-10_000, 100),
    importance=st.floats(0, 1),
    bare=st.booleans(),
    gone=st.sampled_from((False, False, False, True)),
    link=st.integers(0, 3),
    new_session=st.sampled_from((False, False, True)),
)
QUESTIONS = st.fixed_dictionaries(
    {
        "text": TEXTS,
        "k": st.sampled_from((-1, 0, 1, 2, 8, 10_000)),
        "floor": st.sampled_from((0.0, 0.0, 0.08, 0.2, 1.0)),
        "asker": st.sampled_from(("", "Аня", "nobody")),
        "neighbours": st.integers(0, 2),
        "tokens": st.none() | st.integers(0, 60),
    }
)
WHERES = st.builds(
    Where,
    types=st.sampled_from(((), (), (MemoryType.TURN,), (MemoryType.FACT, MemoryType.PREFERENCE))),
    speaker=st.sampled_from(("", "", "Аня")),
    since=st.none() | st.just(NOON - timedelta(days=30)),
    until=st.none() | st.just(NOON),
)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(TOLD, min_size=1, max_size=12),
    st.lists(QUESTIONS, min_size=1, max_size=4),
    WHERES,
    st.booleans(),
)
def test_every_hit_is_an_active_memory_of_the_chat_that_fits_what_was_asked(
    told: list[Told], questions: list[dict[str, Any]], where: Where, embedded: bool
) -> None:
    async def check() -> None:
        with tempfile.TemporaryDirectory() as directory:
            async with open_recall(Path(directory), HashEmbedder()) as recall:
                await tell(recall, told)
                for question in questions:
                    first, again = [
                        await recall.hits(
                            **question, where=where, search=recall.search() if embedded else recall.by_words()
                        )
                        for _ in range(2)
                    ]
                    assert first == again
                    check_hits(first, where, **question)

    asyncio.run(check())


async def tell(recall: Recall, told: list[Told]) -> None:
    """Store them in their order, and forget some of them."""
    sessions: dict[int, int] = {}
    ids: list[int] = []
    for each in told:
        if each.new_session or each.chat_id not in sessions:
            sessions[each.chat_id] = await open_session(recall.database, chat_id=each.chat_id)
        [memory_id] = await recall.remember(
            each.text,
            chat_id=each.chat_id,
            vector=not each.bare,
            type=each.type,
            origin=each.origin,
            speaker=each.speaker,
            importance=each.importance,
            valid_from=NOON + timedelta(hours=each.hours),
            session_id=sessions[each.chat_id],
        )
        ids.append(memory_id)
        if each.chat_id == CHAT and 0 < each.link < len(ids):
            await recall.link(memory_id, ids[-1 - each.link])
    for each, memory_id in zip(told, ids, strict=True):
        if each.gone:
            await recall.memories.hide(each.chat_id, [memory_id], NOON + timedelta(minutes=10))


def check_hits(
    hits: list[Hit],
    where: Where,
    *,
    text: str,
    k: int,
    floor: float,
    asker: str,
    neighbours: int,
    tokens: int | None,
) -> None:
    shown = [memory for hit in hits for memory in (*hit.before, hit.memory, *hit.after)]
    ids = [hit.memory.id for hit in hits]
    assert all(memory.chat_id == CHAT and memory.status is Status.ACTIVE for memory in shown)
    assert len(set(ids)) == len(ids) <= max(0, min(k, MAX_HITS))
    assert all(fits(hit, where) and floor <= hit.score.relevance for hit in hits)
    assert all(
        0 <= part <= 1 for hit in hits for part in (hit.score.total, hit.score.relevance, hit.score.words)
    )
    for hit in hits:
        beside = [*hit.before, *hit.after]
        assert max(len(hit.before), len(hit.after)) <= neighbours
        assert [each.id for each in (*hit.before, hit.memory, *hit.after)] == sorted(
            each.id for each in (*beside, hit.memory)
        )
        assert all(each.session_id == hit.memory.session_id and each.id not in ids for each in beside)
    assert tokens is None or sum(estimate_tokens(memory.text) for memory in shown) <= tokens
    for place, (better, worse) in enumerate(pairwise(hits), start=1):
        assert worse.score.total <= better.score.total + SAME_SESSION_FOR_SEVERAL * place


def fits(hit: Hit, where: Where) -> bool:
    memory = hit.memory
    return (
        (not where.types or memory.type in where.types)
        and (not where.speaker or memory.speaker == where.speaker)
        and (where.since is None or memory.valid_from >= where.since)
        and (where.until is None or memory.valid_from < where.until)
    )
