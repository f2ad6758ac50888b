"""The parameters of a call, however they came: JSON, form or multipart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.fakes.telegram.refused import Refused


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with a call."""

    name: str
    data: bytes


class Params:
    """Typed access to parameters; form values are strings, nested ones JSON in strings."""

    def __init__(self, values: Mapping[str, Any], uploads: Mapping[str, Upload]) -> None:
        self.values = dict(values)
        self.uploads = dict(uploads)

    def text(self, name: str) -> str:
        value = self.values.get(name, "")
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def integer(self, name: str, default: int = 0) -> int:
        value = self.values.get(name)
        if value is None or value == "":
            return default
        try:
            return int(value)
        except (TypeError, ValueError):
            raise Refused(f"invalid parameter {name} specified: it must be a number") from None

    def flag(self, name: str) -> bool:
        return str(self.values.get(name, "")).lower() in ("true", "1")

    def json(self, name: str, default: Any = None) -> Any:
        """Return a nested value."""
        value = self.values.get(name)
        if value is None or value == "":
            return default
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise Refused(f"can't parse {name.replace('_', ' ')} JSON object") from None

    def upload(self, name: str) -> Upload | None:
        """Return the file that was sent as this parameter; ``None`` when it is an id or an address."""
        return self.uploads.get(self.text(name).removeprefix("attach://")) or self.uploads.get(name)


async def read_params(request: web.Request) -> Params:
    """Read the query and the body. Raises Refused."""
    values: dict[str, Any] = dict(request.query)
    uploads: dict[str, Upload] = {}
    if request.content_type == "application/json":
        values |= await _read_json(request)
    elif request.can_read_body:
        for name, value in (await request.post()).items():
            if isinstance(value, web.FileField):
                uploads[name] = Upload(value.filename, value.file.read())
            else:
                values[name] = value
    _check_unicode(values)
    return Params(values, uploads)


async def _read_json(request: web.Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except ValueError:
        raise Refused("can't parse JSON object") from None
    if not isinstance(body, dict):
        raise Refused("object expected as the body")
    return body


def _check_unicode(values: Mapping[str, Any]) -> None:
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refused("strings must be encoded in UTF-8") from None
