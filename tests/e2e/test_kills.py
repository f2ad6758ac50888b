"""The power goes at every moment of a turn that can be reached from outside: answered once, stored once."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import pytest
import pytest_asyncio

from bot.texts import text as said_by_bot
from tests.e2e.stage import Stage, set_up, until
from tests.fakes.anthropic import Answer, Hold, Request, last_user_words, text, tool_rounds, tool_use
from tests.fakes.telegram import Call, Chat, Message, hang

pytestmark = pytest.mark.asyncio(loop_scope="module")

ONE_MEMORY = said_by_bot("memory-list", "en", count=1)
PARTIAL = 30
"""Deltas after which a part of an answer is on the screen, and a part is not."""


@dataclass(slots=True)
class Turn:
    """One person whose turn is cut off at a moment; `word` stands in everything that is said in it."""

    stage: Stage
    chat: Chat
    word: str
    question: Message

    @property
    def end(self) -> str:
        return f"The end of {self.word}."

    async def hold(self, after: int | None, rounds: int) -> Hold:
        """Let Claude wait after so many deltas of its answer in this round, and return when it does."""
        hold = self.hold_next(after, rounds)
        self.question = await self.chat.send(f"remember {self.word} please")
        await hold.reached()
        return hold

    def hold_next(self, after: int | None, rounds: int) -> Hold:
        def mine(request: Request) -> bool:
            return self.word in last_user_words(request) and tool_rounds(request) == rounds

        return self.stage.api.hold(after, when=mine)

    async def send_until(self, method: str) -> None:
        """Write, and return when the bot has made this call in answer."""
        self.question = await self.chat.send(f"remember {self.word} please")
        await self.called(method)

    async def called(self, method: str) -> None:
        await until(lambda: self.stage.tg.calls_of(method, chat=self.chat))

    def hang(self, method: str, *, applied: bool, words: str = "") -> None:
        """Let the next call of this chat whose text has the words get no response."""

        def mine(call: Call) -> bool:
            return call.chat_id == self.chat.id and words in call.params["text"]

        self.stage.tg.fail(method, hang(applied=applied), when=mine)


Reach: TypeAlias = Callable[[Turn], Awaitable[object]]
"""Writes the message of a turn and returns when it has come as far as the name says."""


async def when_claude_had_been_asked(turn: Turn) -> None:
    await turn.hold(None, 0)


async def in_the_middle_of_a_tool_call(turn: Turn) -> None:
    await turn.hold(3, 0)


async def when_the_tool_had_run(turn: Turn) -> None:
    await turn.hold(None, 1)


async def when_a_part_of_the_answer_was_shown(turn: Turn) -> Hold:
    hold = await turn.hold(PARTIAL, 1)
    await turn.chat.answer_after(turn.question)
    return hold


async def when_the_first_message_was_sent_but_not_shown(turn: Turn) -> None:
    turn.hang("sendMessage", applied=False)
    await turn.send_until("sendMessage")


async def when_the_first_message_was_shown_but_not_confirmed(turn: Turn) -> None:
    turn.hang("sendMessage", applied=True)
    await turn.send_until("sendMessage")


async def when_a_preview_was_shown_but_not_confirmed(turn: Turn) -> None:
    turn.hang("sendMessage", applied=True)
    await turn.hold(PARTIAL, 1)
    await turn.called("sendMessage")


async def when_the_last_edit_was_sent_but_not_shown(turn: Turn) -> None:
    turn.hang("editMessageText", applied=False, words=turn.end)
    (await when_a_part_of_the_answer_was_shown(turn)).release()
    await turn.called("editMessageText")


async def when_the_last_edit_was_shown_but_not_confirmed(turn: Turn) -> None:
    turn.hang("editMessageText", applied=True, words=turn.end)
    (await when_a_part_of_the_answer_was_shown(turn)).release()
    await turn.called("editMessageText")


MOMENTS: tuple[Reach, ...] = (
    when_claude_had_been_asked,
    in_the_middle_of_a_tool_call,
    when_the_tool_had_run,
    when_a_part_of_the_answer_was_shown,
    when_the_first_message_was_sent_but_not_shown,
    when_the_first_message_was_shown_but_not_confirmed,
    when_a_preview_was_shown_but_not_confirmed,
    when_the_last_edit_was_sent_but_not_shown,
    when_the_last_edit_was_shown_but_not_confirmed,
)
STORING = (
    "while_the_tool_was_storing",
    "when_the_answer_was_complete_but_not_stored",
    "when_the_update_was_fetched_but_not_stored",
)
TWICE = "twice_while_the_answer_was_written"
NAMES = (*(reach.__name__ for reach in MOMENTS), *STORING, TWICE)

NEXT = ("Is that true?", "/help")
"""Two messages that wait behind a turn: their answers come after that turn's, whose id is above theirs."""


