"""Requests as they are sent, and responses as they are read. Nothing here performs I/O, except that the
chunks of a file are read from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import IO, Any, cast
from urllib.parse import urlencode
from uuid import UUID

from headwater_client.errors import ApiError
from headwater_client.options import PREFIX

CHUNK_BYTES = 64 * 1024
_PARAMETER = re.compile(r"/[^/]*[^a-z/-][^/]*")
_DECIMAL = re.compile(r'(?<!\\)"\\u0000([-+.0-9E]+)\\u0000"')
"""A decimal between NULs, because the standard library writes only floats as numbers. Headwater refuses text
with NUL.
"""


class IncompleteResponseError(Exception):
    """A response that ends early, or is not from Headwater."""


@dataclass(frozen=True)
class Response:
    """A complete response."""

    status: int
    retry_after: float
    body: bytes


@dataclass(frozen=True)
class Request:
    """A request that can be sent several times."""

    method: str
    path: str
    url: str
    body: bytes | None = None
    file: IO[bytes] | None = None
    is_repeatable: bool = True
    """Whether repeating the request has no further effect."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    begin: int = 0

    def __str__(self) -> str:
        """Return the operation without its ids and addresses, for messages and the log."""
        return f"{self.method} {_PARAMETER.sub('/…', self.path)}"

    @property
    def is_upload(self) -> bool:
        """Return whether the body is a file's content, which may take long."""
        return self.headers.get("Content-Type") == "text/csv"

    def read_chunks(self) -> Iterator[bytes]:
        """Yield the file from where it stood when the request was made."""
        assert self.file is not None
        self.file.seek(self.begin)
        while chunk := self.file.read(CHUNK_BYTES):
            yield chunk


def make_request(base_url: str, method: str, path: str, query: Mapping[str, Any], body: Any) -> Request:
    """Return the request of an operation. Raises ValueError or TypeError for a body that can't be sent."""
    url = f"{base_url}{PREFIX}{path}"
    if parameters := list(flatten(query)):
        url += "?" + urlencode(parameters)
    is_repeatable = method != "POST" or _may_repeat(path, body)
    if isinstance(body, bytes):
        headers = {"Content-Type": "text/csv"}
        return Request(method, path, url, body, None, is_repeatable, headers)
    if hasattr(body, "read"):
        file = cast("IO[bytes]", body)
        begin, end = file.tell(), file.seek(0, 2)
        file.seek(begin)
        if not isinstance(cast("object", file.read(0)), bytes):
            raise TypeError("the file must be opened in binary mode: open(name, 'rb')")
        headers = {"Content-Type": "text/csv", "Content-Length": str(end - begin)}
        return Request(method, path, url, None, file, is_repeatable, headers, begin)
    if body is None:
        return Request(method, path, url, is_repeatable=is_repeatable)
    content = encode(body).encode()
    return Request(method, path, url, content, None, is_repeatable, {"Content-Type": "application/json"})


def flatten(query: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield parameters in the API's form: list items one by one, a condition as `name[0][field]`."""
    for name, value in query.items():
        if value is None:
            continue
        if isinstance(value, bool):
            yield name, str(int(value))
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for index, item in enumerate(cast("Sequence[object]", value)):
                if isinstance(item, Mapping):
                    for part, text in cast("Mapping[str, object]", item).items():
                        yield f"{name}[{index}][{part}]", str(text)
                else:
                    yield name, str(item)
        else:
            yield name, str(value)


def encode(value: Any) -> str:
    """Return a value as JSON. Raises ValueError or TypeError for values without a JSON form."""
    return _DECIMAL.sub(r"\1", json.dumps(value, default=_encode_other, allow_nan=False))


def _encode_other(value: object) -> str:
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} has no JSON form")
        return f"\0{value}\0"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("a datetime needs a time zone: datetime.now(UTC)")
        return value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def read_response(status: int, headers: Mapping[str, str], body: bytes) -> Response:
    """Return a response. Raises IncompleteResponseError."""
    if 300 <= status < 400:
        raise IncompleteResponseError(f"redirected to {headers.get('location', '?')}: check base_url")
    is_bounded = "content-length" in headers or "transfer-encoding" in headers
    if not (is_bounded and status >= 400) and not _is_json(body):
        # The headers are truncated, or a proxy responded.
        raise IncompleteResponseError(f"status {status} without a complete response")
    return Response(status, _seconds(headers.get("retry-after")), body)


def read_error(response: Response) -> ApiError:
    """Return the error of an error response."""
    try:
        content: dict[str, Any] = json.loads(response.body)
        message, errors = content["message"], content.get("errors")
    except (ValueError, TypeError, KeyError):  # a proxy's response
        message, errors = response.body[:200].decode(errors="replace"), None
    return ApiError(response.status, message, errors, response.retry_after)


def _may_repeat(path: str, body: Any) -> bool:
    """Return whether repeating a POST has no further effect."""
    if path == "/events/track":
        return bool(body.get("idempotency_key"))
    if path == "/events/batch":
        return all(event.get("idempotency_key") for event in body["events"])
    return path == "/touchpoints/batch" or path.endswith("/imports")


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


def _seconds(text: str | None) -> float:
    try:
        return max(0.0, float(text or 0))
    except ValueError:
        return 0.0
