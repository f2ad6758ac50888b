"""Inline keyboards and what Telegram refuses about them."""

from __future__ import annotations

from typing import Any

from tests.fakes.telegram.params import Params
from tests.fakes.telegram.refused import Refused

ACTIONS = {
    "callback_data",
    "copy_text",
    "disabled",
    "login_url",
    "pay",
    "switch_inline_query",
    "url",
    "web_app",
}
OTHER_MARKUP = {"keyboard", "remove_keyboard", "force_reply"}
MOST_BUTTONS = 100


def read_buttons(params: Params) -> list[list[dict[str, Any]]]:
    """Return the rows of buttons; none for another kind of keyboard. Raises Refused."""
    markup = params.json("reply_markup") or {}
    if not isinstance(markup, dict):
        raise Refused("object expected as reply markup")
    rows = markup.get("inline_keyboard", [])
    if markup and "inline_keyboard" not in markup and not OTHER_MARKUP & markup.keys():
        raise Refused("can't parse reply keyboard markup JSON object")
    if sum(len(row) for row in rows) > MOST_BUTTONS:
        raise Refused("REPLY_MARKUP_TOO_LONG")
    return [[_button(button) for button in row] for row in rows if row]


def _button(button: dict[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in button.items() if value is not None}
    if not str(shown.get("text", "")).strip():
        raise Refused('can\'t parse inline keyboard button: Field "text" must be of type String')
    actions = ACTIONS & shown.keys()
    if not actions:
        raise Refused("Text buttons are unallowed in the inline keyboard")
    if len(actions) > 1:
        raise Refused("can't parse inline keyboard button: exactly one action must be used")
    if "callback_data" in shown and not 1 <= len(shown["callback_data"].encode()) <= 64:
        raise Refused("BUTTON_DATA_INVALID")
    if "url" in shown and not shown["url"].startswith(("http://", "https://", "tg://")):
        raise Refused(f"inline keyboard button URL '{shown['url']}' is invalid: Wrong HTTP URL")
    return shown
