"""The error that every check raises, in the API's own terms."""

from __future__ import annotations


class Refused(Exception):
    """The API would not accept this request."""

    def __init__(self, message: str, *, status: int = 400, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
