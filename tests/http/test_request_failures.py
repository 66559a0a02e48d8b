"""Requests that fail are logged by their route: a path may have an address or a token."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from structlog.testing import capture_logs

from headwater.front import Front


async def fail(_: Request) -> Response:
    raise RuntimeError


@pytest.mark.parametrize(
    ("path", "route"), [("/shared/secret-token", "/shared/{token}"), ("/missing/secret-token", None)]
)
def test_it_works(path: str, route: str | None) -> None:
    front = Front({}, Starlette(routes=[Route("/shared/{token}", fail)]))
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": path,
        "headers": [],
        "query_string": b"",
    }
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    with capture_logs() as lines:
        asyncio.run(front(scope, receive, send))
    assert statuses == [404 if route is None else 500]
    assert [line["route"] for line in lines] == ([] if route is None else [route])
    assert "secret" not in str(lines)
