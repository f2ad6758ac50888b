"""The error that every check raises, in the words of the Bot API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Refused(Exception):
    """The Bot API answers this instead of a result."""

    def __init__(
        self, description: str, *, status: int = 400, parameters: Mapping[str, Any] | None = None
    ) -> None:
        prefix = {
            400: "Bad Request: ",
            403: "Forbidden: ",
            404: "Not Found: ",
            409: "Conflict: ",
            429: "Too Many Requests: ",
        }
        super().__init__(description)
        self.description = prefix.get(status, "") + description
        self.status = status
        self.parameters = parameters


def error_body(status: int, description: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return an error in the shape of the Bot API."""
    body: dict[str, Any] = {"ok": False, "error_code": status, "description": description}
    return body | ({"parameters": dict(parameters)} if parameters else {})
