"""The buttons under messages, and what a press of one says in at most 64 bytes."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Self

from aiogram.filters.callback_data import CallbackData
from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup
from pydantic import Field

from bot.texts import text

MAX_INLINE = 48
"""Bytes of memory ids that fit into a button beside the rest of its data."""

EVERYTHING = "all"
"""Stands in a button in place of ids for all that the chat has left."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MICROSECOND = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_KEPT = 500
_ON_SHELF = "~"


class Page(CallbackData, prefix="mem"):
    """Show the list of memories from this offset on."""

    offset: int


class Act(StrEnum):
    """What a button of /forget does."""

    FORGET = "yes"
    CANCEL = "no"


class Forget(CallbackData, prefix="fgt"):
    """Forget or keep these memories; see `Shelf`."""

    act: Act
    ids: str


class Undo(CallbackData, prefix="undo"):
    """Bring back what is hidden until this moment, in microseconds since 1970: it names one forget."""

    until: Annotated[int, Field(ge=0, le=_LAST_MICROSECOND)]

    @classmethod
    def of(cls, purge_at: datetime) -> Self:
        return cls(until=(purge_at - _EPOCH) // timedelta(microseconds=1))

    @property
    def purge_at(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.until)


class Shelf:
    """Puts memory ids into a button: as ranges, or where they are too many under a key kept here.

    What is kept here is lost with the process; such a button then asks for the command again.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[int, frozenset[int]]] = OrderedDict()

    def pack(self, chat_id: int, ids: Collection[int]) -> str:
        """Return what stands for these ids in a button of this chat."""
        if len(packed := ",".join(_ranges(ids))) <= MAX_INLINE:
            return packed
        key = _ON_SHELF + secrets.token_urlsafe(8)
        self._kept[key] = (chat_id, frozenset(ids))
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return key

    def unpack(self, chat_id: int, packed: str) -> frozenset[int] | None:
        """Return the ids; ``None`` when they are not known any more or never were."""
        if packed.startswith(_ON_SHELF):
            owner, ids = self._kept.get(packed, (None, frozenset[int]()))
            return ids if owner == chat_id else None
        try:
            return frozenset(number for part in packed.split(",") for number in _numbers(part))
        except ValueError:
            return None


def pages(offset: int, size: int, total: int) -> InlineKeyboardMarkup | None:
    """Return the buttons to the pages beside this one; none when everything is on one page."""
    row = []
    if offset > 0:
        row.append(_button("◀", Page(offset=max(0, offset - size))))
    if offset + size < total:
        row.append(_button("▶", Page(offset=offset + size)))
    return InlineKeyboardMarkup(inline_keyboard=[row]) if row else None


def confirm(packed: str, count: int, language: str) -> InlineKeyboardMarkup:
    yes = _button(
        text("keyboards-forget", language, count=count), Forget(act=Act.FORGET, ids=packed), "danger"
    )
    no = _button(text("keyboards-cancel", language), Forget(act=Act.CANCEL, ids="0"))
    return InlineKeyboardMarkup(inline_keyboard=[[yes, no]])


def undo(purge_at: datetime, language: str) -> InlineKeyboardMarkup:
    button = _button(text("keyboards-undo", language), Undo.of(purge_at))
    return InlineKeyboardMarkup(inline_keyboard=[[button]])


def _button(label: str, press: CallbackData, style: str | None = None) -> InlineKeyboardButton:
    return InlineKeyboardButton(text=label, callback_data=press.pack(), style=style)


def _ranges(ids: Collection[int]) -> Iterator[str]:
    """Write ids as "3,7-9"."""
    ordered = sorted(set(ids))
    starts = [b for a, b in pairwise([-1, *ordered]) if a < 0 or b != a + 1]
    ends = [a for a, b in pairwise([*ordered, -1]) if b < 0 or b != a + 1]
    for first, last in zip(starts, ends, strict=True):
        yield str(first) if first == last else f"{first}-{last}"


def _numbers(part: str) -> range:
    first, _, last = part.partition("-")
    numbers = range(int(first), int(last or first) + 1)
    if len(numbers) > 100_000:
        raise ValueError("no chat has so many memories")
    return numbers
