"""Answers sent before the whole body has arrived: the client sees them, however it sends, and a slow or
endless sender doesn't keep its connection for long.
"""

from __future__ import annotations

import http.client
import socket
from contextlib import closing
from typing import Any

import pytest

from headwater.http.connection import DISCARD_SECONDS, LINGER_SECONDS, MAX_DISCARDED
from tests.conftest import Running
from tests.http.raw_http import answer, read_all
from tests.http.test_http_connections import listen
from tests.support.reading_fixtures import Api
from tests.support.waiting import PATIENCE_SECONDS, wait_until

MB = 1024 * 1024
ROUTES = {
    "track": "/public-api/v1/events/track",
    "batch": "/public-api/v1/events/batch",
    "touchpoints": "/public-api/v1/touchpoints/batch",
    "contacts": "/public-api/v1/contacts",
    "hits": "/t",
    "webhook": "/webhooks/whk_none",
    "mcp": "/mcp/1",
    "oauth register": "/oauth/register",
    "oauth token": "/oauth/token",
    "log in": "/app/login",
    "upload": "/app/spaces/1/orders/imports",
    "nowhere": "/nowhere",
}
"""Every kind of endpoint that accepts a body. All of them answer such a body early."""
WAYS = ("length", "close", "chunked")


def send(server: Running, path: str, protocol: str, size: int) -> int:
    """Send a body like http.client: completely, before reading the answer."""
    host, port = server.base_url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_SECONDS)
    headers = {"Content-Type": "application/json", "Origin": "https://shop.example"}
    body: Any = b"x" * size
    if protocol == "chunked":
        body = (b"x" * 65536 for _ in range(size // 65536))
    if protocol == "close":
        headers["Connection"] = "close"
    with closing(connection):
        connection.request("POST", path, body, headers, encode_chunked=protocol == "chunked")
        return connection.getresponse().status


@pytest.mark.parametrize("protocol", WAYS)
def test_it_works(server: Running, api: Api, protocol: str) -> None:
    host, port = server.base_url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_SECONDS)
    headers = {**api.headers, "Content-Type": "application/json"}
    body: Any = b" " * (20 * MB)
    if protocol == "chunked":
        body = (b" " * 65536 for _ in range(320))
    if protocol == "close":
        headers["Connection"] = "close"
    with closing(connection):
        connection.request("POST", ROUTES["batch"], body, headers, encode_chunked=protocol == "chunked")
        response = connection.getresponse()
        assert response.status == 413
        assert b"message" in response.read()
        if protocol == "close":
            return
        connection.auto_open = 0
        connection.request("GET", "/t.js")  # on the same connection
        assert connection.getresponse().status == 200


@pytest.mark.parametrize("protocol", WAYS)
@pytest.mark.parametrize("path", ROUTES.values(), ids=ROUTES)
def test_every_endpoint(server: Running, path: str, protocol: str) -> None:
    assert 400 <= send(server, path, protocol, 10 * MB) < 500


def test_a_client_that_asks_first_need_not_send(server: Running) -> None:
    host, port = server.base_url.removeprefix("http://").split(":")
    with closing(socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)) as client:
        client.sendall(
            b"POST /t HTTP/1.1\r\nHost: x\r\nOrigin: https://shop.example\r\n"
            b"Content-Length: 10000000\r\nExpect: 100-continue\r\n\r\n"
        )
        status, headers, _ = answer(read_all(client))
    assert (status, headers["connection"]) == (413, "close")


class Early:
    """An application that answers without reading the body."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for step in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{step}.complete"})
            return
        await send({"type": "http.response.start", "status": 413,
                    "headers": [(b"content-length", b"2")]})  # fmt: skip
        await send({"type": "http.response.body", "body": b"no"})


HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"


@pytest.mark.parametrize(("pause", "is_open"), [(LINGER_SECONDS - 1, True), (LINGER_SECONDS + 1, False)])
def test_a_client_that_sends_nothing_more(pause: float, is_open: bool) -> None:
    with listen(Early()) as listener, closing(listener.connect()) as client:
        client.sendall(HEAD % (10 * MB) + b"x")
        assert client.recv(65536).startswith(b"HTTP/1.1 413")
        wait_until(lambda: listener.connections()[0].discarding)
        listener.later(pause)
        wait_until(lambda: bool(listener.connections()) == is_open)


def test_a_client_that_sends_slowly() -> None:
    with listen(Early()) as listener, closing(listener.connect()) as client:
        client.sendall(HEAD % (10 * MB) + b"x")
        client.recv(65536)
        wait_until(lambda: listener.connections()[0].discarding)
        connection = listener.connections()[0]
        connection.discarded_at = connection.arriving_since + DISCARD_SECONDS
        listener.later(DISCARD_SECONDS + 1)
        wait_until(lambda: not listener.connections())


def test_a_client_that_never_stops() -> None:
    with listen(Early()) as listener, closing(listener.connect()) as client:
        client.sendall(HEAD % (100 * MAX_DISCARDED))
        with pytest.raises(ConnectionError):
            client.sendall(bytes(3 * MAX_DISCARDED))
        wait_until(lambda: not listener.connections())
