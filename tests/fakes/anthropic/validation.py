"""What the Messages API refuses about a request as a whole: headers, parameters, tools, breakpoints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.fakes.anthropic.content import check_messages, check_text_block
from tests.fakes.anthropic.refused import Refused

MODELS = frozenset(
    {
        "claude-fable-5-1",
        "claude-haiku-4-5",
        "claude-haiku-5-5",
        "claude-opus-4-6",
        "claude-opus-5-5",
        "claude-sonnet-5-5",
    }
)
VERSIONS = ("2023-06-01", "2026-10-21")
MAX_BYTES = 32 * 1024 * 1024
MAX_OUTPUT = 128_000
SAMPLING = ("temperature", "top_p", "top_k")
COUNTED = {
    "cache_control",
    "messages",
    "model",
    "output_config",
    "speed",
    "system",
    "thinking",
    "tool_choice",
    "tools",
}
KNOWN = COUNTED | {
    "container",
    "diagnostics",
    "inference_geo",
    "max_tokens",
    "metadata",
    "service_tier",
    "stop_sequences",
    "stream",
}
TOOL_KEYS = {
    "allowed_callers",
    "cache_control",
    "defer_loading",
    "description",
    "eager_input_streaming",
    "input_examples",
    "input_schema",
    "name",
    "strict",
    "type",
}
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
EFFORTS = ("low", "medium", "high", "xhigh", "max")


def check_headers(headers: Mapping[str, str], key: str) -> None:
    """Refuse a request without the key or the version of the API; names of `headers` ignore case."""
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    given = bearer or headers.get("x-api-key", "")
    if not given:
        raise Refused("x-api-key header is required", status=401, kind="authentication_error")
    if given != key:
        raise Refused("invalid x-api-key", status=401, kind="authentication_error")
    if "anthropic-version" not in headers:
        raise Refused("anthropic-version: header is required")
    if headers["anthropic-version"] not in VERSIONS:
        raise Refused(f'anthropic-version: "{headers["anthropic-version"]}" is not a valid version')


def check_content_type(headers: Mapping[str, str]) -> None:
    if headers.get("content-type", "").partition(";")[0] != "application/json":
        raise Refused("content-type: must be application/json")


def parse(raw: bytes) -> dict[str, Any]:
    """Read the body. Raises Refused for what is too large, no JSON object or no Unicode."""
    if len(raw) > MAX_BYTES:
        raise Refused("Request exceeds the maximum size", status=413, kind="request_too_large")
    try:
        body = json.loads(raw.decode("utf-8"))
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        raise Refused("The request body is not valid JSON: no low surrogate in string") from None
    except ValueError:
        raise Refused("The request body is not valid JSON") from None
    if not isinstance(body, dict):
        raise Refused("Input should be a valid dictionary")
    return body


def check(body: Mapping[str, Any], *, counting: bool = False) -> None:
    """Refuse what the API refuses; with `counting`, by the rules of count_tokens."""
    _check_names(body, COUNTED if counting else KNOWN)
    _check_model(body)
    if not counting:
        _check_max_tokens(body)
    _check_system(body.get("system", ""))
    _check_tools(body.get("tools", []))
    check_messages(body.get("messages"), has_tools=bool(body.get("tools")))
    _check_choice(body)
    _check_thinking(body.get("thinking"))
    _check_output(body.get("output_config", {}))
    _check_stop_sequences(body.get("stop_sequences", []))
    _check_breakpoints(body)


def marks(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield each cache_control in the order of the prompt; the automatic one comes last."""
    for block in [*body.get("tools", ()), *_blocks(body.get("system", ()))]:
        if block.get("cache_control"):
            yield block["cache_control"]
    for message in body.get("messages", ()):
        for block in _blocks(message["content"]):
            inner = _blocks(block.get("content", ())) if block["type"] == "tool_result" else []
            yield from (part["cache_control"] for part in [*inner, block] if part.get("cache_control"))
    if body.get("cache_control"):
        yield body["cache_control"]


def _check_names(body: Mapping[str, Any], known: set[str]) -> None:
    for name in body:
        if name in SAMPLING:
            raise Refused(f"`{name}` is not supported for this model.")
        if name not in known:
            raise Refused(f"{name}: Extra inputs are not permitted")


def _check_model(body: Mapping[str, Any]) -> None:
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise Refused("model: Field required")
    if model not in MODELS:
        raise Refused(f"model: {model}", status=404, kind="not_found_error")


