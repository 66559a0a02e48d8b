"""A failing network: connections between a client and the application are cut before the request, during it,
after it but before the answer, during the answer, or not at all.
"""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

CHUNK = 64 * 1024
FAULTS = ("before", "after", "none")
"""In turn, for tests that need the same faults each time."""
TORN = ("before", "request", "after", "answer", "none", "none")
"""At random, for tests that must withstand every fault."""

HALVES = {
    "in its headers": b"HTTP/1.1 202 Accepted\r\ncontent-ty",
    "behind a header": b"HTTP/1.1 422 U\r\n",
    "in its body": b"HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{",
    "in a refusal": b'HTTP/1.1 422 U\r\ncontent-length: 40\r\n\r\n{"message": "',
    "in a chunk": b'HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\n20\r\n{"sta',
    "without a length": b'HTTP/1.1 202 Accepted\r\nconnection: close\r\n\r\n{"status"',
    "by a portal": b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n<portal>",
}
"""Incomplete answers, and a foreign one."""
STRANGERS = {
    "a proxy without a service": b"HTTP/1.1 404 N\r\ncontent-length: 9\r\n\r\nnot found",
    "a proxy of another shape": b"HTTP/1.1 301 M\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n",
    "an answer of another kind": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
    "a refusal without errors": b"HTTP/1.1 422 U\r\ncontent-length: 2\r\n\r\n{}",
}
"""Complete answers without information on events."""


@dataclass
class FailingNetwork:
    """The network's address, and what it did."""

    url: str
    is_down: bool = False
    """Cut every connection immediately."""
    done: list[str] = field(default_factory=list[str])


@contextmanager
def failing_network(target: str, seed: int | None = None, prefix: bytes = b"") -> Iterator[FailingNetwork]:
    """Run a network to `http://host:port` with one request per connection. It fails in turn or, with a
    `seed`, at random, and at random bytes. `prefix` replaces the first answer.
    """
    chance = random.Random(seed)
    host, _, port = target.removeprefix("http://").partition(":")
    listener = socket.create_server(("127.0.0.1", 0))
    network = FailingNetwork(f"http://127.0.0.1:{listener.getsockname()[1]}")
    first_answers = [prefix] if prefix else []

    def next_fault(number: int) -> str:
        if network.is_down:
            return "before"
        return FAULTS[number % len(FAULTS)] if seed is None else chance.choice(TORN)

    def listen() -> None:
        number = 0
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                if first_answers:
                    _answer(client, first_answers.pop())
                    continue
                fault = next_fault(number)
                number += not network.is_down
                network.done.append(fault)
                _carry(client, (host, int(port)), fault, chance)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield network
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def _answer(client: socket.socket, answer: bytes) -> None:
    with client, suppress(OSError):
        _read_message(client)
        client.sendall(answer)


def _carry(client: socket.socket, target: tuple[str, int], fault: str, chance: random.Random) -> None:
    """Carry a request and its answer as far as the fault allows."""
    with client, suppress(OSError):
        if fault == "before":
            return
        with socket.create_connection(target) as server:
            request = _read_message(client)
            if fault == "request":
                server.sendall(request[: chance.randrange(len(request))])
                return
            server.sendall(request)
            answer = _read_message(server)
        if fault == "answer":
            answer = answer[: chance.randrange(len(answer))]
        if fault != "after":
            client.sendall(answer)


def _read_message(connection: socket.socket) -> bytes:
    """Read an entire request or answer, by its Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = [line.lower().split(b":") for line in head.split(b"\r\n")[1:]]
    length = next((int(line[1]) for line in lines if line[0] == b"content-length"), 0)
    while len(body) < length:
        chunk = _more(connection)
        data, body = data + chunk, body + chunk
    return data


def _more(connection: socket.socket) -> bytes:
    chunk = connection.recv(CHUNK)
    if not chunk:
        raise ConnectionResetError
    return chunk
