"""One chat's updates are handled in order, chats side by side, and a stop loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from bot.background import Background
from handlers.queues import Queues, Track, Work

ANNA, BORIS = 1, 2


class Hands:
    """Does the work one step at a time: each waits until the test lets it go, and fails so often before."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.free = asyncio.Event()
        self.failures = 0
        self._changed = asyncio.Condition()

    async def handle(self, work: Work) -> bool:
        self.begun.append(work.item_id)
        await self._tell()
        await self.free.wait()
        if self.failures:
            self.failures -= 1
            return False
        self.ended.append(work.item_id)
        await self._tell()
        return True

    async def until_begun(self, *items: int) -> None:
        await self._until(lambda: set(items) <= set(self.begun))

    async def until_ended(self, *items: int) -> None:
        await self._until(lambda: set(items) <= set(self.ended))

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _until(self, check: Callable[[], bool]) -> None:
        async with asyncio.timeout(5), self._changed:
            await self._changed.wait_for(check)


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    background = Background()
    yield background
    await background.close()


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def queues(hands: Hands, background: Background) -> Queues:
    return Queues(hands.handle, background.start)


def said(item_id: int, words: str = "hello", chat_id: int = ANNA) -> Work:
    return Work(item_id, chat_id, {"update_id": item_id, "message": {"text": words, "chat": {"id": chat_id}}})


async def test_a_chats_updates_are_handled_one_after_another(queues: Queues, hands: Hands) -> None:
    for number in (1, 2, 3):
        queues.put(said(number))
    await hands.until_begun(1)
    assert hands.begun == [1]

    hands.free.set()
    await hands.until_ended(3)

    assert hands.ended == [1, 2, 3]


async def test_chats_do_not_wait_for_each_other(queues: Queues, hands: Hands) -> None:
    queues.put(said(1))
    queues.put(said(2, chat_id=BORIS))

    await hands.until_begun(1, 2)

    assert queues.is_busy(ANNA)
    assert queues.is_busy(BORIS)
    assert not queues.is_busy(3)


@pytest.mark.parametrize("words", ["/stop", "/STOP", "/stop@some_bot", "/stop now"])
async def test_stop_goes_past_what_is_being_worked_on(queues: Queues, hands: Hands, words: str) -> None:
    queues.put(said(1))
    queues.put(said(2, words))

    await hands.until_begun(1, 2)


async def test_a_button_goes_past_what_is_being_worked_on(queues: Queues, hands: Hands) -> None:
    queues.put(said(1))
    queues.put(Work(2, ANNA, {"update_id": 2, "callback_query": {"id": "9"}}))

    await hands.until_begun(1, 2)


async def test_buttons_of_a_chat_are_handled_one_after_another(queues: Queues, hands: Hands) -> None:
    for number in (1, 2):
        queues.put(Work(number, ANNA, {"update_id": number, "callback_query": {"id": "9"}}))
    await hands.until_begun(1)
    assert hands.begun == [1]

    hands.free.set()
    await hands.until_ended(2)

    assert hands.ended == [1, 2]


@pytest.mark.parametrize("words", ["/stopping", "stop", "/start"])
def test_other_words_wait_for_their_turn(words: str) -> None:
    assert said(1, words).track is Track.TURN


async def test_an_empty_queue_leaves_nothing_behind(queues: Queues, hands: Hands) -> None:
    hands.free.set()
    queues.put(said(1))
    await hands.until_ended(1)
    await asyncio.sleep(0)
    assert not queues.is_busy(ANNA)

    queues.put(said(2))
    await hands.until_ended(2)


async def test_only_so_many_chats_are_answered_at_once_while_buttons_go_past(
    hands: Hands, background: Background
) -> None:
    queues = Queues(hands.handle, background.start, turns_at_once=2)
    for number in (1, 2, 3):
        queues.put(said(number, chat_id=number))
    queues.put(Work(4, 3, {"update_id": 4, "callback_query": {"id": "9"}}))
    await hands.until_begun(1, 2, 4)
    assert 3 not in hands.begun

    hands.free.set()
    await hands.until_ended(3)


async def test_what_could_not_be_dealt_with_is_tried_again_before_what_came_later(
    hands: Hands, background: Background
) -> None:
    failures: list[int] = []

    def none(many: int) -> float:
        failures.append(many)
        return 0

    queues = Queues(hands.handle, background.start, pause_seconds=none)
    hands.failures = 3
    hands.free.set()
    queues.put(said(1))
    queues.put(said(2))
    await hands.until_ended(2)

    assert hands.begun == [1, 1, 1, 1, 2]
    assert failures == [0, 1, 2]


async def test_draining_does_not_wait_for_another_attempt(hands: Hands, background: Background) -> None:
    queues = Queues(hands.handle, background.start, pause_seconds=lambda _: 60)
    hands.failures = 1
    hands.free.set()
    queues.put(said(1))
    queues.put(said(2))
    await hands.until_begun(1)

    await asyncio.wait_for(queues.drain(60), timeout=1)

    assert hands.begun == [1]


async def test_draining_lets_the_running_turn_end_and_begins_no_other(queues: Queues, hands: Hands) -> None:
    queues.put(said(1))
    queues.put(said(2))
    await hands.until_begun(1)

    async with asyncio.TaskGroup() as group:
        group.create_task(queues.drain(5))
        await asyncio.sleep(0)
        queues.put(said(3))
        hands.free.set()

    assert (hands.begun, hands.ended) == ([1], [1])


async def test_draining_cuts_off_what_takes_too_long(queues: Queues, hands: Hands) -> None:
    queues.put(said(1))
    queues.put(said(2, "/stop"))
    await hands.until_begun(1, 2)

    await queues.drain(0.01)

    assert hands.ended == []
    assert not queues.is_busy(ANNA)


async def test_draining_nothing_returns_at_once(queues: Queues) -> None:
    await asyncio.wait_for(queues.drain(60), timeout=1)
