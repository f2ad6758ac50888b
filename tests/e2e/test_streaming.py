"""A long answer grows before the reader's eyes at a pace Telegram allows, and not a word of it is lost."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
import pytest_asyncio

from tests.e2e.stage import Stage
from tests.fakes.anthropic import text
from tests.fakes.telegram import Call, Message, RateLimit, units

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMIT = 4096
LEAST_LENGTH = 10_000
END = "The very last words."
HIDDEN = re.compile(r"https?://\S+|(?<=```)\w+")
"""What a reader does not see as text: the addresses of links, the language of code."""

EMOJI = ("🌳", "👨‍👩‍👧‍👦", "🇫🇷", "👍🏽")


def _long_answer() -> str:
    """Markdown with everything that a model likes to write, in two languages, over several messages."""
    sections = [
        f"## Раздел {number}: как растёт дерево 🌳\n\n"
        f"Это **важно{number}** и _курсив{number}_, со ссылкой [сюда{number}](https://example.org/{number}) "
        f"и кодом `tree.grow({number})`, а 5 < 7 && a || b. {' '.join(EMOJI[1:])}\n\n"
        f"- первый пункт {number}\n- второй пункт {number}\n  - вложенный пункт {number}\n\n"
        f"```python\ndef grow_{number}(tree: list[str]) -> None:\n"
        + "".join(f"    tree.append('leaf {number}-{leaf} <T>')  # листок\n" for leaf in range(6))
        + f"```\n\n| колонка {number} | value |\n|---|---|\n| строка {number} | {number * 7} |\n\n"
        f"> цитата номер {number}\n\n" + f"Обычное предложение номер {number} о деревьях. " * 5
        for number in range(1, 15)
    ]
    return "\n\n".join([*sections, END])


@dataclass(frozen=True, slots=True)
class Streamed:
    """One long answer: its final messages, and every call that showed something of it."""

    written: str
    messages: list[Message]
    calls: list[Call]
    throttled: int


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def streamed(shared: Stage) -> Streamed:
    anna, written = shared.person(), _long_answer()
    shared.rules.when("about trees", text(written))
    shared.tg.limit = RateLimit(seconds=0.95, burst=4)
    shared.api.pace = 0.006
    asked = await anna.send("Write everything about trees")
    await anna.answer_after(asked, 60, containing=END)
    shared.api.pace = 0.0
    await anna.answer_after(await anna.send("/help"), containing="/memory")
    calls = shared.tg.calls_of("sendMessage", "editMessageText", chat=anna)[:-1]
    return Streamed(written, anna.answers_after(asked)[:-1], calls, shared.tg.throttled)


async def test_a_long_answer_arrives_whole_and_in_order(streamed: Streamed) -> None:
    assert len(streamed.written) >= LEAST_LENGTH
    seen = "\n".join(message.text for message in streamed.messages)
    assert _words(seen) == _words(streamed.written)
    assert [seen.count(emoji) for emoji in EMOJI] == [streamed.written.count(emoji) for emoji in EMOJI]


async def test_every_part_fits_into_a_message_and_is_well_filled(streamed: Streamed) -> None:
    lengths = [units(message.text) for message in streamed.messages]
    assert all(length <= LIMIT for length in lengths)
    assert len(lengths) <= 2 + sum(lengths) // LIMIT


async def test_the_final_messages_are_formatted(streamed: Streamed) -> None:
    for message in streamed.messages:
        assert {"bold", "italic", "code", "pre", "text_link"} <= {
            entity["type"] for entity in message.entities
        }
    shown = "\n".join(message.text for message in streamed.messages)
    assert "**" not in shown
    assert "```" not in shown
    assert "a || b" in shown
    assert "<T>" in shown


async def test_the_answer_can_be_read_while_it_is_written(streamed: Streamed) -> None:
    first, *_, last = streamed.calls
    assert last.at - first.at > 2
    assert streamed.messages[0].earlier
    assert END not in first.params["text"]


async def test_the_chat_is_not_flooded(streamed: Streamed) -> None:
    assert streamed.throttled == 0
    seconds = streamed.calls[-1].at - streamed.calls[0].at
    assert len(streamed.calls) <= seconds + 4


def _words(shown: str) -> list[str]:
    return re.findall(r"[^\W_]+", HIDDEN.sub(" ", shown))
