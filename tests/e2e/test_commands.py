"""Commands and buttons of people in their private chats, and silence towards everybody else."""

from __future__ import annotations

import re
import time

import pytest

from bot.texts import text as said_by_bot
from tests.e2e.stage import Stage
from tests.fakes.anthropic import Answer, last_user_text, last_user_words, text, tool_use
from tests.fakes.telegram import Chat, Message, server_error

ADMIN, STRANGER = 77, 99
SETTINGS = {"users": range(40_001, 40_100), "admins": [ADMIN]}
pytestmark = pytest.mark.asyncio(loop_scope="module")

FLOWERS = (
    "aster",
    "begonia",
    "crocus",
    "dahlia",
    "edelweiss",
    "fuchsia",
    "gentian",
    "hyacinth",
    "iris",
    "lily",
)


def _saves(*contents: str) -> Answer:
    answer = tool_use("save_to_memory", {"content": contents[0]})
    for content in contents[1:]:
        answer += tool_use("save_to_memory", {"content": content})
    return answer


async def _told(stage: Stage, chat: Chat, *contents: str) -> None:
    """Let the chat remember these."""
    words = f"remember for {chat.id}"
    stage.rules.when(words, _saves(*contents), text("All noted."))
    await chat.answer_after(await chat.send(words), containing="All noted.")


async def _command(chat: Chat, words: str) -> Message:
    return await chat.answer_after(await chat.send(words))


def _ids(listed: Message) -> list[int]:
    return [int(number) for number in re.findall(r"#(\d+)", listed.text)]


async def test_start_and_help_speak_the_language_of_the_person(shared: Stage) -> None:
    anna, boris = shared.person("Anna", "en"), shared.person("Борис", "ru")

    assert (await _command(anna, "/start")).text.startswith("Hello, Anna!")
    assert (await _command(anna, "/help")).text == said_by_bot("session-help", "en")
    assert "Борис" in (await _command(boris, "/start")).text
    assert (await _command(boris, "/help")).text == said_by_bot("session-help", "ru")


async def test_the_menu_of_commands_is_set_in_both_languages(shared: Stage) -> None:
    menus = {language: commands for (_, language), commands in shared.tg.world.commands.items()}

    assert menus.keys() == {"", "ru"}
    assert {"memory", "forget", "new", "stop", "help"} <= {command["command"] for command in menus[""]}


async def test_memory_lists_everything_page_by_page(shared: Stage) -> None:
    anna = shared.person()
    await _told(shared, anna, *(f"Anna has a {flower}" for flower in FLOWERS))

    listed = await _command(anna, "/memory")
    assert listed.text.startswith(said_by_bot("memory-list", "en", count=10))
    assert (len(_ids(listed)), listed.labels) == (8, ["▶"])

    await anna.wait_query(await anna.press(listed, "▶"))
    await anna.wait_for(lambda _: listed.labels == ["◀"])
    assert [flower for flower in FLOWERS if f"a {flower}" in listed.text] == ["aster", "begonia"]

    await anna.wait_query(await anna.press(listed, "◀"))
    await anna.wait_for(lambda _: listed.labels == ["▶"])


async def test_memory_with_words_finds_what_fits_in_this_chat(shared: Stage) -> None:
    anna, boris = shared.person(), shared.person("Boris")
    await _told(shared, anna, "Anna's canoe is painted green", "Anna's brother lives in Lisbon")
    await _told(shared, boris, "Boris has a canoe made of aluminium")

    found = await _command(anna, "/memory canoe")

    assert "green" in found.text
    assert "Lisbon" not in found.text
    assert "aluminium" not in found.text
    assert (await _command(anna, "/memory search brother")).text.count("Lisbon") == 1


async def test_forget_asks_and_cancel_keeps(shared: Stage) -> None:
    anna = shared.person()
    await _told(shared, anna, "Anna's canoe is painted green")

    asked = await _command(anna, "/forget canoe")
    assert "painted green" in asked.text
    await anna.press(asked, "Keep")

    await anna.wait_for(lambda _: asked.text == said_by_bot("forget-kept", "en"))
    assert asked.labels == []
    assert "painted green" in (await _command(anna, "/memory")).text


async def test_forget_by_number_can_be_taken_back(shared: Stage) -> None:
    anna = shared.person()
    await _told(shared, anna, "Anna's canoe is painted green", "Anna's brother lives in Lisbon")
    [brother, canoe] = _ids(await _command(anna, "/memory"))

    asked = await _command(anna, f"/forget {canoe}")
    await anna.press(asked, "Forget")
    await anna.wait_for(lambda _: "Bring back" in asked.labels)
    assert _ids(await _command(anna, "/memory")) == [brother]
    shared.tg.fail("answerCallbackQuery", server_error())
    await anna.press(asked, "Bring back")
    await anna.wait_for(lambda _: not asked.labels)

    assert _ids(await _command(anna, "/memory")) == [brother, canoe]


async def test_undo_brings_back_what_the_model_has_forgotten(shared: Stage) -> None:
    anna = shared.person()
    await _told(shared, anna, "Anna's canoe is painted green")
    [canoe] = _ids(await _command(anna, "/memory"))
    shared.rules.when("forget my canoe", tool_use("forget_memory", {"id": canoe}), text("Gone."))
    await anna.answer_after(await anna.send("forget my canoe"), containing="Gone.")
    assert (await _command(anna, "/memory")).text == said_by_bot("memory-list", "en", count=0)

    await _command(anna, "/undo")

    assert _ids(await _command(anna, "/memory")) == [canoe]


