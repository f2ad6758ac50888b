"""The model over the Messages API: streaming, retries within a budget, one kind of error for each fault."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from typing import Any, TypeVar

import anthropic
import httpx2

from bot import config
from bot.faults import Fault, Verdict, judge
from bot.ports import (
    Completed,
    ModelEvent,
    ModelRequest,
    ModelUnavailable,
    Restarted,
    Stop,
    TextDelta,
    ToolCall,
)
from bot.pricing import cost_usd
from bot.rendering import Block, Style, render, said
from memory.errors import ConfigError
from memory.usage import Usage

log = logging.getLogger(__name__)

TRIES = 3
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 8.0
CONNECT_SECONDS = 10.0
NO_KEY = "none"
"""Sent to a server of one's own that asks for no key; the SDK cannot do without one."""

STOPS: Mapping[str | None, Stop] = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "tool_use": Stop.TOOLS,
    "max_tokens": Stop.LENGTH,
    "pause_turn": Stop.PAUSE,
    "refusal": Stop.REFUSAL,
    "model_context_window_exceeded": Stop.TOO_LONG,
}
"""The vendor's stop reasons; one that is not listed counts as an end."""

# The SDK can be told by an environment variable to log whole requests, with all that was said in them.
for _library in ("anthropic", "httpx2", "httpcore2"):
    logging.getLogger(_library).setLevel(logging.WARNING)

# What the SDK lets through when a server is away, hangs, tears the stream or sends what is no stream.
_FAULTS = (
    anthropic.APIError,
    httpx2.HTTPError,
    TimeoutError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
)
_T = TypeVar("_T")


class ClaudeModel:
    """A `ChatModel`. One object serves all chats; close it at the end."""

    def __init__(
        self,
        settings: config.Claude,
        *,
        model: str = "",
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`model` stands in for the one for chats. Raises ConfigError for a key that cannot be one."""
        self._settings = settings
        self._pause = pause
        self._chance = chance
        plain = settings.profile == "compatible"
        self._style = Style(model or settings.model, settings.effort, plain=plain)
        self._client = _client(settings)

    async def close(self) -> None:
        await self._client.close()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield the answer as it is written. A stream that breaks is begun anew, announced by `Restarted`.

        Raises ModelUnavailable, ModelMisconfigured and PromptTooLong.
        """
        started, tries, style = _time(), 1, self._style
        while True:
            attempt = _Attempt(self._client, request, style, started + self._settings.turn_seconds)
            try:
                async with aclosing(attempt.deltas()) as deltas:
                    async for delta in deltas:
                        yield TextDelta(delta)
            except _Failed as failed:
                verdict = failed.verdict
                self._note(request, failed.fault, tries)
            else:
                self._style = replace(style, optional=style.optional | {"thinking"})
                yield attempt.completed()
                return
            if (fewer := style.without(verdict.optional)) != style:
                style = fewer
            elif await self._may_retry(verdict, tries, started):
                tries += 1
            elif attempt.text.strip() and verdict.kind is ModelUnavailable:
                yield Completed(attempt.text, (), Stop.CUT, content=None, usage=attempt.usage())
                return
            else:
                raise verdict.error()
            if attempt.text:
                yield Restarted()

    async def _may_retry(self, verdict: Verdict, tries: int, started: float) -> bool:
        """Wait for the next try, unless that would be too late or in vain."""
        wait = verdict.wait_seconds
        if wait is None:
            wait = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (tries - 1))
        wait *= 1 + self._chance() / 2
        late = _time() - started + wait > self._settings.timeout_seconds
        if not verdict.retry or tries >= TRIES or late:
            return False
        await self._pause(wait)
        return True

    def _note(self, request: ModelRequest, fault: Fault, tries: int) -> None:
        facts = {"error": fault.name, "status": fault.status, "type": fault.type, "code": fault.code}
        log.warning("a call to the model failed", extra={"chat_id": request.chat_id, "try": tries, **facts})


