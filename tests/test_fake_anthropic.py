"""The stand-in for the Messages API is as strict as the API and breaks as it does."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import httpx2
import pytest
from anthropic import (
    APIStatusError,
    AsyncAnthropic,
    AuthenticationError,
    BadRequestError,
    NotFoundError,
    PaymentRequiredError,
    RateLimitError,
)

from tests.fakes.anthropic import (
    Answer,
    FakeAnthropic,
    HttpFault,
    Request,
    Rules,
    bad_gateway,
    clean_eof,
    cut_tool_use,
    empty,
    error_event,
    last_user_text,
    last_user_words,
    out_of_credit,
    overloaded,
    rate_limited,
    refusal,
    reset,
    spend_cap,
    stall,
    text,
    thinking,
    tool_results,
    tool_use,
)

MODEL = "claude-sonnet-5-5"
TOOLS = [{"name": "save", "description": "Save.", "input_schema": {"type": "object", "properties": {}}}]
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
LONG = "The system prompt of a test, long enough to be kept. " * 60


@pytest.fixture
async def api() -> AsyncIterator[FakeAnthropic]:
    async with FakeAnthropic() as server:
        yield server


@pytest.fixture
async def client(api: FakeAnthropic) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(api_key=api.key, base_url=api.url, max_retries=0, timeout=5) as client:
        yield client


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def said(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str = "c1") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "save", "input": {}}


def result(call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "saved", **more}


def image(media_type: str, data: bytes) -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": encoded}}


def body(**changes: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 100, "messages": [user("Hello")], **changes}


def turn(*messages: dict[str, Any]) -> dict[str, Any]:
    return body(messages=list(messages), tools=TOOLS)


@dataclass(frozen=True)
class Raw:
    """One answer as bytes."""

    status: int
    text: str

    @property
    def error(self) -> str:
        return f"{json.loads(self.text)['error']['message']}"


async def post(api: FakeAnthropic, data: Any, path: str = "/v1/messages", **headers: str) -> Raw:
    sent = {"x-api-key": api.key, "anthropic-version": "2023-06-01", "content-type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            api.url + path, data=io.BytesIO(raw), headers={k: v for k, v in sent.items() if v}
        ) as response,
    ):
        return Raw(response.status, await response.text())


# What it refuses

MARKED = {**said("x"), "cache_control": {"type": "ephemeral"}}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "SigMadeUp"}


@pytest.mark.parametrize(
    ("request_body", "words"),
    [
        (body(model="claude-sonnet-9"), "model: claude-sonnet-9"),
        (body(max_tokens=0), "greater than or equal to 1"),
        (body(messages=[]), "at least one message"),
        (body(messages=[assistant("Hi"), user("Hello")]), 'must use the "user" role'),
        (body(messages=[{"role": "tool", "content": "Hi"}]), "messages.0.role"),
        (body(messages=[user("")]), "non-empty content"),
        (body(messages=[user([])]), "non-empty content"),
        (body(messages=[user([said("")])]), "must be non-empty"),
        (body(messages=[user(" \n")]), "non-whitespace"),
        (body(system=[said(" ")]), "non-whitespace"),
        (body(messages=[user("a"), assistant("b")]), "prefill"),
        (body(messages=[user([{**said("a"), "id": "x"}])]), "text.id: Extra inputs"),
        (body(temperature=1), "temperature"),
        (body(top_k=5), "top_k"),
        (body(stop="x"), "stop: Extra inputs"),
        (body(thinking={"type": "disabled"}), "thinking"),
        (body(thinking={"type": "enabled", "budget_tokens": 2000}), "thinking"),
        (body(output_config={"effort": "huge"}), "effort"),
        (body(output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}}), "additional"),
        (body(stop_sequences=[" "]), "stop_sequences"),
        (body(tools=TOOLS, tool_choice={"type": "any"}), "tool_choice"),
        (body(tools=TOOLS, tool_choice={"type": "tool", "name": "save"}), "tool_choice"),
        (body(tool_choice={"type": "auto"}), "tool_choice"),
        (body(tools=[*TOOLS, *TOOLS]), "unique"),
        (body(tools=[{**TOOLS[0], "name": "no spaces"}]), "String should match pattern"),
        (body(tools=[{**TOOLS[0], "input_schema": {"type": "array"}}]), "'object'"),
        (body(tools=[{**TOOLS[0], "extra": 1}]), "extra: Extra inputs"),
        (body(messages=[user([MARKED] * 5)]), "maximum of 4"),
        (body(messages=[user([MARKED] * 4)], cache_control={"type": "ephemeral"}), "maximum of 4"),
        (body(messages=[user([said("a"), image("image/jpeg", PNG)])]), "does not match"),
        (body(messages=[user([image("image/heic", PNG)])]), "media_type"),
        (body(messages=[user([image("image/png", b"GIF")])]), "Could not process image"),
        (turn(user("a"), assistant([call("no id")]), user([result("no id")])), "match pattern"),
        (turn(user("a"), assistant([call()]), user("b")), "without `tool_result`"),
        (turn(user("a"), assistant([call(), call("c2")]), user([result()])), "immediately after: c2"),
        (turn(user("a"), assistant([call()]), user([said("b"), result()])), "come first"),
        (turn(user("a"), assistant("b"), user([result()])), "unexpected `tool_use_id`"),
        (turn(user("a"), assistant([call()]), user([result(), result()])), "single result"),
        (turn(user("a"), assistant([call(), call()]), user([result()])), "unique"),
        (
            turn(user("a"), assistant([call()]), user([result()]), assistant([call()]), user([result()])),
            "unique",
        ),
        (turn(user("a"), assistant([call()]), user([result(content="", is_error=True)])), "is_error"),
        (body(messages=[user("a"), assistant([call()]), user([result()])]), "must define tools"),
        (turn(user("a"), assistant([THOUGHT, said("b")]), user("c")), "Invalid `signature`"),
        (body(messages=[user("a"), {"role": "system", "content": "b"}, user("c")]), "system message"),
    ],
)
async def test_a_request_that_the_api_would_refuse_is_refused_with_the_reason(
    api: FakeAnthropic, request_body: dict[str, Any], words: str
) -> None:
    answer = await post(api, request_body)

    assert answer.status in (400, 404)
    assert words in answer.error
    assert [refused.message for refused in api.refusals] == [answer.error]


async def test_good_requests_of_every_kind_are_accepted(api: FakeAnthropic) -> None:
    good = [
        body(messages=[user("a"), user([said("b"), image("image/png", PNG)])]),
        body(tools=TOOLS, tool_choice={"type": "none"}, thinking={"type": "adaptive"}),
        body(system=LONG, output_config={"effort": "low"}, cache_control={"type": "ephemeral"}),
        turn(user("a"), assistant([said("b"), call()]), user([result(), said("c")])),
        body(messages=[user("a"), {"role": "system", "content": "b"}, assistant("c"), user("d")]),
    ]
    for request_body in good:
        assert (await post(api, request_body)).status == 200
    assert api.refusals == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x_api_key": ""}, 401),
        ({"x_api_key": "wrong"}, 401),
        ({"x_api_key": "", "authorization": "Bearer wrong"}, 401),
        ({"anthropic_version": ""}, 400),
        ({"anthropic_version": "2020-01-01"}, 400),
        ({"content_type": "text/plain"}, 400),
    ],
)
async def test_headers_are_required(api: FakeAnthropic, headers: dict[str, str], status: int) -> None:
    assert (await post(api, body(), **headers)).status == status


async def test_a_body_that_is_no_unicode_or_no_json_or_too_large_is_refused(api: FakeAnthropic) -> None:
    assert (await post(api, b'{"model": "\\ud800"}')).status == 400
    assert (await post(api, b"{")).status == 400
    assert (await post(api, b" " * (32 * 1024 * 1024 + 1))).status == 413
    assert len(api.refusals) == 3


async def test_a_base_url_with_v1_ends_in_a_404_of_the_api(api: FakeAnthropic) -> None:
    client = AsyncAnthropic(api_key=api.key, base_url=f"{api.url}/v1", max_retries=0)
    async with client:
        with pytest.raises(NotFoundError) as caught:
            await client.messages.create(**body())

    assert caught.value.type == "not_found_error"
    assert api.refusals[0].path == "/v1/v1/messages"


async def test_a_prompt_larger_than_the_context_window_is_refused() -> None:
    async with FakeAnthropic(context_window=100) as api:
        answer = await post(api, body(messages=[user("word " * 200)]))

    assert "prompt is too long" in answer.error


# What it answers


async def test_a_scripted_dialogue_with_a_tool_reads_like_a_dialogue(
    api: FakeAnthropic, client: AsyncAnthropic
) -> None:
    api.script(text("One moment.") + tool_use("save", {"content": "Бублик — собака"}), text("Saved."))
    messages = [user("My dog is called Бублик")]

    first = await client.messages.create(**body(messages=messages, tools=TOOLS))
    used = next(block for block in first.content if block.type == "tool_use")
    messages += [assistant(first.model_dump()["content"]), user([result(used.id)])]
    async with client.messages.stream(**_streaming(messages)) as stream:
        last = await stream.get_final_message()

    assert first.stop_reason == "tool_use"
    assert used.input == {"content": "Бублик — собака"}
    assert [block.text for block in last.content if block.type == "text"] == ["Saved."]
    assert (last.stop_reason, api.left, api.finished, api.refusals) == ("end_turn", 0, 2, [])


def _streaming(messages: list[Any]) -> dict[str, Any]:
    return body(messages=messages, tools=TOOLS)


async def test_the_stream_has_the_events_of_the_real_one_in_order(api: FakeAnthropic) -> None:
    api.script(text("Words in several pieces.") + tool_use("save", {"a": 1}))

    answer = await post(api, body(stream=True, tools=TOOLS))

    names = [line.removeprefix("event: ") for line in answer.text.splitlines() if line.startswith("event")]
    assert names[:4] == ["message_start", "content_block_start", "ping", "content_block_delta"]
    assert names[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    for piece in ("signature_delta", "text_delta", "input_json_delta"):
        assert answer.text.count(piece) >= 1
    assert answer.text.count('"text_delta"') == 2


async def test_a_brain_answers_by_what_it_is_asked(client: AsyncAnthropic, api: FakeAnthropic) -> None:
    def brain(request: Request) -> Answer:
        if results := tool_results(request):
            return text(f"The tool said: {results[0].text}")
        if "remember" in last_user_text(request):
            return tool_use("save", {"content": last_user_words(request)})
        return text("Fine.")

    api.brain = brain
    messages = [user([said("<memories/>"), said("remember me")])]

    first = await client.messages.create(**body(messages=messages, tools=TOOLS))
    used = next(block for block in first.content if block.type == "tool_use")
    messages += [assistant(first.model_dump()["content"]), user([result(used.id)])]
    second = await client.messages.create(**body(messages=messages, tools=TOOLS))

    assert used.input == {"content": "remember me"}
    assert [block.text for block in second.content if block.type == "text"] == ["The tool said: saved"]


async def test_rules_count_the_tool_rounds_so_that_a_retry_hears_the_same(
    client: AsyncAnthropic, api: FakeAnthropic
) -> None:
    rules = Rules()
    rules.when("dog", tool_use("save", {}), lambda request: text(tool_results(request)[0].text.upper()))
    api.brain = rules
    messages = [user([said("<memories>a cat</memories>"), said("my dog")])]

    await client.messages.create(**body(messages=messages, tools=TOOLS))
    first = await client.messages.create(**body(messages=messages, tools=TOOLS))
    used = next(block for block in first.content if block.type == "tool_use")
    messages += [assistant(first.model_dump()["content"]), user([result(used.id), said("a note")])]
    second = await client.messages.create(**body(messages=messages, tools=TOOLS))
    other = await client.messages.create(**body(messages=[user("cat")]))

    assert [block.text for block in second.content if block.type == "text"] == ["SAVED"]
    assert [block.text for block in other.content if block.type == "text"] == ["I see."]


async def test_special_answers_arrive_as_from_the_api(client: AsyncAnthropic, api: FakeAnthropic) -> None:
    api.script(
        empty(),
        refusal("I cannot help with it.", "cyber"),
        cut_tool_use("save", {"content": "a long text that is cut"}),
        text("Wait").stopped("pause_turn"),
        text("Full").stopped("model_context_window_exceeded"),
        text("New").stopped("a_reason_of_next_year"),
    )

    found = []
    for _ in range(6):
        async with client.messages.stream(**body(tools=TOOLS)) as stream:
            found.append(await stream.get_final_message())

    assert [message.stop_reason for message in found] == [
        "end_turn",
        "refusal",
        "max_tokens",
        "pause_turn",
        "model_context_window_exceeded",
        "a_reason_of_next_year",
    ]
    assert found[0].content == []
    assert found[1].stop_details is not None
    assert found[1].stop_details.category == "cyber"
    assert [block.input for block in found[2].content if block.type == "tool_use"] == [{}]


async def test_tokens_can_be_counted_and_models_looked_up(client: AsyncAnthropic, api: FakeAnthropic) -> None:
    counted = await client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "Hello"}])
    model = await client.models.retrieve(MODEL)

    assert counted.input_tokens > 0
    assert model.lifecycle == "active"
    assert model.capabilities is not None
    assert not model.capabilities.thinking.types.disabled.supported
    with pytest.raises(NotFoundError):
        await client.models.retrieve("claude-none")


async def test_every_byte_sent_is_kept(api: FakeAnthropic) -> None:
    await post(api, body(messages=[user("Бублик")]))
    await post(api, b"{")

    assert [request.raw[:1] for request in api.requests] == [b"{", b"{"]
    assert "Бублик" in api.asked[0].words


# Thinking


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"system": "Another prompt"}, "Invalid `signature`"),
        ({"messages.0": user("Another question")}, "Invalid `signature`"),
        ({"thinking": "Another thought"}, "Invalid `signature`"),
        ({"drop": True}, "cannot be modified"),
    ],
)
async def test_a_thought_comes_back_unchanged_behind_an_unchanged_prefix(
    api: FakeAnthropic, client: AsyncAnthropic, change: dict[str, Any], words: str
) -> None:
    api.script(thinking("Let me save it.") + tool_use("save", {}))
    first = await client.messages.create(**body(tools=TOOLS))
    content = first.model_dump()["content"]
    good = [user("Hello"), assistant(content), user([result(content[1]["id"])])]
    assert (await post(api, body(messages=good, tools=TOOLS))).status == 200

    if "thinking" in change:
        content = [{**content[0], "thinking": change["thinking"]}, content[1]]
    changed = [
        change.get("messages.0", good[0]),
        assistant(content[1:] if change.get("drop") else content),
        good[2],
    ]
    answer = await post(api, body(messages=changed, tools=TOOLS, system=change.get("system", "")))

    assert answer.status == 400
    assert words in answer.error


async def test_thoughts_of_earlier_turns_may_be_left_out_and_breakpoints_may_move(
    api: FakeAnthropic, client: AsyncAnthropic
) -> None:
    api.script(tool_use("save", {}))
    first = await client.messages.create(**body(tools=TOOLS))
    content = first.model_dump()["content"]
    loop = [user([MARKED]), assistant("Done."), user("Next")]
    moved = [user([said("Hello")]), assistant(content), user([{**result(content[1]["id"])}])]
    moved[0]["content"][0]["cache_control"] = {"type": "ephemeral"}

    assert (await post(api, body(messages=loop, tools=TOOLS))).status == 200
    assert (await post(api, body(messages=moved, tools=TOOLS))).status == 200


# The cache


async def test_an_unchanged_prefix_is_read_from_the_cache_until_it_is_too_old() -> None:
    now = [0.0]
    async with FakeAnthropic(now=lambda: now[0]) as api:
        system = [{**said(LONG), "cache_control": {"type": "ephemeral"}}]
        for seconds in (0, 299, 299, 301):
            now[0] += seconds
            await post(api, body(system=system))
        await post(api, body(system=[{**system[0], "text": "!" + LONG}]))

    reads = [usage["cache_read_input_tokens"] for usage in api.usages]
    writes = [usage["cache_creation_input_tokens"] for usage in api.usages]
    assert reads[0] == reads[3] == reads[4] == 0
    assert reads[1] == reads[2] == writes[0] == writes[3] > 512
    assert {usage["input_tokens"] < 50 for usage in api.usages} == {True}


async def test_a_prefix_below_the_minimum_is_silently_not_cached(api: FakeAnthropic) -> None:
    for _ in range(2):
        await post(api, body(cache_control={"type": "ephemeral"}))

    assert [usage["cache_read_input_tokens"] for usage in api.usages] == [0, 0]
    assert [usage["cache_creation_input_tokens"] for usage in api.usages] == [0, 0]


async def test_the_automatic_breakpoint_moves_with_the_conversation_and_looks_back_twenty_blocks(
    api: FakeAnthropic,
) -> None:
    start = [user([said(LONG)])]
    near = [*start, *[user([said(f"{n}")]) for n in range(15)]]
    far = [*near, *[user([said(f"{n}")]) for n in range(25)]]
    for messages in (start, near, far):
        await post(api, body(messages=messages, cache_control={"type": "ephemeral"}))

    first, second, third = api.usages
    assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"] > 0
    assert third["cache_read_input_tokens"] == 0


async def test_another_tool_choice_keeps_the_system_but_not_the_messages_in_the_cache(
    api: FakeAnthropic,
) -> None:
    mark = {"type": "ephemeral"}
    whole = body(system=[{**said(LONG), "cache_control": mark}], messages=[user(LONG)], tools=TOOLS)
    whole["cache_control"] = mark
    for choice in ("auto", "none", "auto"):
        await post(api, {**whole, "tool_choice": {"type": choice}})

    reads = [usage["cache_read_input_tokens"] for usage in api.usages]
    assert 0 == reads[0] < reads[1] < reads[2]


# How it breaks


async def ask(client: AsyncAnthropic) -> str:
    """Stream one answer and return the text that arrived."""
    words = ""
    async with client.messages.stream(**body()) as stream:
        async for piece in stream.text_stream:
            words += piece
        assert (await stream.get_final_message()).stop_reason
    return words


@pytest.mark.parametrize(
    ("fault", "kind", "status"),
    [
        (rate_limited(3), RateLimitError, 429),
        (spend_cap(), RateLimitError, 429),
        (out_of_credit(), PaymentRequiredError, 402),
        (overloaded(), APIStatusError, 529),
        (bad_gateway(), APIStatusError, 502),
        (HttpFault(401, "authentication_error", "invalid x-api-key"), AuthenticationError, 401),
        (HttpFault(400, "invalid_request_error", "no"), BadRequestError, 400),
    ],
)
async def test_a_planned_fault_reaches_the_client_and_leaves_the_script_for_the_retry(
    api: FakeAnthropic, client: AsyncAnthropic, fault: HttpFault, kind: type[APIStatusError], status: int
) -> None:
    api.script(text("The answer"))
    api.fail(fault)

    with pytest.raises(kind) as caught:
        await ask(client)

    assert caught.value.status_code == status
    assert caught.value.response.headers.get("retry-after") == fault.headers.get("retry-after")
    assert await ask(client) == "The answer"
    assert api.refusals == []


async def test_a_spend_cap_carries_its_code(api: FakeAnthropic, client: AsyncAnthropic) -> None:
    api.fail(spend_cap())

    with pytest.raises(RateLimitError) as caught:
        await ask(client)

    assert caught.value.error_code == "enforced_spend_limit_reached"


async def test_an_error_event_comes_inside_of_a_200(api: FakeAnthropic, client: AsyncAnthropic) -> None:
    api.fail(error_event(after=1))

    with pytest.raises(APIStatusError) as caught:
        await ask(client)

    assert (caught.value.status_code, caught.value.type) == (200, "overloaded_error")


@pytest.mark.parametrize("fault", [reset(after=1), reset(after_bytes=200)])
async def test_a_torn_connection_is_an_error_of_the_transport(
    api: FakeAnthropic, client: AsyncAnthropic, fault: Any
) -> None:
    api.script(text("A text of several pieces, so that it can be cut.").broken(fault))

    with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
        await ask(client)

    assert (api.left, api.finished) == (0, 0)


async def test_a_stream_may_end_without_its_last_event(api: FakeAnthropic, client: AsyncAnthropic) -> None:
    api.fail(clean_eof(after=1))
    api.script(text("A text of several pieces."))

    async with client.messages.stream(**body()) as stream:
        message = await stream.get_final_message()

    assert message.stop_reason is None
    assert [block.text for block in message.content if block.type == "text"] == ["A text of se"]


@pytest.mark.parametrize("after", [None, 1])
async def test_a_stalled_answer_runs_into_the_timeout_of_the_client(
    api: FakeAnthropic, client: AsyncAnthropic, after: int | None
) -> None:
    api.fail(stall(after))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await ask(client)

    assert await ask(client) == "I see."


async def test_a_held_answer_goes_on_when_it_is_released(api: FakeAnthropic, client: AsyncAnthropic) -> None:
    api.script(text("A text of several pieces."), text("Another."))
    hold = api.hold(after=1)

    async with asyncio.TaskGroup() as group:
        asking = group.create_task(ask(client))
        await hold.reached()
        assert api.finished == 0
        hold.release()

    assert asking.result() == "A text of several pieces."
    assert await ask(client) == "Another."


async def test_faults_can_be_aimed_at_some_requests_and_taken_back(
    api: FakeAnthropic, client: AsyncAnthropic
) -> None:
    api.fail(overloaded(), times=None, when=lambda request: "Hello" in last_user_text(request))

    for _ in range(2):
        with pytest.raises(APIStatusError):
            await ask(client)
    assert (await post(api, body(messages=[user("Good day")]))).status == 200
    api.heal()

    assert await ask(client) == "I see."
