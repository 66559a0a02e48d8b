"""A fake platform server over real HTTP on loopback, as well or as badly behaved as its script.

Each request takes one step of the script, in the order in which the first bytes arrive. When the script is
over, `otherwise` answers. Every request that was read is kept.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import msgspec

from tests.support.waiting import PATIENCE_SECONDS, wait_until
from tests.support.wire import CHUNK, LONGEST_SECONDS, Disconnected, ReceivedRequest, Wire, read_request


class Step(Protocol):
    """A reaction to one request. It raises Disconnected to end the connection."""

    def before(self, wire: Wire) -> None:
        """Called when the first bytes have arrived and none has been read."""

    def after(self, wire: Wire, request: ReceivedRequest) -> None:
        """Called when the request has been read."""


class _Step:
    def before(self, wire: Wire) -> None:
        pass

    def after(self, wire: Wire, request: ReceivedRequest) -> None:
        """Unused: the step has already ended the connection."""
        raise AssertionError(wire, request)


@dataclass(frozen=True)
class Answer(_Step):
    """A plain answer. A body that is not bytes is sent as JSON."""

    status: int = 200
    body: Any = field(default_factory=dict[str, Any])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    delay: float = 0
    """Seconds between the request and the answer."""

    def after(self, wire: Wire, request: ReceivedRequest) -> None:
        del request
        wire.pause(self.delay)
        wire.send(self.encode())

    def encode(self) -> bytes:
        body = self.body if isinstance(self.body, bytes) else msgspec.json.encode(self.body)
        headers = {
            "Content-Type": "application/json", "Content-Length": str(len(body)), **self.headers
        }  # fmt: skip
        return _head(self.status, headers) + body


@dataclass(frozen=True)
class Redirect(_Step):
    """A redirect, which the client must not follow with its credentials."""

    target: str
    status: int = 307

    def after(self, wire: Wire, request: ReceivedRequest) -> None:
        Answer(self.status, b"", {"Location": self.target}).after(wire, request)


@dataclass(frozen=True)
class Drip(_Step):
    """An answer sent byte by byte, one per interval, starting with its status line."""

    answer: Answer = field(default_factory=Answer)
    interval: float = 0.05
    first_bytes: int = 0
    """The number of first bytes that are sent without pauses."""

    def after(self, wire: Wire, request: ReceivedRequest) -> None:
        del request
        response = self.answer.encode()
        wire.send(response[: self.first_bytes])
        wire.pour((bytes([byte]) for byte in response[self.first_bytes :]), self.interval)


@dataclass(frozen=True)
class Silence(_Step):
    """Reads the request and never answers."""

    def after(self, wire: Wire, request: ReceivedRequest) -> None:
        del request
        wire.pause(LONGEST_SECONDS)
        raise Disconnected


@dataclass(frozen=True)
class ResetUnread(_Step):
    """Resets the connection without reading the request."""

    def before(self, wire: Wire) -> None:
        wire.reset()


@dataclass(frozen=True)
class ResetRead(_Step):
    """Reads the request, which may therefore have been processed, then resets the connection."""

    def after(self, wire: Wire, request: ReceivedRequest) -> None:
        del request
        wire.reset()


@dataclass(frozen=True)
class CutShort(_Step):
    """Closes the connection after `bytes_sent` bytes of an answer."""

    bytes_sent: int
    answer: Answer = field(default_factory=Answer)

    def after(self, wire: Wire, request: ReceivedRequest) -> None:
        del request
        wire.send(self.answer.encode()[: self.bytes_sent])
        raise Disconnected


@dataclass(frozen=True)
class Huge(_Step):
    """A body of `length` bytes, with its length declared or, if chunked, undeclared."""

    length: int = 1 << 30
    has_length: bool = True
    status: int = 200

    def after(self, wire: Wire, request: ReceivedRequest) -> None:
        del request
        header = "Content-Length" if self.has_length else "Transfer-Encoding"
        value = str(self.length) if self.has_length else "chunked"
        wire.send(_head(self.status, {"Content-Type": "application/json", header: value}))
        chunk = b" " * CHUNK if self.has_length else f"{CHUNK:x}\r\n".encode() + b" " * CHUNK
        end = b"" if self.has_length else b"\r\n"
        wire.pour(chunk + end for _ in range(self.length // CHUNK))
        raise Disconnected


@dataclass(frozen=True)
class EndlessHeaders(_Step):
    """A status line, then an endless series of headers."""

    def after(self, wire: Wire, request: ReceivedRequest) -> None:
        del request
        wire.send(b"HTTP/1.1 200 OK\r\n")
        wire.pour(f"X-{n}: {'h' * 1000}\r\n".encode() for n in range(10_000_000))
        raise Disconnected


@dataclass(frozen=True)
class GzipBomb(_Step):
    """A small body that becomes large when decompressed."""

    unpacked_size: int = 1 << 30
    status: int = 200

    def after(self, wire: Wire, request: ReceivedRequest) -> None:
        head = {"Content-Encoding": "gzip", "Transfer-Encoding": "chunked"}
        del request
        wire.send(_head(self.status, {"Content-Type": "application/json", **head}))
        wire.pour(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n" for chunk in self._compress_zeros())
        wire.send(b"0\r\n\r\n")

    def _compress_zeros(self) -> Iterator[bytes]:
        packer, zeros = zlib.compressobj(9, wbits=31), b"0" * CHUNK
        for _ in range(self.unpacked_size // CHUNK):
            if chunk := packer.compress(zeros):
                yield chunk
        yield packer.flush()


@dataclass(frozen=True)
class Raw(_Step):
    """Arbitrary bytes, not necessarily HTTP. Then the connection is closed."""

    data: bytes

    def after(self, wire: Wire, request: ReceivedRequest) -> None:
        del request
        wire.send(self.data)
        raise Disconnected


Reaction = Step | Callable[[ReceivedRequest], Step]
"""A step, or a function that chooses one from the request."""


class FakePlatform:
    """A server on a port of 127.0.0.1 while the `with` block runs. `url` is its origin."""

    def __init__(self, *script: Reaction, default: Reaction = Answer()) -> None:
        self._script = deque(script)
        self._otherwise = default
        self._requests: list[ReceivedRequest] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.connections = 0
        """The number of connections so far."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def requests(self) -> list[ReceivedRequest]:
        """The requests read so far, oldest first."""
        with self._lock:
            return list(self._requests)

    @property
    def bodies(self) -> list[Any]:
        """The requests' bodies, decoded from JSON."""
        return [request.json() for request in self.requests]

    def append(self, *steps: Reaction) -> None:
        """Append to the script."""
        with self._lock:
            self._script.extend(steps)

    def wait_for(self, requests: int, seconds: float = PATIENCE_SECONDS) -> list[ReceivedRequest]:
        """Wait for this number of requests and return them."""
        wait_until(lambda: len(self.requests) >= requests, seconds, f"{requests} requests")
        return self.requests

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            connections, threads = list(self._open), list(self._threads)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive(), "a connection of the fake platform does not end"

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        with self._lock:
            self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
                self.connections += 1
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire = Wire(connection, self._stopping)
        with contextlib.suppress(Disconnected, OSError):
            while connection.recv(1, socket.MSG_PEEK):
                self._answer(wire)
        with self._lock:
            self._open.discard(connection)
        connection.close()

    def _answer(self, wire: Wire) -> None:
        with self._lock:
            reaction = self._script.popleft() if self._script else self._otherwise
        if not callable(reaction):
            reaction.before(wire)
        request = read_request(wire.connection)
        with self._lock:
            self._requests.append(request)
        step = reaction(request) if callable(reaction) else reaction
        step.after(wire, request)


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()
