"""Compare the meaning of our requests with a platform's official client."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from tests.support.wire import ReceivedRequest


def meaning(
    request: ReceivedRequest, *headers: str
) -> tuple[str, str, dict[str, Any], dict[str, str | None]]:
    """Return the method, path, query and some headers. Lists, in JSON or with commas, are compared without
    order.
    """
    parts = urlsplit(request.target)
    values: dict[str, list[str]] = {}
    for name, value in parse_qsl(parts.query):
        values.setdefault(name, []).append(value)
    query = {name: sorted(texts) if len(texts) > 1 else _read(texts[0]) for name, texts in values.items()}
    return request.method, parts.path, query, {name: request.headers.get(name) for name in headers}


def _read(value: str) -> Any:
    if value.startswith("["):
        return sorted(msgspec.json.decode(value))
    return sorted(value.split(",")) if "," in value else value