def _check_max_tokens(body: Mapping[str, Any]) -> None:
    limit = body.get("max_tokens")
    if limit is None:
        raise Refused("max_tokens: Field required")
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise Refused("max_tokens: Input should be a valid integer")
    if limit < 1:
        raise Refused("max_tokens: Input should be greater than or equal to 1")
    if limit > MAX_OUTPUT:
        raise Refused(f"max_tokens: {limit} > {MAX_OUTPUT}, which is the maximum for {body['model']}")


def _check_system(system: object) -> None:
    if isinstance(system, str):
        return
    if not isinstance(system, list):
        raise Refused("system: Input should be a valid string or list")
    for index, block in enumerate(system):
        check_text_block(block, f"system.{index}")


def _check_tools(tools: Sequence[Mapping[str, Any]]) -> None:
    names = [_tool_name(tool, f"tools.{index}") for index, tool in enumerate(tools)]
    if len(set(names)) < len(names):
        raise Refused("tools: Tool names must be unique.")


def _tool_name(tool: Mapping[str, Any], path: str) -> str:
    for key in tool.keys() - TOOL_KEYS:
        raise Refused(f"{path}.custom.{key}: Extra inputs are not permitted")
    name = tool.get("name")
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise Refused(f"{path}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
    schema = tool.get("input_schema")
    if not isinstance(schema, Mapping):
        raise Refused(f"{path}.custom.input_schema: Field required")
    if schema.get("type") != "object":
        raise Refused(f"{path}.custom.input_schema.type: Input should be 'object'")
    if not isinstance(tool.get("description", ""), str):
        raise Refused(f"{path}.custom.description: Input should be a valid string")
    return name


def _check_choice(body: Mapping[str, Any]) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not body.get("tools"):
        raise Refused("tool_choice: may only be specified while providing tools")
    if choice.get("type") in ("any", "tool"):
        raise Refused("tool_choice: forcing the use of a tool is not supported for this model.")
    if choice.get("type") not in ("auto", "none"):
        raise Refused("tool_choice: Input should be 'auto', 'any', 'tool' or 'none'")


def _check_thinking(config: Mapping[str, Any] | None) -> None:
    if config is None:
        return
    kind = config.get("type")
    if kind in ("disabled", "enabled"):
        raise Refused(f'thinking: "{kind}" is not supported for this model.')
    if kind not in ("adaptive", "between_tools"):
        raise Refused("thinking: Input tag should be 'adaptive', 'between_tools', 'disabled' or 'enabled'")
    allowed = {"type", "display"} if kind == "adaptive" else {"type"}
    for key in config.keys() - allowed:
        raise Refused(f"thinking.{kind}.{key}: Extra inputs are not permitted")
    if config.get("display", "omitted") not in ("summarized", "omitted"):
        raise Refused("thinking.adaptive.display: Input should be 'summarized' or 'omitted'")


def _check_output(config: Mapping[str, Any]) -> None:
    for key in config.keys() - {"effort", "format"}:
        raise Refused(f"output_config.{key}: Extra inputs are not permitted")
    if config.get("effort", "low") not in EFFORTS:
        raise Refused("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
    form = config.get("format")
    if form is None:
        return
    if form.get("type") != "json_schema" or not isinstance(form.get("schema"), Mapping):
        raise Refused("output_config.format: a json_schema with its schema is required")
    _check_closed(form["schema"], "output_config.format.schema")


def _check_closed(schema: object, path: str) -> None:
    """Each object of an output schema has to forbid what it does not name."""
    if isinstance(schema, list):
        for item in schema:
            _check_closed(item, path)
    if not isinstance(schema, Mapping):
        return
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        raise Refused(f"{path}: For 'object' type, 'additionalProperties' must be explicitly set to false")
    for value in schema.values():
        _check_closed(value, path)


def _check_stop_sequences(sequences: Sequence[object]) -> None:
    if any(not isinstance(word, str) or not word.strip() for word in sequences):
        raise Refused("stop_sequences: each stop sequence must contain non-whitespace")


def _check_breakpoints(body: Mapping[str, Any]) -> None:
    found = list(marks(body))
    if len(found) > 4:
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {len(found)}.")
    ttls = [_ttl(mark) for mark in found]
    if ttls != sorted(ttls):
        raise Refused('cache_control: a ttl="1h" block must not come after a ttl="5m" block')


def _ttl(mark: Mapping[str, Any]) -> str:
    ttl = mark.get("ttl", "5m")
    if mark.get("type") != "ephemeral" or ttl not in ("5m", "1h") or mark.keys() - {"type", "ttl"}:
        raise Refused("cache_control: Input should be {'type': 'ephemeral'} with a ttl of '5m' or '1h'")
    return str(ttl)


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    return list(content) if isinstance(content, list) else []
