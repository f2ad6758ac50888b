"""One turn of a conversation, from a message to its delivered answer, safe to repeat after a crash."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from zoneinfo import ZoneInfo

from bot.background import Background
from bot.context import build_request
from bot.loop import Limits, OnText, OnUsage, TurnResult, run_turn
from bot.metrics import Metrics
from bot.ports import ChatModel, ModelError, PastMessage, PromptTooLong, Reply, ToolCall, TurnInput
from bot.prompts import SYSTEM, words_of
from bot.tally import closed
from bot.texts import known_language, text, whole_minutes
from bot.tools import Toolbox, TurnScope
from memory.errors import StorageError
from memory.ports import Clock
from memory.search import RELEVANT
from memory.service import MemoryService
from memory.sessions import Sessions, Turn
from memory.text import clean, language_of
from memory.tokens import estimate_tokens
from memory.types import Hit, Incoming, Message, Query
from memory.usage import Usage

log = logging.getLogger(__name__)

RECALL_SECONDS = 5.0
"""After so long an answer is better without memories than none."""

_KEPT = ("answered", "cut", "empty")
"""The outcomes that later prompts may repeat."""

STOPPED_MARK = "⏹"
"""Stands at the end of an answer that the person stopped."""


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """What of the configuration a turn needs."""

    idle: timedelta
    undo: timedelta
    zone: ZoneInfo
    recall_k: int
    recall_tokens: int
    neighbours: int
    context_tokens: int
    max_tokens: int
    history_messages: int
    limits: Limits


@dataclass(slots=True)
class _Running:
    """An answer that is being written: the task that can be stopped, its text and its cost so far."""

    task: asyncio.Task[TurnResult | ModelError] | None = None
    answered: str = ""
    stopped: bool = False
    usages: list[Usage] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a person is told. The `notice` above and the `remark` below are no part of what was answered."""

    text: str
    notice: str = ""
    remark: str = ""
    outcome: str = "answered"
    recalled: tuple[int, ...] = ()  # the memories that it may rest on

    @property
    def shown(self) -> str:
        return "\n\n".join(filter(None, (self.notice, self.text, self.remark)))


