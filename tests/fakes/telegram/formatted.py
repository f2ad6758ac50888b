"""Text with entities as Telegram takes it: lengths in UTF-16, bounds, nesting, trimming, parse modes."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.fakes.telegram.params import Params
from tests.fakes.telegram.refused import Refused

Entity: TypeAlias = Mapping[str, Any]

NEEDS = {
    "text_link": "url",
    "text_mention": "user",
    "custom_emoji": "custom_emoji_id",
    "date_time": "unix_time",
}
TYPES = {
    "blockquote",
    "bold",
    "bot_command",
    "cashtag",
    "code",
    "custom_emoji",
    "date_time",
    "email",
    "expandable_blockquote",
    "hashtag",
    "italic",
    "mention",
    "phone_number",
    "pre",
    "spoiler",
    "strikethrough",
    "text_link",
    "text_mention",
    "underline",
    "url",
}
HTML_TAGS = {
    "a",
    "b",
    "blockquote",
    "code",
    "del",
    "em",
    "i",
    "ins",
    "pre",
    "s",
    "span",
    "strike",
    "strong",
    "tg-emoji",
    "tg-spoiler",
    "u",
}
RESERVED = set("()>#+-=|{}.![]")
LONGEST_TEXT = 4096
LONGEST_CAPTION = 1024


@dataclass(frozen=True, slots=True)
class Formatted:
    """What is shown: trimmed text with its entities in order."""

    text: str
    entities: tuple[Entity, ...]


def units(text: str) -> int:
    """Return the length in UTF-16 code units, which is how Telegram counts."""
    return len(text.encode("utf-16-le")) // 2


def read_text(params: Params) -> Formatted:
    """Return the text of a message. Raises Refused when it is empty or too long."""
    found = _read(params, "text", "entities")
    if not found.text:
        raise Refused("message text is empty")
    if units(found.text) > LONGEST_TEXT:
        raise Refused("message is too long")
    return found


def read_caption(params: Params) -> Formatted:
    """Return the caption of a file, which may be empty. Raises Refused when it is too long."""
    found = _read(params, "caption", "caption_entities")
    if units(found.text) > LONGEST_CAPTION:
        raise Refused("message caption is too long")
    return found


def _read(params: Params, name: str, entities: str) -> Formatted:
    text = params.text(name)
    match params.text("parse_mode").lower():
        case "html":
            return Formatted(_from_html(text).strip(), ())
        case "markdownv2" | "markdown":
            return Formatted(_from_markdown(text).strip(), ())
        case "":
            return _trim(text, _checked(text, params.json(entities, [])))
    raise Refused("unsupported parse_mode")


def _checked(text: str, entities: Any) -> list[Entity]:
    if not isinstance(entities, list):
        raise Refused("can't parse entities JSON object")
    cuts = _inside_pairs(text)
    for entity in entities:
        _check_shape(entity)
        _check_bounds(entity, units(text), cuts)
    ordered = sorted(entities, key=lambda entity: (entity["offset"], -entity["length"]))
    _check_nesting(ordered)
    return ordered


def _check_shape(entity: Any) -> None:
    if not isinstance(entity, dict):
        raise Refused("can't parse MessageEntity: expected an Object")
    kind = entity.get("type")
    if kind not in TYPES:
        raise Refused(f"can't parse entities: unsupported type {kind!r} specified")
    if not entity.get(NEEDS.get(kind, "type")):
        raise Refused(f"can't parse entities: {kind} needs {NEEDS[kind]}")
    for name in ("offset", "length"):
        if not isinstance(entity.get(name), int) or isinstance(entity[name], bool):
            raise Refused(f'can\'t parse MessageEntity: field "{name}" must be of type Number')


def _check_bounds(entity: Entity, length: int, cuts: set[int]) -> None:
    start, end = entity["offset"], entity["offset"] + entity["length"]
    if start < 0 or entity["length"] <= 0:
        raise Refused(f"can't parse entities: an entity at offset {start} has length {entity['length']}")
    if end > length:
        raise Refused(
            f"entity beginning at UTF-16 offset {start} ends after the end of the text at UTF-16 offset {end}"
        )
    for place, word in ((start, "begins"), (end, "ends")):
        if place in cuts:
            raise Refused(f"entity {word} in a middle of a UTF-16 symbol at offset {place}")


def _inside_pairs(text: str) -> set[int]:
    """Return the offsets that would cut a character into its two surrogates."""
    inside, place = set(), 0
    for char in text:
        if ord(char) > 0xFFFF:
            inside.add(place + 1)
            place += 1
        place += 1
    return inside


def _check_nesting(ordered: Sequence[Entity]) -> None:
    around: list[Entity] = []
    for entity in ordered:
        start, end = entity["offset"], entity["offset"] + entity["length"]
        around = [outer for outer in around if outer["offset"] + outer["length"] > start]
        for outer in around:
            if outer["offset"] + outer["length"] < end:
                raise Refused(f"can't parse entities: entities overlap at offset {start}")
            if outer["type"] in ("pre", "code"):
                raise Refused(f"can't parse entities: nothing can be inside {outer['type']}, offset {start}")
            if "blockquote" in outer["type"] and "blockquote" in entity["type"]:
                raise Refused(f"can't parse entities: blockquote entities can't be nested, offset {start}")
        around.append(entity)


def _trim(text: str, entities: list[Entity]) -> Formatted:
    """Drop white space at both ends, as Telegram does, and move the entities along."""
    shown = text.strip()
    cut = units(text) - units(text.lstrip())
    kept = []
    for entity in entities:
        start = max(0, entity["offset"] - cut)
        end = min(units(shown), entity["offset"] + entity["length"] - cut)
        if start < end:
            kept.append({**entity, "offset": start, "length": end - start})
    return Formatted(shown, tuple(kept))


def _from_html(text: str) -> str:
    opened: list[str] = []
    for tag in re.finditer(r"<(/?)([^\s<>/]*)[^<>]*>?", text):
        name = tag[2].lower()
        if name not in HTML_TAGS or not tag[0].endswith(">"):
            raise Refused(
                f'can\'t parse entities: Unsupported start tag "{name}" at byte offset {tag.start()}'
            )
        if not tag[1]:
            opened.append(name)
        elif not opened or opened.pop() != name:
            raise Refused(f"can't parse entities: Unexpected end tag at byte offset {tag.start()}")
    if opened:
        raise Refused(f"can't parse entities: Can't find end tag corresponding to start tag \"{opened[-1]}\"")
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def _from_markdown(text: str) -> str:
    """Take away the marks of MarkdownV2; links and code are only looked at for balance."""
    shown: list[str] = []
    opened: list[str] = []
    for found in re.finditer(r"\\(.)|```|`|\|\||__|[*_~]|\[|\]\([^)]*\)|.", text, re.DOTALL):
        mark = found[0]
        if found[1] or (opened and opened[-1].startswith("`") and mark != opened[-1]):
            shown.append(found[1] or mark)
        elif mark in ("```", "`", "||", "__", "*", "_", "~", "[") or mark.startswith("]("):
            _toggle(opened, mark, found.start())
        elif mark in RESERVED:
            raise Refused(f"can't parse entities: Character '{mark}' is reserved and must be escaped")
        else:
            shown.append(mark)
    if opened:
        raise Refused(f"can't parse entities: Can't find end of the entity starting with {opened[-1]}")
    return "".join(shown)


def _toggle(opened: list[str], mark: str, place: int) -> None:
    closes = "[" if mark.startswith("](") else mark
    if mark != "[" and opened and opened[-1] == closes:
        opened.pop()
    elif mark.startswith("](") or closes in opened:
        raise Refused(f"can't parse entities: Can't find end of the entity at byte offset {place}")
    else:
        opened.append(mark)
