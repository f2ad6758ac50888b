"""What `GET /v1/models/{id}` tells about a model."""

from __future__ import annotations

from typing import Any

from tests.fakes.anthropic.refused import Refused
from tests.fakes.anthropic.validation import EFFORTS, MAX_OUTPUT, MODELS

YES = {"supported": True}
NO = {"supported": False}


def model_info(model: str) -> dict[str, Any]:
    """Raises Refused for an unknown model."""
    if model not in MODELS:
        raise Refused(f"model: {model}", status=404, kind="not_found_error")
    return {
        "type": "model",
        "id": model,
        "display_name": model.removeprefix("claude-").replace("-", " ").title(),
        "created_at": "2026-09-28T00:00:00Z",
        "lifecycle": "active",
        "retires_at": None,
        "max_input_tokens": 1_000_000,
        "max_tokens": MAX_OUTPUT,
        "capabilities": _capabilities(),
    }


def _capabilities() -> dict[str, Any]:
    kinds = {"adaptive": YES, "between_tools": YES, "disabled": NO, "enabled": NO}
    return {
        "batch": YES,
        "citations": YES,
        "code_execution": YES,
        "context_management": YES,
        "effort": {**YES, **dict.fromkeys(EFFORTS, YES)},
        "image_input": YES,
        "pdf_input": YES,
        "server_tools": {**YES, "code_execution": YES, "web_search": YES},
        "structured_outputs": YES,
        "thinking": {**YES, "types": kinds},
    }
