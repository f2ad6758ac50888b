"""The tools of the model: what it may ask of memory, checked, scoped to one turn and answered in words."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Protocol

from pydantic import ValidationError

from bot import prompts
from bot.ports import ToolCall, ToolResult, ToolSpec
from bot.tool_arguments import (
    TOOL_SPECS,
    ForgetArguments,
    Refused,
    SaveArguments,
    SearchArguments,
    UpdateArguments,
    bound,
    what_is_wrong,
)
from memory.errors import InvalidMemory, MemoryNotFound, MnemogramError, StaleRevision
from memory.ranking import PLAUSIBLE
from memory.text import clean, fold
from memory.types import (
    SAVED_TYPES,
    Hit,
    Memory,
    MemoryType,
    NewMemory,
    Origin,
    Query,
    Receipt,
    Remembered,
    Where,
)

REPEATED_SHARE = 0.8
"""A text is a repetition when it stands in a recalled memory and is at least this share of its words."""


class MemoryTools(Protocol):
    """What the tools need of the memory service."""

    async def remember(self, new: NewMemory) -> Remembered: ...

    async def search(self, query: Query) -> list[Hit]: ...

    async def get(self, chat_id: int, memory_id: int) -> Memory: ...

    async def update(
        self,
        chat_id: int,
        memory_id: int,
        text: str,
        *,
        revision: int | None = None,
        message_ids: Sequence[int] = (),
    ) -> Memory: ...

    async def forget(
        self, chat_id: int, ids: Collection[int], *, undo: timedelta | None, message_id: int | None = None
    ) -> Receipt: ...


@dataclass(frozen=True, slots=True)
class TurnScope:
    """Where a turn belongs and whose words it answers; the model cannot set any of it.

    `now` is in the zone of the chat. What is saved is valid from `sent_at`, or from now where it is missing.
    """

    chat_id: int
    speaker: str
    speaker_id: int | None
    session_id: int
    message_id: int
    zone: tzinfo
    now: datetime
    origin: Origin = Origin.PERSON
    sent_at: datetime | None = None


class Toolbox:
    """The tools of one turn. It remembers which memories the turn has seen, and at which revision."""

    def __init__(
        self,
        memory: MemoryTools,
        scope: TurnScope,
        *,
        recalled: Iterable[Hit] = (),
        undo: timedelta | None = timedelta(minutes=10),
        neighbours: int = 0,
    ) -> None:
        """`recalled` are the hits that the model was given; `undo` is how long a forget can be taken back.

        A turn that is found is shown with so many `neighbours` on each side.
        """
        self._memory = memory
        self._scope = scope
        self._undo = undo
        self._neighbours = neighbours
        self._seen: dict[int, Memory] = {}
        self._see(recalled)
        self._tools: dict[str, Callable[[ToolCall], Awaitable[ToolResult]]] = {
            "forget_memory": self._forget,
            "save_to_memory": self._save,
            "search_memory": self._search,
            "update_memory": self._update,
        }

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools, the same bytes for everybody."""
        return TOOL_SPECS

    async def run(self, call: ToolCall) -> ToolResult:
        """Run one call. What the model did wrong, and what memory refuses, comes back as an error result."""
        tool = self._tools.get(call.name)
        if tool is None:
            return _error(call, f"There is no tool of this name; the tools are {', '.join(self._tools)}.")
        try:
            return await tool(call)
        except ValidationError as error:
            return _error(call, what_is_wrong(error))
        except Refused as refusal:
            return _error(call, str(refusal))
        except MemoryNotFound as error:
            return _error(
                call, f"There is no memory {error.memory_id} in this chat; search_memory shows the ids."
            )
        except StaleRevision as error:
            self._seen.pop(error.memory_id, None)
            return _error(
                call, "The memory has changed in the meantime; search for it again before you edit it."
            )
        except InvalidMemory as error:
            return _error(call, str(error))
        except MnemogramError:
            words = "Memory cannot be used now; nothing was changed. Answer without it and say so."
            return ToolResult(call.id, words, is_error=True, broken=True)

    async def _search(self, call: ToolCall) -> ToolResult:
        arguments = SearchArguments.model_validate(call.arguments)
        where = self._where(arguments)
        query = Query(
            self._scope.chat_id,
            clean(arguments.query),
            where,
            arguments.k,
            floor=PLAUSIBLE,
            asker=self._scope.speaker,
            zone=self._scope.zone,
            neighbours=self._neighbours,
        )
        hits = await self._memory.search(query)
        self._see(hits)
        return ToolResult(call.id, self._found(hits, narrowed=where != Where()), hits=tuple(hits))

    async def _save(self, call: ToolCall) -> ToolResult:
        arguments = SaveArguments.model_validate(call.arguments)
        if (known := self._repeated(arguments.content)) is not None:
            return _known(call, known)
        remembered = await self._memory.remember(self._new(arguments))
        memory = remembered.memory
        if not remembered.created:
            return _known(call, memory.id)
        self._seen[memory.id] = memory
        return ToolResult(call.id, f"Saved as memory {memory.id} ({memory.type}).", memory_id=memory.id)

    async def _update(self, call: ToolCall) -> ToolResult:
        arguments = UpdateArguments.model_validate(call.arguments)
        self._only_for_people("changed")
        old = self._seen.get(arguments.id) or await self._memory.get(self._scope.chat_id, arguments.id)
        if old.type not in SAVED_TYPES:
            raise Refused(
                f"Memory {old.id} is a {old.type}, which cannot be edited; save what is right as new."
            )
        if fold(old.text) == fold(arguments.content):
            return _known(call, old.id)
        memory = await self._memory.update(
            self._scope.chat_id,
            old.id,
            arguments.content,
            revision=old.revision,
            message_ids=(self._scope.message_id,),
        )
        self._seen.pop(old.id, None)
        self._seen[memory.id] = memory
        text = f"Updated: memory {old.id} is history now and memory {memory.id} stands in its place."
        return ToolResult(call.id, text, memory_id=memory.id)

    async def _forget(self, call: ToolCall) -> ToolResult:
        arguments = ForgetArguments.model_validate(call.arguments)
        self._only_for_people("forgotten")
        receipt = await self._memory.forget(
            self._scope.chat_id, [arguments.id], undo=self._undo, message_id=self._scope.message_id
        )
        if not receipt.memories:
            raise MemoryNotFound(arguments.id)
        self._seen.pop(arguments.id, None)
        return ToolResult(call.id, self._forgotten(arguments.id), forgotten=(arguments.id,))

    def _where(self, arguments: SearchArguments) -> Where:
        since = bound("since", arguments.since, self._scope.zone, end=False)
        until = bound("until", arguments.until, self._scope.zone, end=True)
        if since and until and since >= until:
            raise Refused("since must not lie after until; exchange them or leave one out.")
        return Where(types=(arguments.type,) if arguments.type else (), since=since, until=until)

    def _found(self, hits: Sequence[Hit], *, narrowed: bool) -> str:
        if not hits:
            hint = " with this type and time; try without them" if narrowed else "; try other words once"
            return f"Nothing found{hint}."
        memories = prompts.memories_text(hits, self._scope.zone)
        return f"{len(hits)} found, best first:\n{memories}"

    def _see(self, hits: Iterable[Hit]) -> None:
        """Note what the model was shown."""
        shown = (memory for hit in hits for memory in (*hit.before, hit.memory, *hit.after))
        self._seen |= {memory.id: memory for memory in shown}

    def _repeated(self, content: str) -> int | None:
        """Return the id of the memory seen in this turn that `content` only says again.

        What a person said in an earlier conversation is no memory yet, so it may become one now.
        """
        words = _words(content)
        known = (seen for seen in self._seen.values() if not _is_told(seen))
        return next((seen.id for seen in known if _stands_in(words, _words(seen.text))), None)

    def _new(self, arguments: SaveArguments) -> NewMemory:
        scope = self._scope
        taught = scope.origin is Origin.PERSON
        return NewMemory(
            chat_id=scope.chat_id,
            text=arguments.content,
            # What nobody said here can be found again, but is no fact about anybody.
            type=arguments.type if taught else MemoryType.KNOWLEDGE,
            origin=scope.origin,
            speaker=scope.speaker,
            speaker_id=scope.speaker_id,
            session_id=scope.session_id,
            message_ids=(scope.message_id,),
            valid_from=scope.sent_at,
        )

    def _only_for_people(self, done: str) -> None:
        if self._scope.origin is not Origin.PERSON:
            raise Refused(f"Nothing can be {done} on the word of a forwarded text or a document.")

    def _forgotten(self, memory_id: int) -> str:
        if not self._undo:
            return f"Memory {memory_id} is forgotten for good."
        minutes = f"{self._undo.total_seconds() / 60:g}"
        return (
            f"Memory {memory_id} is forgotten; for {minutes} minutes this can be undone, then it is erased."
        )


def _is_told(memory: Memory) -> bool:
    return memory.type is MemoryType.TURN and memory.origin is Origin.PERSON


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", fold(text))


def _stands_in(words: Sequence[str], known: Sequence[str]) -> bool:
    """Whether `words` stand in `known` in one piece and leave out so little that they say the same.

    More words than are known may be news, a "no longer" for example, so they never count as a repetition.
    """
    if not words or len(words) > len(known) or len(words) < REPEATED_SHARE * len(known):
        return False
    starts = range(len(known) - len(words) + 1)
    return any(list(known[start : start + len(words)]) == list(words) for start in starts)


def _known(call: ToolCall, memory_id: int) -> ToolResult:
    text = f"Already known as memory {memory_id}; nothing new was stored."
    return ToolResult(call.id, text, memory_id=memory_id, created=False)


def _error(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call.id, text, is_error=True)
