"""Requests and answers as bytes, for tests of the server over raw sockets."""

from __future__ import annotations

import json
import re
import socket

API = b"/public-api/v1"
EVENT = b'{"event_name":"purchase","email":"ada@example.com"}'


def read_all(client: socket.socket) -> bytes:
    data = b""
    try:
        while piece := client.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data


def statuses(answers: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", answers)]


def answer(response: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of the only answer."""
    assert statuses(response) == [int(response[9:12])], response
    head, _, body = response.partition(b"\r\n\r\n")
    lines = [line.decode().partition(": ") for line in head.split(b"\r\n")[1:]]
    return int(response[9:12]), {name.lower(): value for name, _, value in lines}, body


def check_refusal(response: bytes, status: int) -> None:
    """Check that there is one JSON answer with this status, and that it closes the connection."""
    actual_status, headers, body = answer(response)
    assert actual_status == status
    assert headers["content-type"] == "application/json"
    assert headers["connection"] == "close"
    assert list(json.loads(body)) == ["message"]


def post(key: bytes, *headers: bytes, body: bytes = b"", path: bytes = b"/events/track") -> bytes:
    lines = [b"POST " + API + path + b" HTTP/1.1", b"Host: h", b"Authorization: Bearer " + key]
    return b"\r\n".join([*lines, *headers, b"", body])


def content_length(body: bytes) -> bytes:
    return b"Content-Length: %d" % len(body)


GET = b"GET /healthz HTTP/1.1\r\nHost: h\r\n"
CLOSE = b"Connection: close\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked"
