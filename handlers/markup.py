"""Markdown to what Telegram shows: plain texts of at most 4,096 UTF-16 units with their entities."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from telegramify_markdown import RenderConfig, convert

from handlers.guard import guard, has_math
from handlers.split import Entity, Part, cut

_ATOMS = ("pre", "code")
_QUOTES = ("blockquote", "expandable_blockquote")
_UNSAYABLE = re.compile("[\ud800-\udfff\x00]")
_WORD = re.compile(r"[^\W_]+")
_TICK = re.compile(r"\[[xX]\]")
_TEX_COMMAND = re.compile(r"\\[A-Za-z]+|\\(?:begin|end)\{\w+\*?\}")


def render(markdown: str, empty: str) -> list[Part]:
    """Return the messages that show `markdown`, at least one: where there is nothing to show, `empty`.

    No word of the source is lost: where the renderer would lose one, the source is shown as it stands.
    """
    source = sayable(markdown)
    text, entities = _converted(source)
    return cut(text, entities) or cut(sayable(empty), ())


def preview(markdown: str) -> list[Part]:
    """Return the messages of an unfinished answer, without formatting; none when there is nothing yet."""
    return [replace(part, entities=()) for part in cut(_converted(sayable(markdown))[0], ())]


def plain(text: str) -> list[Part]:
    """Return the messages that show a text that is not Markdown."""
    return cut(sayable(text), ())


def sayable(text: str) -> str:
    """Replace what cannot be sent as UTF-8, and bring line ends into one form."""
    return _UNSAYABLE.sub("\ufffd", text).replace("\r\n", "\n").replace("\r", "\n")


def _converted(source: str) -> tuple[str, tuple[Entity, ...]]:
    guarded = guard(source)
    text, found = convert(guarded, latex_escape=False, config=_config())
    entities = [Entity(e.type, e.offset, e.length, e.url, e.language) for e in found]
    named = [name for e in entities for name in (e.url, e.language) if name]
    if _missing(source, " ".join([text, *named]), tex=has_math(guarded)):
        return source, ()
    return text, tuple(_tidy(entities))


def _missing(source: str, shown: str, *, tex: bool) -> set[str]:
    """Return the words of the source that appear nowhere; marks inside a word do not count."""
    source = _TICK.sub(" ", html.unescape(source))
    if tex:
        source = _TEX_COMMAND.sub(" ", source)
    letters = "".join(_WORD.findall(_fold(shown)))
    return {word for word in _WORD.findall(_fold(source)) if word not in letters}


def _fold(text: str) -> str:
    # Raised and lowered letters of formulas are compared as the plain ones that they stand for.
    return unicodedata.normalize("NFKC", text).casefold()


def _tidy(entities: Sequence[Entity]) -> Iterable[Entity]:
    """Bring entities into the nesting that Telegram takes: nothing inside code, no quote in a quote."""
    links = [e for e in entities if e.type == "text_link" and e.url]
    code = [e for e in entities if e.type in _ATOMS and not any(_overlap(e, link) for link in links)]
    quotes = [e for e in entities if e.type in _QUOTES]
    yield from links
    yield from code
    yield from (e for e in quotes if not any(_inside(e, other) for other in quotes))
    for entity in entities:
        if entity.type not in (*_ATOMS, *_QUOTES, "text_link", "custom_emoji"):
            yield from _without(entity, code)


def _without(entity: Entity, code: Sequence[Entity]) -> Iterable[Entity]:
    start = entity.offset
    for hole in sorted((e for e in code if _overlap(e, entity)), key=lambda e: e.offset):
        if hole.offset > start:
            yield replace(entity, offset=start, length=hole.offset - start)
        start = max(start, hole.end)
    if entity.end > start:
        yield replace(entity, offset=start, length=entity.end - start)


def _overlap(one: Entity, other: Entity) -> bool:
    return one.offset < other.end and other.offset < one.end


def _inside(inner: Entity, outer: Entity) -> bool:
    """Tell whether a quote lies within another; of two equal ones the later is the outer."""
    if inner is outer or not (outer.offset <= inner.offset and inner.end <= outer.end):
        return False
    return inner.length < outer.length or id(inner) < id(outer)


@cache
def _config() -> RenderConfig:
    config = RenderConfig.isolated()
    config.cite_expandable = False
    for level in range(1, 7):
        setattr(config.markdown_symbol, f"heading_level_{level}", "")
    config.markdown_symbol.image = "🖼 "
    config.markdown_symbol.unordered_list_item = "•"
    config.markdown_symbol.task_completed = "☑"
    config.markdown_symbol.task_uncompleted = "☐"
    return config
