"""The values that memory is made of: frozen, slotted and free of any storage."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float32]
"""One L2-normalised embedding, shape (dimensions,), or a batch of them, shape (n, dimensions)."""

NO_THREAD = 0
"""The thread of a chat that has no topics."""


class MemoryType(StrEnum):
    """What a memory is about. The last three are the bot's own, never written by a person or the model."""

    FACT = "fact"
    PREFERENCE = "preference"
    CONTEXT = "context"
    KNOWLEDGE = "knowledge"
    SUMMARY = "summary"
    INSIGHT = "insight"
    TURN = "turn"  # what somebody said in a finished conversation, word for word


SAVED_TYPES = (MemoryType.FACT, MemoryType.PREFERENCE, MemoryType.CONTEXT, MemoryType.KNOWLEDGE)
"""The types that a person or the model may ask for."""


class Origin(StrEnum):
    """Who the words come from. Only ``PERSON`` may ever become a fact about somebody."""

    PERSON = "person"
    ASSISTANT = "assistant"
    FORWARDED = "forwarded"
    DOCUMENT = "document"
    IMPORTED = "imported"
    DERIVED = "derived"


class Status(StrEnum):
    """Where a memory is in its life."""

    ACTIVE = "active"  # found by search, may be updated
    SUPERSEDED = "superseded"  # replaced by a newer one; kept as history, never found by search
    FORGOTTEN = "forgotten"  # hidden at once; its text is purged when the undo window ends


class SessionState(StrEnum):
    """Where a conversation is in its life."""

    OPEN = "open"  # takes new messages
    CLOSED = "closed"  # ended, waits to be indexed
    INDEXED = "indexed"  # summarised and mined for facts
    FAILED = "failed"  # indexing was given up after several tries


class Role(StrEnum):
    """Who speaks in a stored message."""

    USER = "user"
    ASSISTANT = "assistant"


class Relation(StrEnum):
    """How one memory relates to another."""

    SAME_TOPIC = "same_topic"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    DERIVED_FROM = "derived_from"
    REPLACES = "replaces"


@dataclass(frozen=True, slots=True)
class Author:
    """A person who writes: the messenger's id and the name they show."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message; the bytes stay with the messenger under ``file_id``."""

    kind: str
    file_id: str
    name: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message of a person, from any channel. ``source`` is unique in the chat and survives redelivery.

    ``quoted`` is what the message replies to: who said it, and the words.
    """

    chat_id: int
    author: Author
    text: str
    sent_at: datetime
    source: str
    thread_id: int = NO_THREAD
    language: str = ""
    origin: Origin = Origin.PERSON
    attachments: tuple[Attachment, ...] = ()
    quoted: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation: what was said in one thread without a long silence."""

    id: int
    chat_id: int
    thread_id: int
    state: SessionState
    started_at: datetime
    last_at: datetime
    summary: str = ""
    compressed_to: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One stored turn of one side. ``reply_to`` is the question that an answer belongs to."""

    id: int
    chat_id: int
    session_id: int
    role: Role
    text: str
    sent_at: datetime
    source: str
    speaker: str = ""
    speaker_id: int | None = None
    origin: Origin = Origin.PERSON
    tokens: int = 0
    reply_to: int | None = None
    delivered: bool = False


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to be stored.

    ``message_ids`` are the messages it stands on; ``document`` names the file it was cut from and
    ``original`` keeps the words as they were said. ``valid_from`` defaults to the moment of storing.
    """

    chat_id: int
    text: str
    type: MemoryType
    origin: Origin
    speaker: str = ""
    speaker_id: int | None = None
    session_id: int | None = None
    message_ids: tuple[int, ...] = ()
    document: str = ""
    original: str = ""
    importance: float = 0.5
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing remembered. ``revision`` rises with every change and orders the sync of the index."""

    id: int
    chat_id: int
    type: MemoryType
    text: str
    origin: Origin
    status: Status
    learned_at: datetime
    valid_from: datetime
    revision: int
    speaker: str = ""
    speaker_id: int | None = None
    session_id: int | None = None
    message_ids: tuple[int, ...] = ()
    document: str = ""
    original: str = ""
    importance: float = 0.5
    valid_until: datetime | None = None
    superseded_by: int | None = None
    purge_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A directed relation between two memories of one chat; ``weight`` lies in 0..1."""

    chat_id: int
    from_id: int
    to_id: int
    relation: Relation
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Profile:
    """The few lines about a chat that stand in every prompt."""

    chat_id: int
    text: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class StoredVector:
    """The vector of one text with the identity of the model that made it, shape (dimensions,)."""

    model_id: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Where:
    """What a list or a search is narrowed to, always within one chat.

    ``since`` (inclusive) and ``until`` (exclusive) bound ``valid_from``.
    """

    types: tuple[MemoryType, ...] = ()
    speaker: str = ""
    since: datetime | None = None
    until: datetime | None = None
    session_id: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time that some words name: from ``since`` on and before ``until``, both in UTC."""

    since: datetime
    until: datetime
    words: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question to the memory of one chat.

    ``floor`` is the lowest relevance a hit may have, in 0..1. "I" and "my" mean the speaker ``asker``, and
    ``zone`` is the time zone of "yesterday". Each turn that is found brings ``neighbours`` turns from before
    it and as many from after it. Without ``tokens`` the hits may be as long as they are.
    """

    chat_id: int
    text: str
    where: Where = field(default_factory=Where)
    k: int = 8
    floor: float = 0.0
    asker: str = ""
    zone: tzinfo = UTC
    neighbours: int = 0
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """The parts of a hit's score, each in 0..1.

    Hits are ordered by ``total``, the weighted sum of what speaks for them in this chat. ``relevance`` is
    what a floor is compared with: how surely the memory answers, whatever else there is.
    """

    total: float
    relevance: float = 0.0
    cosine: float = 0.0
    words: float = 0.0  # of the question's words, those that it has
    context: float = 0.0  # the same of the turns around it
    recency: float = 0.0
    importance: float = 0.0
    window: float = 0.0  # how well it fits the time that the question names
    speaker: float = 0.0  # whether it was said by the one whom the question is about
    linked: float = 0.0  # what the hits say that it is linked with
    reranked: float | None = None  # the second opinion, where there is one


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was found, read back from SQL, with what speaks for it.

    ``before`` and ``after`` are the turns around a turn, in the order in which they were said.
    """

    memory: Memory
    score: Score
    before: tuple[Memory, ...] = ()
    after: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a memory to be stored: ``created`` is false when the chat knew it already."""

    memory: Memory
    created: bool


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a forget took away, in counts. ``purge_at`` is ``None`` when the text is gone already."""

    memories: int
    messages: int
    purge_at: datetime | None = None
