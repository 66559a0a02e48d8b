"""The server's end of a connection in tests: sending, waiting and cutting off."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

LONGEST_SECONDS = 60.0
"""After this time, a server that drips, floods or keeps silent gives up."""
CHUNK = 64 * 1024


@dataclass(frozen=True)
class ReceivedRequest:
    """A request that was read completely."""

    method: str
    target: str
    """Path and query."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    time: float
    """When it had been read, by time.monotonic()."""

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Disconnected(Exception):
    """The client or the test has ended the connection."""


@dataclass
class Wire:
    """A connection that a step writes to. Waits end with the test."""

    connection: socket.socket
    stopping: threading.Event

    def send(self, data: bytes) -> None:
        try:
            self.connection.sendall(data)
        except OSError as error:
            raise Disconnected from error

    def pause(self, seconds: float) -> None:
        if self.stopping.wait(seconds):
            raise Disconnected

    def pour(self, chunks: Iterable[bytes], interval: float = 0) -> None:
        """Send the chunks, for at most LONGEST_SECONDS."""
        deadline = time.monotonic() + LONGEST_SECONDS
        for chunk in chunks:
            self.send(chunk)
            self.pause(interval)
            if time.monotonic() > deadline:
                raise Disconnected

    def reset(self) -> None:
        """End the connection with RST, as a crashing host or a firewall does."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Disconnected


def read_request(connection: socket.socket) -> ReceivedRequest:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    assert "transfer-encoding" not in headers, "calls to platforms have a length"
    while len(body) < int(headers.get("content-length", "0")):
        body += _more(connection)
    return ReceivedRequest(method, target, headers, body, time.monotonic())


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(CHUNK)
    if not data:
        raise Disconnected
    return data