@dataclass(frozen=True, slots=True)
class Killed:
    """Turns by their moment, and by what was sent, applied or not, what a chat with two messages shows."""

    turns: Mapping[str, Turn]
    pairs: Mapping[tuple[str, bool], Turn]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def killed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Killed]:
    """All turns, a chat each, after one kill that met them all and another one soon after the restart."""
    async with set_up(tmp_path_factory.mktemp("kills")) as stage:
        stage.rules.when("remember", _saving, _answering)
        stage.rules.when(NEXT[0], text("It is as true as can be."))
        turns = {name: _turn(stage, name) for name in NAMES}
        pairs = {(words, applied): _turn(stage, words) for words in NEXT for applied in (True, False)}
        await stage.bot.launch()
        async with asyncio.TaskGroup() as group:
            for reach in MOMENTS:
                group.create_task(_reached(reach, turns[reach.__name__]))
            group.create_task(_reached(when_a_part_of_the_answer_was_shown, turns[TWICE]))
            for (words, applied), turn in pairs.items():
                group.create_task(_until_the_next(turn, words, applied=applied))
        await _kill_while_storing(stage, *(turns[name] for name in STORING))
        again = turns[TWICE].hold_next(PARTIAL, 1)
        await stage.bot.launch()
        await _looked(pairs.values())
        await again.reached()
        await stage.bot.restart()
        await _looked(turns.values())
        yield Killed(turns, pairs)
        stage.forgive_probes()
        stage.check()


async def _kill_while_storing(stage: Stage, tool: Turn, answer: Turn, update: Turn) -> None:
    in_tool, in_answer = await tool.hold(3, 0), await when_a_part_of_the_answer_was_shown(answer)
    with _locked(stage):
        finished = stage.api.finished
        in_tool.release()
        in_answer.release()
        await until(lambda: stage.api.finished == finished + 2)
        update.question = await update.chat.send(f"remember {update.word} please")
        await until(lambda: stage.tg.calls_of("getUpdates")[-1].status)
        await stage.tg.world.changed.quiet(0.3)
        stage.bot.kill()


@contextmanager
def _locked(stage: Stage) -> Iterator[None]:
    """Let nobody write to the database meanwhile."""
    with closing(sqlite3.connect(stage.bot.data / "mnemogram.db", isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")


async def _reached(reach: Reach, turn: Turn) -> None:
    await reach(turn)


async def _until_the_next(turn: Turn, words: str, *, applied: bool) -> None:
    """Let another message wait behind the turn, and return when the bot has sent its answer."""
    hold = await turn.hold(None, 0)
    await turn.chat.send(words)
    turn.hang("sendMessage", applied=applied, words="forget" if words == "/help" else "as can be")
    hold.release()
    await until(lambda: len(turn.stage.tg.calls_of("sendMessage", chat=turn.chat)) == 2)


async def _looked(turns: Iterable[Turn]) -> None:
    async with asyncio.TaskGroup() as group:
        for turn in turns:
            group.create_task(_look(turn))


async def _look(turn: Turn) -> None:
    """Ask for the memories once the answer is there, and keep what is seen after the question."""
    await turn.chat.answer_after(turn.question, 60, containing=turn.end)
    await turn.chat.answer_after(await turn.chat.send("/memory"), 60, containing=ONE_MEMORY)


def _turn(stage: Stage, name: str) -> Turn:
    chat = stage.person()
    return Turn(stage, chat, f"kepler-{chat.id}-", Message(0, chat.id, {}, 0, name))


def _saving(request: Request) -> Answer:
    return tool_use("save_to_memory", {"content": f"Anna thinks of {_word(request)} every day"})


def _answering(request: Request) -> Answer:
    word = _word(request)
    return text(
        f"I have **noted** {word}. " + f"Much is to be said about {word}. " * 20 + f"The end of {word}."
    )


def _word(request: Request) -> str:
    return last_user_words(request).split()[1]


@pytest.mark.parametrize("name", NAMES)
async def test_a_message_is_answered_once_when_the_bot_is_killed(killed: Killed, name: str) -> None:
    turn = killed.turns[name]
    answer, _ = turn.chat.answers_after(turn.question)
    assert answer.text.startswith("I have noted")
    assert answer.text.endswith(turn.end)


@pytest.mark.parametrize("name", NAMES)
async def test_its_fact_is_stored_once(killed: Killed, name: str) -> None:
    turn = killed.turns[name]
    listed = turn.chat.visible[-1].text
    assert listed.startswith(ONE_MEMORY)
    assert listed.count(turn.word) == 1


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("words", NEXT)
async def test_an_unconfirmed_answer_takes_no_earlier_ones_place(
    killed: Killed, words: str, applied: bool
) -> None:
    """A command's answer may come twice then, an answer may not."""
    turn = killed.pairs[words, applied]
    answer, *others = [message.text for message in turn.chat.answers_after(turn.question)]
    following = [text for text in others if not text.startswith(ONE_MEMORY)]
    assert answer.endswith(turn.end)
    assert all("as can be" in text or "forget these" in text for text in following)
    assert len(following) == 1 or (words == "/help" and following)
