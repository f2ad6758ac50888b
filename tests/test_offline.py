"""The offline brain: what it keeps, what it answers, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from bot.intents import Ask, Note, Talk, intent_of
from bot.offline import SHOWN_CHARS, OfflineModel
from bot.ports import Completed, ModelRequest, Step, Stop, TextDelta, ToolResult, TurnInput
from bot.tool_arguments import MAX_QUERY_CHARS
from memory.ranking import RELEVANT
from memory.types import Hit, Memory, MemoryType, Origin, Score, Status

NOON = datetime(2026, 3, 12, 12, 0, tzinfo=UTC)

KEPT = [
    ("запомни: мою собаку зовут Бублик", "мою собаку зовут Бублик"),
    ("мою собаку зовут Бублик", "мою собаку зовут Бублик"),
    ("Запомни, пожалуйста, что я живу в Омске", "я живу в Омске"),
    ("ЗАПОМНИ что код 4512", "код 4512"),
    ("запиши, что встреча в пятницу", "встреча в пятницу"),
    ("не забудь, что у мамы день рождения 3 мая", "у мамы день рождения 3 мая"),
    ("Можешь запомнить, что мою собаку зовут Бублик?", "мою собаку зовут Бублик"),
    ("заметка: купить молоко", "купить молоко"),
    ("Учти, что я левша", "я левша"),
    ("Привет! Мою собаку зовут Бублик", "Мою собаку зовут Бублик"),
    ("remember that my dog is called Biscuit", "my dog is called Biscuit"),
    ("Remember: the code is 4512", "the code is 4512"),
    ("please remember to buy milk", "buy milk"),
    ("don't forget that I am allergic to nuts", "I am allergic to nuts"),
    ("note: gate code 4512", "gate code 4512"),
    ("can you remember that my dog is called Biscuit?", "my dog is called Biscuit"),
    ("Hello, my name is Ann", "my name is Ann"),
    ("My sister Anna lives in Berlin", "My sister Anna lives in Berlin"),
    ("Когда я был маленьким, мы жили в Омске", "Когда я был маленьким, мы жили в Омске"),
    ("When I was small, we lived in Omsk", "When I was small, we lived in Omsk"),
    ("Как правило, я встаю в семь утра", "Как правило, я встаю в семь утра"),
    ("Кто-то украл мой велосипед вчера", "Кто-то украл мой велосипед вчера"),
    ("Will lives in Boston", "Will lives in Boston"),
    ("мой блог тут https://example.com/page", "мой блог тут https://example.com/page"),
]
PREFERENCES = [
    "я люблю чай без сахара",
    "Обожаю кофе",
    "мне нравится джаз",
    "Мой любимый цвет зелёный",
    "I love tea",
    "I don't like mushrooms",
    "My favourite colour is green",
    "Ann prefers trains to planes",
]
ASKED = [
    ("как зовут моего пса?", "как зовут моего пса?"),
    ("как зовут моего пса", "как зовут моего пса"),
    ("а где я работаю", "а где я работаю"),
    ("В каком городе я живу", "В каком городе я живу"),
    ("Есть ли у меня аллергия", "Есть ли у меня аллергия"),
    ("помнишь, как зовут мою собаку?", "как зовут мою собаку?"),
    ("что ты знаешь о моей собаке", "моей собаке"),
    ("напомни, где я живу", "где я живу"),
    ("расскажи о моей собаке", "моей собаке"),
    ("меня зовут Аня?", "меня зовут Аня?"),
    ("what's my dog called?", "what's my dog called?"),
    ("what is my dog called", "what is my dog called"),
    ("do I like tea", "do I like tea"),
    ("tell me about my dog", "my dog"),
    ("remind me what my dog is called", "what my dog is called"),
    ("remember when we met?", "when we met?"),
    ("do you remember my address?", "my address?"),
]
LEFT_ALONE = [
    ("привет", "offline-hello"),
    ("Добрый день!", "offline-hello"),
    ("hi there", "offline-hello"),
    ("как дела?", "offline-hello"),
    ("what can you do?", "offline-hello"),
    ("спасибо большое за помощь", "offline-thanks"),
    ("Thanks a lot!", "offline-thanks"),
    ("ok", "offline-short"),
    ("нет, не надо", "offline-short"),
    ("👍", "offline-short"),
    ("...", "offline-short"),
    ("кот", "offline-short"),
    ("запомни", "offline-what"),
    ("Remember:", "offline-what"),
    ("забудь про собаку", "offline-forget"),
    ("forget my address", "offline-forget"),
    ("https://example.com/page", "offline-not-a-fact"),
    ("смотри https://example.com/page", "offline-not-a-fact"),
    ("git push origin main", "offline-not-a-fact"),
    ("def f():\n    return 1\n", "offline-not-a-fact"),
    ('{"a": 1, "b": 2}', "offline-not-a-fact"),
    ("one two three. " * 300, "offline-too-long"),
    ("напиши стихотворение о коте", "offline-cannot"),
    ("tell me a joke", "offline-cannot"),
    ("напомни мне завтра позвонить маме", "offline-no-reminders"),
    ("remind me to call mom", "offline-no-reminders"),
]


def memory(text: str = "мою собаку зовут Бублик", **changes: object) -> Memory:
    known = Memory(
        id=7,
        chat_id=1,
        type=MemoryType.FACT,
        text=text,
        origin=Origin.PERSON,
        status=Status.ACTIVE,
        learned_at=NOON,
        valid_from=NOON,
        revision=1,
        speaker="Аня",
    )
    return replace(known, **changes)  # type: ignore[arg-type]


def hit(text: str = "мою собаку зовут Бублик", relevance: float = 0.9, **changes: object) -> Hit:
    return Hit(memory(text, **changes), Score(total=0.5, relevance=relevance))


def request(
    said: str,
    *,
    language: str = "ru",
    recalled: Sequence[Hit] = (),
    steps: Sequence[Step] = (),
    origin: Origin = Origin.PERSON,
    tools_allowed: bool = True,
) -> ModelRequest:
    now = NOON.astimezone(ZoneInfo("Asia/Vladivostok"))
    turn = TurnInput(said, "Аня", NOON, now, language, "", tuple(recalled), origin)
    return ModelRequest(1, "", (), (), turn, tuple(steps), tools_allowed)


async def completed(of: ModelRequest) -> Completed:
    events = [event async for event in OfflineModel().stream(of)]
    end = events[-1]
    assert isinstance(end, Completed)
    assert end.text == "".join(event.text for event in events[:-1] if isinstance(event, TextDelta))
    return end


async def after(said: str, result: ToolResult, language: str = "ru") -> str:
    """What the notebook says when its one tool call has been answered with `result`."""
    first = await completed(request(said, language=language))
    [call] = first.calls
    step = Step(first.content, first.calls, (replace(result, call_id=call.id),))
    end = await completed(request(said, language=language, steps=[step]))
    assert end.stop is Stop.END
    return end.text


@pytest.mark.parametrize(("said", "content"), KEPT)
def test_what_a_person_states_or_wants_remembered_is_kept_in_their_words(said: str, content: str) -> None:
    assert intent_of(said) == Note(content, MemoryType.FACT)


@pytest.mark.parametrize("said", PREFERENCES)
def test_a_liking_is_kept_as_a_preference(said: str) -> None:
    assert intent_of(said) == Note(said, MemoryType.PREFERENCE)


@pytest.mark.parametrize(("said", "topic"), ASKED)
def test_a_question_is_answered_rather_than_kept(said: str, topic: str) -> None:
    assert intent_of(said) == Ask(topic)


@pytest.mark.parametrize(("said", "key"), LEFT_ALONE)
def test_what_is_neither_fact_nor_question_is_left_alone(said: str, key: str) -> None:
    assert intent_of(said) == Talk(key)


@pytest.mark.parametrize("origin", [Origin.FORWARDED, Origin.DOCUMENT, Origin.IMPORTED])
def test_words_of_somebody_else_are_never_kept(origin: Origin) -> None:
    assert intent_of("запомни: мою собаку зовут Бублик", origin) == Talk("offline-not-a-fact")


@pytest.mark.parametrize(
    "said",
    [
        "it is " * 4_000,
        "а и " * 4_000,
        "\n" * 4_000,
        "; \n" * 1_000,
        "привет " * 4_000,
        "спасибо, " * 4_000,
        "не пароль " * 4_000,
        "код a " * 4_000,
        "1 -" * 9_000,
        "remember the a " * 2_000 + "?",
        "save my is" * 3_000,
        "remember " + "a " * 8_000,
        "remember a" + " " * 16_000 + "a",
        "хорошо потом " * 3_000,
        "what бы a " * 3_000 + "?",
        "every on " * 3_000,
    ],
)
@pytest.mark.timeout(5)
def test_a_hostile_text_is_understood_in_good_time(said: str) -> None:
    assert isinstance(intent_of(said), Ask | Note | Talk)


async def test_a_statement_is_saved_through_the_tool() -> None:
    end = await completed(request("запомни: я люблю чай"))

    assert end.stop is Stop.TOOLS
    assert [(call.name, dict(call.arguments)) for call in end.calls] == [
        ("save_to_memory", {"content": "я люблю чай", "type": "preference"})
    ]


async def test_saved_is_said_with_the_number_that_code_returned() -> None:
    assert await after("у меня есть кот", ToolResult("", "", memory_id=12)) == (
        "Записал, воспоминание № 12: у меня есть кот"
    )
    assert await after("I have a cat", ToolResult("", "", memory_id=12), "en") == (
        "Saved as memory 12: I have a cat"
    )


async def test_what_was_known_already_is_not_called_new() -> None:
    told = await after("I have a cat", ToolResult("", "", memory_id=12, created=False), "en")
    assert told == "I know that already, as memory 12: I have a cat"


@pytest.mark.parametrize("result", [ToolResult("", "no", is_error=True), ToolResult("", "Saved!")])
async def test_without_a_number_nothing_is_called_saved(result: ToolResult) -> None:
    assert "could not save" in await after("I have a cat", result, "en")


@pytest.mark.parametrize(
    ("language", "said"), [("en", "cannot be used right now"), ("ru", "сейчас недоступна")]
)
async def test_where_memory_itself_fails_nobody_is_asked_for_other_words(language: str, said: str) -> None:
    told = await after("I have a cat", ToolResult("", "no", is_error=True, broken=True), language)
    assert said in told


async def test_a_question_is_answered_from_what_was_recalled_with_day_and_speaker() -> None:
    late = NOON.replace(hour=20)  # the next day in Vladivostok
    end = await completed(request("как зовут моего пса?", recalled=[hit(valid_from=late)]))

    assert end.calls == ()
    assert end.text == "Вы сказали 13 марта 2026: мою собаку зовут Бублик"


async def test_the_answer_is_in_the_language_of_the_question() -> None:
    end = await completed(request("what is my dog called?", language="en", recalled=[hit()]))
    assert end.text == "You said on 12 March 2026: мою собаку зовут Бублик"


async def test_the_best_three_come_first_and_the_far_weaker_not_at_all() -> None:
    recalled = [hit("first"), hit("second", 0.8), hit("weak", 0.2), hit("third", 0.7), hit("fourth", 0.7)]
    end = await completed(request("what is it?", language="en", recalled=recalled))

    assert [line.rpartition(": ")[2] for line in end.text.splitlines()] == ["first", "second", "third"]


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (hit("x", origin=Origin.DOCUMENT, document="plan.md"), "From the document plan.md, 12 March 2026: x"),
        (hit("x", origin=Origin.ASSISTANT), "From an earlier answer of mine, 12 March 2026: x"),
        (hit("x", origin=Origin.FORWARDED), "From a forwarded message, 12 March 2026: x"),
        (hit("x", speaker=""), "12 March 2026: x"),
        (hit("x", speaker="Борис"), "From Борис, 12 March 2026: x"),
    ],
)
async def test_words_are_only_put_into_the_mouth_of_whoever_said_them(found: Hit, shown: str) -> None:
    end = await completed(request("what is it?", language="en", recalled=[found]))
    assert end.text == shown


async def test_a_long_memory_is_shortened_to_one_line() -> None:
    end = await completed(request("what is it?", language="en", recalled=[hit("word\n" * 1_000)]))

    assert "\n" not in end.text
    assert len(end.text) < SHOWN_CHARS + 100


async def test_a_question_that_nothing_was_recalled_for_is_searched_once() -> None:
    end = await completed(request("что ты знаешь о моей собаке?"))
    assert [(call.name, dict(call.arguments)) for call in end.calls] == [
        ("search_memory", {"query": "моей собаке?"})
    ]

    assert await after("как зовут пса?", ToolResult("", "", hits=(hit(),))) == (
        "Вы сказали 12 марта 2026: мою собаку зовут Бублик"
    )
    assert await after("как зовут пса?", ToolResult("", "")) == "Об этом я пока ничего не знаю."
    assert "could not search" in await after("who am I?", ToolResult("", "", is_error=True), "en")


async def test_what_a_search_found_without_being_sure_is_not_answered_with() -> None:
    found = ToolResult("", "", hits=(hit(relevance=RELEVANT - 0.01),))

    assert await after("как зовут пса?", found) == "Об этом я пока ничего не знаю."


async def test_what_was_said_in_an_earlier_conversation_is_an_answer() -> None:
    end = await completed(request("как зовут пса?", recalled=[hit(type=MemoryType.TURN)]))

    assert end.text == "Вы сказали 12 марта 2026: мою собаку зовут Бублик"


@pytest.mark.parametrize(
    "turn",
    [
        hit("Как зовут моего пса?", type=MemoryType.TURN),
        hit("Об этом я ничего не знаю.", type=MemoryType.TURN, origin=Origin.ASSISTANT, speaker=""),
    ],
    ids=["an earlier question", "an earlier answer"],
)
async def test_what_was_asked_and_answered_before_says_nothing(turn: Hit) -> None:
    alone = await completed(request("как зовут пса?", recalled=[turn]))
    with_a_fact = await completed(request("как зовут пса?", recalled=[turn, hit(relevance=0.4)]))

    assert alone.text == "Об этом я пока ничего не знаю."
    assert with_a_fact.text == "Вы сказали 12 марта 2026: мою собаку зовут Бублик"


async def test_a_question_that_is_too_long_for_a_search_is_searched_by_its_beginning() -> None:
    end = await completed(request("как зовут пса " + "который лает " * 200 + "?"))
    [call] = end.calls
    assert len(call.arguments["query"]) == MAX_QUERY_CHARS


async def test_asked_for_everything_it_points_to_the_list() -> None:
    end = await completed(request("что ты знаешь обо мне?", recalled=[hit()]))
    assert "Бублик" in end.text
    assert "/memory" in end.text


async def test_in_the_last_step_it_answers_without_tools() -> None:
    asked = await completed(request("как зовут пса?", tools_allowed=False))
    told = await completed(request("у меня есть кот", tools_allowed=False))

    assert asked.text == "Об этом я пока ничего не знаю."
    assert "Не получилось" in told.text


async def test_an_answer_comes_in_several_pieces() -> None:
    events = [event async for event in OfflineModel().stream(request("привет"))]
    assert len(events) > 2


async def test_a_forwarded_question_is_not_answered_with_memories() -> None:
    end = await completed(request("как зовут пса?", recalled=[hit()], origin=Origin.FORWARDED))
    assert "Бублик" not in end.text