class _Failed(Exception):
    """An attempt broke."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.name)
        self.fault = fault
        self.verdict = judge(fault)


class _Attempt:
    """One HTTP call and what came of it."""

    def __init__(
        self, client: anthropic.AsyncAnthropic, request: ModelRequest, style: Style, deadline: float
    ) -> None:
        self.text = ""
        self._client = client
        self._request = request
        self._style = style
        self._deadline = deadline
        self._message: Any = None
        self._arguments: dict[int, str] = {}  # of the tool calls as they were written, by block

    async def deltas(self) -> AsyncGenerator[str, None]:
        """Yield the text as it comes; afterwards `completed` has the whole. Raises _Failed."""
        async with AsyncExitStack() as stack:
            manager = self._client.messages.stream(**render(self._request, self._style))
            stream = await self._guarded(stack.enter_async_context(manager))
            while (event := await self._guarded(anext(stream, None))) is not None:
                if event.type == "message_start":
                    self._message = stream.current_message_snapshot
                for delta in self._read(event):
                    self.text += delta
                    yield delta
        if self._message is None or self._message.stop_reason is None:
            raise _Failed(Fault("CutStream", status=200))

    def completed(self) -> Completed:
        stop = STOPS.get(self._message.stop_reason, Stop.END)
        blocks = [block.to_dict(mode="json") for block in self._message.content]
        calls = [
            ToolCall(block["id"], block["name"], self._checked_arguments(index, block))
            for index, block in enumerate(blocks)
            if block["type"] == "tool_use"
        ]
        content = said(list(filter(_is_sendable, blocks)), self._request, self._style)
        return Completed(self.text, tuple(calls), stop, content, self.usage())

    def usage(self) -> Usage | None:
        """The tokens that the server counted; a server of one's own may leave out any of them."""
        if self._message is None:
            return None
        counted = self._message.usage
        usage = Usage(
            self._style.model,
            input_tokens=counted.input_tokens or 0,
            cache_read_tokens=counted.cache_read_input_tokens or 0,
            cache_write_tokens=counted.cache_creation_input_tokens or 0,
            output_tokens=counted.output_tokens or 0,
        )
        return replace(usage, cost_usd=cost_usd(usage))

    async def _guarded(self, step: Awaitable[_T]) -> _T:
        """Wait for the SDK, until the deadline at the most."""
        try:
            async with asyncio.timeout_at(self._deadline):
                return await step
        except _FAULTS as error:
            raise _Failed(_fault(error)) from error

    def _read(self, event: Any) -> Iterator[str]:
        match event.type:
            case "text":
                yield event.text
            case "content_block_start" if event.content_block.type == "text":
                yield "\n\n" if self.text.strip() else ""
                yield event.content_block.text
            case "content_block_delta" if event.delta.type == "input_json_delta":
                written = self._arguments.get(event.index, "")
                self._arguments[event.index] = written + event.delta.partial_json

    def _checked_arguments(self, index: int, block: Block) -> Mapping[str, Any]:
        """The arguments of a call, none where they were cut: the SDK would keep the part that came.

        Without them the tool answers with an error, and the model calls it again.
        """
        written = self._arguments.get(index, "")
        try:
            arguments = json.loads(written) if written.strip() else block["input"]
        except ValueError:
            return {}
        return arguments if isinstance(arguments, dict) else {}


def _client(settings: config.Claude) -> anthropic.AsyncAnthropic:
    key = settings.api_key.get_secret_value().strip()
    plain = settings.profile == "compatible"
    if not key and not plain:
        raise ConfigError("claude.api_key is empty; put a key there or into ANTHROPIC_API_KEY.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError("claude.api_key holds characters that no key has; copy it once more.")
    seconds = settings.timeout_seconds
    return anthropic.AsyncAnthropic(
        api_key=key or NO_KEY,
        base_url=settings.base_url,
        # The SDK would obey a retry-after of any length, in silence.
        max_retries=0,
        timeout=httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
        default_headers={"X-Api-Key": key or NO_KEY} if plain else None,
        open_telemetry=False,
    )


def _fault(error: BaseException) -> Fault:
    name = type(error).__name__
    if isinstance(error, anthropic.APIStatusError):
        headers = error.response.headers
        return Fault(
            name,
            error.status_code,
            type=str(error.type or ""),
            code=error.error_code or "",
            message=f"{error.api_message or error.message}",
            retry_after=headers.get("retry-after", ""),
            may_retry=headers.get("x-should-retry") != "false",
        )
    if isinstance(error, anthropic.APIConnectionError | httpx2.HTTPError):
        return Fault(name)
    # Time is up for the whole call; or what came is no stream that the SDK can read.
    return Fault(name, status=200, may_retry=not isinstance(error, TimeoutError))


def _is_sendable(block: Block) -> bool:
    """The API sends empty texts but does not take them back."""
    return block["type"] != "text" or bool(block["text"].strip())


def _time() -> float:
    return asyncio.get_running_loop().time()
