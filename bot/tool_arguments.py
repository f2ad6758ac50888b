"""What the tools of the model take: their JSON schemas, the checks of the arguments, dates as bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from bot import prompts
from bot.ports import ToolSpec
from memory import dates
from memory.service import MAX_MEMORY_CHARS
from memory.text import clean
from memory.types import SAVED_TYPES, MemoryType

MAX_QUERY_CHARS = 1_000
DEFAULT_K = 8
MAX_K = 20
LARGEST_ID = 2**63 - 1


class Refused(Exception):
    """A tool does not do what it was asked for; the text tells the model what to do instead."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, values: Any) -> Any:
        """Models write null or "" for what they leave out."""
        if not isinstance(values, Mapping):
            return values
        return {key: value for key, value in values.items() if value is not None and value != ""}


class SearchArguments(_Arguments):
    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARS)
    k: int = DEFAULT_K
    type: MemoryType | None = None
    since: str = ""
    until: str = ""

    @field_validator("k")
    @classmethod
    def _clamped(cls, k: int) -> int:
        return max(1, min(MAX_K, k))


class _Content(_Arguments):
    content: str = Field(min_length=1, max_length=MAX_MEMORY_CHARS)

    @field_validator("content")
    @classmethod
    def _clean(cls, content: str) -> str:
        if not (cleaned := clean(content)):
            raise ValueError("must hold some text")
        return cleaned


class SaveArguments(_Content):
    type: MemoryType = MemoryType.FACT

    @field_validator("type")
    @classmethod
    def _saved(cls, kind: MemoryType) -> MemoryType:
        if kind not in SAVED_TYPES:
            raise ValueError(f"must be one of {', '.join(SAVED_TYPES)}")
        return kind


class ForgetArguments(_Arguments):
    id: int = Field(ge=1, le=LARGEST_ID)


class UpdateArguments(_Content, ForgetArguments):
    pass


def _schema(required: Sequence[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _property(kind: str, meaning: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "description": prompts.ARGUMENTS[meaning], **more}


TOOL_SPECS = (
    ToolSpec("forget_memory", prompts.FORGET_DESCRIPTION, _schema(["id"], id=_property("integer", "id"))),
    ToolSpec(
        "save_to_memory",
        prompts.SAVE_DESCRIPTION,
        _schema(
            ["content"],
            content=_property("string", "content"),
            type=_property("string", "saved_type", enum=[kind.value for kind in SAVED_TYPES]),
        ),
    ),
    ToolSpec(
        "search_memory",
        prompts.SEARCH_DESCRIPTION,
        _schema(
            ["query"],
            query=_property("string", "query"),
            k=_property("integer", "k"),
            type=_property("string", "type", enum=[kind.value for kind in MemoryType]),
            since=_property("string", "since"),
            until=_property("string", "until"),
        ),
    ),
    ToolSpec(
        "update_memory",
        prompts.UPDATE_DESCRIPTION,
        _schema(
            ["id", "content"],
            id=_property("integer", "id"),
            content=_property("string", "new_content"),
        ),
    ),
)
"""The tools by name; a part of the cached prompt, so they never differ between chats or turns."""


def bound(name: str, value: str, zone: tzinfo, *, end: bool) -> datetime | None:
    """Return the moment, in UTC, that a day or a time means in `zone`; a day ends where the next one starts.

    Raises Refused.
    """
    if not value:
        return None
    try:
        return dates.bound(value, zone, end=end)
    except ValueError:
        raise Refused(
            f"{name} must be a day such as 2026-03-31 or a time such as 2026-03-31T18:00."
        ) from None


def what_is_wrong(error: ValidationError) -> str:
    """Name each faulty argument and what it must be, without repeating its value."""
    faults = error.errors(include_input=False, include_url=False)
    told = [f"{'.'.join(map(str, fault['loc'])) or 'input'}: {fault['msg']}" for fault in faults]
    return f"The arguments are not right: {'; '.join(told)}. Call the tool again with better ones."
