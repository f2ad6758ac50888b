"""What a conversation needs from outside: a model that answers and a place to write the answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Protocol, TypeAlias

from memory.errors import MnemogramError
from memory.types import Hit, Origin, Role
from memory.usage import Usage


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model may use; `schema` is a JSON Schema object."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants to be run."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered. `hits` and `memory_id` say in code what `text` says to the model.

    `created` is false when the chat knew already what was to be saved; `forgotten` are the memories that
    the tool hid and whose undo may be offered. `broken` tells an error of memory itself from one of the call.
    """

    call_id: str
    text: str
    is_error: bool = False
    hits: tuple[Hit, ...] = ()
    memory_id: int | None = None
    created: bool = True
    forgotten: tuple[int, ...] = ()
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One finished round of a running turn: what the model said, verbatim, and what its tools answered.

    `content` belongs to the adapter that made it and is handed back unchanged, ``None`` where nothing is to
    be repeated. A step without results is one that the model asked to be continued. `note` is what the loop
    itself says to the model after the step.
    """

    content: object
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class PastMessage:
    """One side of an earlier turn."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class TurnInput:
    """What the person says now, with what code found out about it."""

    text: str
    speaker: str
    sent_at: datetime
    now: datetime  # in the zone of the chat
    language: str  # "ru" or "en"
    profile: str
    recalled: tuple[Hit, ...]
    origin: Origin = Origin.PERSON
    quoted: str = ""
    attachments: tuple[str, ...] = ()  # what came with the words and cannot be seen


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything that one call to a model is made of. `chat_id` is for accounts, never for the prompt."""

    chat_id: int
    system: str
    tools: tuple[ToolSpec, ...]
    history: tuple[PastMessage, ...]
    turn: TurnInput
    steps: tuple[Step, ...] = ()
    tools_allowed: bool = True
    max_tokens: int = 8192


class Stop(StrEnum):
    """Why a model stopped, in the words of the loop."""

    END = "end"
    TOOLS = "tools"
    LENGTH = "length"  # the answer was cut at max_tokens
    PAUSE = "pause"  # wants to go on with the same messages
    REFUSAL = "refusal"
    TOO_LONG = "too_long"  # the context window is full
    CUT = "cut"  # the stream ended before the message did


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """The stream broke and the call begins anew: the text that it has yielded so far is void."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The end of one call. `usage` is ``None`` where nothing was spent."""

    text: str
    calls: tuple[ToolCall, ...]
    stop: Stop
    content: object
    usage: Usage | None = None


ModelEvent: TypeAlias = TextDelta | Restarted | Completed


class ChatModel(Protocol):
    """Answers one request as a stream that ends with exactly one `Completed`."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield text as it comes, then `Completed`. Raises ModelError."""
        ...


class ModelError(MnemogramError):
    """The model gave no answer. The text is a sentence for the operator, `kind` names what people hear."""

    kind: ClassVar[str] = "model"


class ModelUnavailable(ModelError):
    """The model cannot be reached or is overloaded now: another brain may answer instead."""

    kind: ClassVar[str] = "unavailable"


class ModelMisconfigured(ModelError):
    """Key, model name, spending limit or address are wrong: an operator must act before it can work."""

    kind: ClassVar[str] = "misconfigured"


class PromptTooLong(ModelError):
    """The request does not fit: less history may."""

    kind: ClassVar[str] = "too-long"


class Reply(Protocol):
    """Where the answer to one message appears. Texts are Markdown."""

    async def write(self, text: str) -> None:
        """Show `text`, the whole answer so far, in place of what was written before; may skip for pace."""
        ...

    async def note(self, text: str) -> None:
        """Show for a moment what is being done, until the next write."""
        ...

    async def finish(self, text: str) -> None:
        """Show the whole final answer; returns when it has been delivered."""
        ...
