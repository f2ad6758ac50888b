"""The file that holds one chat's memory: what may stand in it, checked before anything is stored."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from memory.errors import InvalidExport
from memory.service import MAX_MEMORY_CHARS
from memory.text import clean, text_hash
from memory.types import MemoryType, Origin, Relation, Role, SessionState, Status

FORMAT: Literal["mnemogram-chat"] = "mnemogram-chat"
VERSION: Literal[1] = 1


def _in_every_zone(moment: datetime) -> datetime:
    """Refuse the ends of the calendar, which do not exist in some zones."""
    if not MINYEAR < moment.year < MAXYEAR:
        raise ValueError
    return moment


def _no_turn(kind: MemoryType) -> MemoryType:
    """Refuse what each program makes of the messages by itself."""
    if kind is MemoryType.TURN:
        raise ValueError
    return kind


Id: TypeAlias = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Text: TypeAlias = Annotated[str, AfterValidator(clean)]
Moment: TypeAlias = Annotated[AwareDatetime, AfterValidator(_in_every_zone)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)


class SessionItem(Item):
    id: Id
    thread_id: Id
    state: SessionState
    started_at: Moment
    last_at: Moment
    summary: Text
    compressed_to: Id | None


class MessageItem(Item):
    id: Id
    session_id: Id
    role: Role
    text: Text
    sent_at: Moment
    source: Text
    speaker: Text
    speaker_id: Id | None
    origin: Origin
    tokens: Annotated[int, Field(ge=0, lt=2**31)]
    reply_to: Id | None
    delivered: bool


class MemoryItem(Item):
    """`message_ids`, `session_id` and `superseded_by` are ids within the file."""

    id: Id
    type: Annotated[MemoryType, AfterValidator(_no_turn)]
    text: Annotated[Text, Field(min_length=1, max_length=MAX_MEMORY_CHARS)]
    origin: Origin
    status: Literal[Status.ACTIVE, Status.SUPERSEDED]
    speaker: Text
    speaker_id: Id | None
    session_id: Id | None
    message_ids: tuple[Id, ...]
    document: Text
    original: Text
    importance: Share
    learned_at: Moment
    valid_from: Moment
    valid_until: Moment | None
    superseded_by: Id | None


class LinkItem(Item):
    from_id: Id
    to_id: Id
    relation: Relation
    weight: Share


class ProfileItem(Item):
    text: Text
    updated_at: Moment


class ChatExport(Item):
    """Everything that is kept of one chat, but what was forgotten. Vectors and turns are made anew."""

    format: Literal["mnemogram-chat"] = FORMAT
    version: Literal[1] = VERSION
    chat_id: Id
    profile: ProfileItem | None
    sessions: tuple[SessionItem, ...]
    messages: tuple[MessageItem, ...]
    memories: tuple[MemoryItem, ...]
    links: tuple[LinkItem, ...]


def parse_export(data: object) -> ChatExport:
    """Check what was read from a file. Raises InvalidExport with the first fault, never with its text."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidExport("This is not a chat's memory; name a file that `memory export` wrote.")
    if data.get("version") != VERSION:
        raise InvalidExport(
            f"This export has a version other than {VERSION}; import it with the Mnemogram that wrote it."
        )
    try:
        export = ChatExport.model_validate(data)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False, include_context=False)[0]
        raise _damaged(".".join(map(str, fault["loc"]))) from None
    _check_references(export)
    return export


def _check_references(export: ChatExport) -> None:
    """Make sure that every id is given once and everything that is referred to is there."""
    for place, values in _unique(export):
        if len(values) > len(set(values)):
            raise _damaged(place)
    ids = {
        kind: {item.id for item in items}
        for kind, items in (
            ("sessions", export.sessions),
            ("messages", export.messages),
            ("memories", export.memories),
        )
    }
    for place, kind, target in _references(export):
        if target is not None and target not in ids[kind]:
            raise _damaged(place)


def _unique(export: ChatExport) -> list[tuple[str, list[object]]]:
    return [
        ("sessions.id", [item.id for item in export.sessions]),
        ("messages.id", [item.id for item in export.messages]),
        ("messages.source", [item.source for item in export.messages]),
        ("messages.reply_to", [item.reply_to for item in export.messages if item.reply_to is not None]),
        ("memories.id", [item.id for item in export.memories]),
        ("memories.text", [text_hash(item.text) for item in export.memories if item.status == Status.ACTIVE]),
    ]


def _references(export: ChatExport) -> list[tuple[str, str, int | None]]:
    found: list[tuple[str, str, int | None]] = []
    for number, message in enumerate(export.messages):
        found.append((f"messages.{number}.session_id", "sessions", message.session_id))
        found.append((f"messages.{number}.reply_to", "messages", message.reply_to))
    for number, memory in enumerate(export.memories):
        found.append((f"memories.{number}.session_id", "sessions", memory.session_id))
        found.append((f"memories.{number}.superseded_by", "memories", memory.superseded_by))
        found += [(f"memories.{number}.message_ids", "messages", each) for each in memory.message_ids]
    for number, link in enumerate(export.links):
        found += [(f"links.{number}", "memories", each) for each in (link.from_id, link.to_id)]
    return found


def _damaged(place: str) -> InvalidExport:
    return InvalidExport(f"The export is damaged at {place}; export the chat once more.")