class Conversation:
    """Answers messages. One chat's messages are handed in one after another; different chats side by side."""

    def __init__(
        self,
        sessions: Sessions,
        memory: MemoryService,
        model: ChatModel,
        offline: ChatModel,
        *,
        clock: Clock,
        background: Background,
        metrics: Metrics,
        settings: TurnSettings,
    ) -> None:
        """`offline` answers when `model` cannot; without a key both are the same."""
        self._sessions = sessions
        self._memory = memory
        self._model = model
        self._offline = offline
        self._clock = clock
        self._background = background
        self._metrics = metrics
        self._settings = settings
        self._running: dict[tuple[int, int], _Running] = {}

    async def answer(self, incoming: Incoming, reply: Reply) -> None:
        """Answer one message and return when the answer is delivered.

        The same message again, after a crash or a redelivery, is answered once: a stored answer is only
        delivered, and what an interrupted attempt had saved is taken back before the next one.
        """
        turn = await self._sessions.begin_turn(incoming, self._settings.idle)
        if turn.answer:
            stored, shown = turn.answer, turn.answer.text
        else:
            stored, shown = await self._compose(turn, incoming, reply)
        if not stored.delivered:
            with self._metrics.stage("deliver"):
                await reply.finish(shown or text("conversation-erased", _language(turn, incoming)))
            await self._sessions.mark_delivered(stored.chat_id, stored.id)

    def stop(self, chat_id: int, thread_id: int) -> bool:
        """End the answer that is being written there; what was written is kept. False when there is none."""
        running = self._running.get((chat_id, thread_id))
        if running is None or running.stopped:
            return False
        running.stopped = True
        if running.task:
            running.task.cancel()
        return True

    async def _compose(self, turn: Turn, incoming: Incoming, reply: Reply) -> tuple[Message, str]:
        """Write the answer and store it with what it cost; return it, and what the person gets to see."""
        place = (incoming.chat_id, incoming.thread_id)
        running = self._running[place] = _Running()
        try:
            if turn.resumed:
                await self._memory.withdraw(incoming.chat_id, turn.message.id)
            answer = await self._respond(turn, incoming, reply, running)
        finally:
            del self._running[place]
        self._metrics.turns.labels(answer.outcome).inc()
        for usage in running.usages:
            self._metrics.spent(usage)
        return await self._store(turn, answer, running.usages), answer.shown

    async def _store(self, turn: Turn, answer: _Answer, usages: Sequence[Usage]) -> Message:
        if answer.outcome not in _KEPT:
            await self._memory.withdraw(turn.message.chat_id, turn.message.id)
            return await self._sessions.discard(turn, answer.shown, usages)
        tokens = estimate_tokens(answer.text)
        return await self._sessions.finish_turn(turn, answer.text, tokens, usages, answer.recalled)

    async def _respond(self, turn: Turn, incoming: Incoming, reply: Reply, running: _Running) -> _Answer:
        if not turn.message.text:
            key = "conversation-erased" if clean(incoming.text) else "conversation-empty"
            return _Answer(text(key, _language(turn, incoming)), outcome="erased")
        with self._metrics.stage("recall"):
            now = await self._input(turn, incoming)
        with self._metrics.stage("model"):
            result = await self._stoppable(self._model, turn, now, reply, running)
            if isinstance(result, ModelError):
                return await self._without_model(result, turn, now, reply, running)
        return self._answer(result, now)

    async def _without_model(
        self, error: ModelError, turn: Turn, now: TurnInput, reply: Reply, running: _Running
    ) -> _Answer:
        """Let the notebook answer in the model's place, and say so."""
        chat_id = turn.message.chat_id
        self._metrics.failed("model", error)
        log.warning("the model gave no answer", extra={"chat_id": chat_id, "reason": str(error)})
        notice = text(f"conversation-{error.kind}", now.language)
        if self._offline is self._model or isinstance(error, PromptTooLong):
            return _Answer(notice, outcome="failed")
        await self._memory.withdraw(chat_id, turn.message.id)
        result = await self._stoppable(self._offline, turn, now, reply, running, notice)
        if isinstance(result, ModelError):
            return _Answer(notice, outcome="failed")
        return self._answer(result, now, notice)

    def _answer(self, result: TurnResult, now: TurnInput, notice: str = "") -> _Answer:
        remark = ""
        if result.forgotten and self._settings.undo:
            count, minutes = len(result.forgotten), whole_minutes(self._settings.undo)
            remark = text("conversation-forgotten", now.language, count=count, minutes=minutes)
        recalled = tuple(
            memory.id for hit in now.recalled for memory in (*hit.before, hit.memory, *hit.after)
        )
        return _Answer(result.text, notice, remark, _outcome(result), recalled)

    async def _stoppable(
        self,
        model: ChatModel,
        turn: Turn,
        now: TurnInput,
        reply: Reply,
        running: _Running,
        notice: str = "",
    ) -> TurnResult | ModelError:
        """Run the loop as a task of its own, so that `stop` ends it and not the turn around it.

        A `notice` stands above the answer from its first word on.
        """
        running.task = self._background.start(self._attempt(model, turn, now, reply, running, notice), "turn")
        if running.stopped:
            running.task.cancel()
        try:
            return await running.task
        except asyncio.CancelledError:
            running.task.cancel()
            if running.stopped and not _is_cancelled():
                return _stopped(running.answered)
            raise

    async def _attempt(
        self, model: ChatModel, turn: Turn, now: TurnInput, reply: Reply, running: _Running, notice: str
    ) -> TurnResult | ModelError:
        async def on_text(so_far: str) -> None:
            running.answered = so_far
            await reply.write(_Answer(so_far, notice).shown)

        try:
            return await self._run(model, turn, now, reply, on_text, running.usages.append)
        except ModelError as error:
            return error

    async def _run(
        self,
        model: ChatModel,
        turn: Turn,
        now: TurnInput,
        reply: Reply,
        on_text: OnText,
        on_usage: OnUsage,
    ) -> TurnResult:

        async def on_tool(call: ToolCall) -> None:
            await reply.note(text("conversation-tool", now.language, tool=call.name))

        toolbox = Toolbox(
            self._memory,
            self._scope(turn, now),
            recalled=now.recalled,
            undo=self._settings.undo,
            neighbours=self._settings.neighbours,
        )
        request = build_request(
            turn.message.chat_id,
            SYSTEM,
            toolbox.specs(),
            await self._history(turn),
            now,
            context_tokens=self._settings.context_tokens,
            max_tokens=self._settings.max_tokens,
        )
        return await run_turn(
            model,
            request,
            toolbox,
            limits=self._settings.limits,
            on_text=on_text,
            on_tool=on_tool,
            on_usage=on_usage,
        )

    async def _input(self, turn: Turn, incoming: Incoming) -> TurnInput:
        question = turn.message
        return TurnInput(
            text=question.text,
            speaker=question.speaker,
            sent_at=question.sent_at,
            now=self._clock.now().astimezone(self._settings.zone),
            language=_language(turn, incoming),
            profile="",
            recalled=tuple(await self._recall(question)),
            origin=question.origin,
            quoted=incoming.quoted,
            attachments=tuple(each.name or each.kind for each in incoming.attachments),
        )

    async def _recall(self, question: Message) -> list[Hit]:
        """Find what memory has to say, without a model; a sick database must not silence the bot."""
        if not self._settings.recall_k:
            return []
        started = time.perf_counter()
        query = Query(
            question.chat_id,
            question.text,
            k=self._settings.recall_k,
            floor=RELEVANT,
            asker=question.speaker,
            zone=self._settings.zone,
            neighbours=self._settings.neighbours,
            tokens=self._settings.recall_tokens,
        )
        try:
            async with asyncio.timeout(RECALL_SECONDS):
                hits = await self._memory.search(query)
        except (StorageError, TimeoutError) as error:
            self._metrics.failed("recall", error)
            return []
        self._metrics.recalled(time.perf_counter() - started, len(hits))
        return hits

    async def _history(self, turn: Turn) -> list[PastMessage]:
        question = turn.message
        stored = await self._sessions.history(
            question.chat_id, question.session_id, before_id=question.id, step=self._settings.history_messages
        )
        return [PastMessage(message.role, words_of(message.text, message.origin)) for message in stored]

    def _scope(self, turn: Turn, now: TurnInput) -> TurnScope:
        question = turn.message
        return TurnScope(
            chat_id=question.chat_id,
            speaker=question.speaker,
            speaker_id=question.speaker_id,
            session_id=turn.session.id,
            message_id=question.id,
            zone=self._settings.zone,
            now=now.now,
            origin=question.origin,
            sent_at=question.sent_at,
        )


def _language(turn: Turn, incoming: Incoming) -> str:
    return language_of(turn.message.text, known_language(incoming.language))


def _outcome(result: TurnResult) -> str:
    if result.refused:
        return "refused"
    if result.empty:
        return "empty"
    return "cut" if result.cut else "answered"


def _is_cancelled() -> bool:
    """Tell whether this very task is to end, and not only the one that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _stopped(answered: str) -> TurnResult:
    ended = closed(answered)
    gap = " " if ended == answered else "\n\n"  # behind a code block the mark would be part of it
    return TurnResult(f"{ended}{gap}{STOPPED_MARK}".strip(), cut=True)
