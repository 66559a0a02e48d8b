"""A small API client, like a customer's: it honours Retry-After."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from http.client import HTTPConnection, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from msgspec import Struct

from headwater.base.failure import Failure

API = "/public-api/v1"
TRIES = 10


class HttpAnswer(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    content: bytes


class HttpClient:
    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.netloc, timeout=60)

    def send(
        self, method: str, path: str, body: str | bytes | None, headers: Mapping[str, str]
    ) -> HttpAnswer:
        self._connection.request(method, path, body, dict(headers))
        answer = self._connection.getresponse()
        return HttpAnswer(answer.status, dict(answer.headers), answer.read())


class ApiClient:
    def __init__(self, base_url: str, key: str) -> None:
        self._http = HttpClient(base_url)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def post(self, path: str, body: Any) -> Any:
        """Raise Failure for a refusal."""
        return self._request("POST", path, json.dumps(body))

    def put(self, path: str, body: Any) -> Any:
        """Raise Failure for a refusal."""
        return self._request("PUT", path, json.dumps(body))

    def get(self, path: str, parameters: list[tuple[str, str]]) -> Any:
        """Raise Failure for a refusal."""
        return self._request("GET", f"{path}?{urlencode(parameters)}")

    def pages(self, path: str, parameters: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        """Yield rows of all pages. Raises Failure."""
        cursor: list[tuple[str, str]] = []
        while True:
            page = self._request("GET", f"{path}?{urlencode(parameters + cursor)}")
            yield from page["data"]
            if page["next_cursor"] is None:
                return
            cursor = [("cursor", page["next_cursor"])]

    def _request(self, method: str, path: str, body: str | None = None) -> Any:
        label = f"{method} {path.partition('?')[0]}"
        for _ in range(TRIES):
            answer = self._http.send(method, API + path, body, self._headers)
            if answer.status in (429, 503):
                time.sleep(int(answer.headers.get("Retry-After", "1")))
                continue
            if answer.status >= 300:
                raise Failure(f"{label}: {answer.status} {answer.content.decode()}")
            return json.loads(answer.content, parse_float=Decimal)
        raise Failure(f"{label}: refused {TRIES} times")