async def test_what_was_forgotten_is_not_recalled(shared: Stage) -> None:
    anna = shared.person()
    await _told(shared, anna, "Anna's canoe is painted green")
    asked = await _command(anna, "/forget all")
    await anna.press(asked, "Forget")
    await anna.wait_for(lambda _: "Bring back" in asked.labels)
    await _command(anna, "/new")

    await anna.answer_after(await anna.send("Which colour is my canoe?"))

    assert "green" not in shared.api.asked[-1].words


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("/forget", "forget-what"),
        ("/forget 999999", "forget-not-found"),
        ("/forget zebra", "forget-not-found"),
    ],
)
async def test_a_forget_without_an_aim_says_so(shared: Stage, command: str, key: str) -> None:
    assert (await _command(shared.person(), command)).text == said_by_bot(key, "en")


async def test_a_button_that_is_too_old_says_so(shared: Stage) -> None:
    anna = shared.person()
    await _told(shared, anna, "Anna's canoe is painted green")
    asked = await _command(anna, "/forget canoe")

    said = await anna.wait_query(await anna.press(asked, "Forget", old=True))

    assert said == said_by_bot("say-stale", "en")
    assert "painted green" in (await _command(anna, "/memory")).text


async def test_stop_ends_an_answer_at_once_and_keeps_what_was_written(shared: Stage) -> None:
    anna = shared.person()
    shared.rules.when("tell me a story", text("Once upon a time there was a canoe. " * 40))
    hold = shared.api.hold(40, when=lambda request: "story" in last_user_words(request))
    asked = await anna.send("tell me a story")
    await hold.reached()
    answer = await anna.answer_after(asked)

    started = time.monotonic()
    await anna.send("/stop")
    await anna.wait_for(lambda _: answer.text.endswith("⏹"))

    assert time.monotonic() - started < 2
    assert answer.text.startswith("Once upon a time")
    await anna.answer_after(await anna.send("and now?"), containing="I see.")
    assert len(anna.answers_after(asked)) == 2


async def test_stop_ends_an_answer_that_has_not_begun(shared: Stage) -> None:
    anna = shared.person()
    hold = shared.api.hold(None, when=lambda request: "epic" in last_user_words(request))
    asked = await anna.send("tell me an epic")
    await hold.reached()

    await anna.send("/stop")

    assert (await anna.answer_after(asked)).text == "⏹"


async def test_stop_without_an_answer_says_so(shared: Stage) -> None:
    assert (await _command(shared.person(), "/stop")).text == said_by_bot("session-nothing-to-stop", "en")


async def test_new_begins_without_the_history_and_with_the_memories(shared: Stage) -> None:
    anna = shared.person()
    await _told(shared, anna, "Anna's canoe is painted green")
    await anna.answer_after(await anna.send("Which colour is my canoe?"))
    assert len(shared.api.asked[-1].messages) == 3

    assert (await _command(anna, "/new")).text == said_by_bot("session-new", "en")
    assert (await _command(anna, "/new")).text == said_by_bot("session-new-already", "en")
    await anna.answer_after(await anna.send("Which colour is my canoe?"), containing="I see.")

    assert len(shared.api.asked[-1].messages) == 1
    assert "painted green" in shared.api.asked[-1].words


async def test_admin_reports_to_admins_only(shared: Stage) -> None:
    admin, anna = shared.tg.private_chat(ADMIN, "Root"), shared.person()

    assert (await _command(admin, "/admin")).text.startswith("Chats: ")
    assert (await _command(anna, "/admin")).text == said_by_bot("chat-unknown-command", "en")


async def test_an_unknown_command_and_a_picture_are_answered_without_a_model(shared: Stage) -> None:
    anna, before = shared.person(), len(shared.api.asked)

    assert (await _command(anna, "/dance")).text == said_by_bot("chat-unknown-command", "en")
    picture = await anna.send_photo(b"picture")
    assert (await anna.answer_after(picture)).text == said_by_bot("chat-only-text", "en")
    assert len(shared.api.asked) == before


async def test_forwarded_words_can_be_found_later_but_are_no_facts_about_the_person(shared: Stage) -> None:
    anna = shared.person()
    shared.rules.when("my canoe is red", _saves("Anna's canoe is red"), text("That was not you."))
    origin = {"type": "hidden_user", "sender_user_name": "Somebody", "date": 1_700_000_000}
    await anna.answer_after(await anna.send("my canoe is red", forward_origin=origin))

    listed = await _command(anna, "/memory")
    await anna.answer_after(await anna.send("Which colour is my canoe?"))

    assert "knowledge" in listed.text
    assert "fact" not in listed.text
    assert 'origin="forwarded"' in last_user_text(shared.api.asked[-1])


async def test_a_stranger_gets_their_number_once_and_reaches_no_model(shared: Stage) -> None:
    stranger, before = shared.tg.private_chat(STRANGER, "Mallory"), len(shared.api.requests)

    answer = await _command(stranger, "let me in, please")
    second = await stranger.send("please please please")
    third = await stranger.send("/memory")
    await shared.tg.wait_confirmed(third.update_id)
    await _command(shared.person(), "/help")

    assert str(STRANGER) in answer.text
    assert stranger.answers_after(second) == []
    assert len(shared.api.requests) == before


async def test_nothing_is_said_in_groups(shared: Stage) -> None:
    anna, before = shared.person(), len(shared.api.requests)
    group = shared.tg.group(-1_000_123, anna)

    for words in ("hello everybody", "/start", "/memory"):
        last = await group.send(words)
    await shared.tg.wait_confirmed(last.update_id)
    await _command(anna, "/help")

    assert group.visible == []
    assert len(shared.api.requests) == before
