"""The load: a raw HTTP/1.1 client in a separate process, so that it costs the server little.

`keep_busy` keeps a number of connections busy. `send_steadily` sends at a fixed rate regardless of the
answers, so that a slow server shows as latency instead of as a lower rate.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import uvloop

Request = bytes


@dataclass
class Result:
    """The measurements of a run. `events` counts items. A request may contain many."""

    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    cut: int = 0
    """Requests whose connection ended without an answer."""
    latencies: list[float] = field(default_factory=list)

    def rate(self) -> float:
        """Successful requests a second."""
        return sum(n for status, n in self.statuses.items() if status < 300) / self.seconds

    def add(self, result: Result) -> None:
        """Add another run's measurements."""
        self.seconds += result.seconds
        self.statuses += result.statuses
        self.cut += result.cut
        self.latencies += result.latencies

    def percentile(self, share: float) -> float:
        """Return a latency percentile in milliseconds."""
        latencies = sorted(self.latencies)
        return 1000 * latencies[min(len(latencies) - 1, int(share * len(latencies)))] if latencies else 0.0


class _Connection(asyncio.Protocol):
    """One keep-alive connection with one request at a time."""

    def __init__(
        self,
        result: Result,
        release: Callable[[_Connection], None],
        handle_end: Callable[[_Connection], None] | None = None,
    ) -> None:
        self._result, self._on_free, self._on_end = result, release, handle_end
        self._head = b""
        self._start = 0.0
        self._busy = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self._on_free(self)

    def send(self, request: Request, start: float) -> None:
        self._start, self._busy = start, True
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        data = self._head + data
        head, separator, body = data.partition(b"\r\n\r\n")
        _, length_header, header_end = head.partition(b"content-length: ")
        length = int(header_end.split(b"\r\n", 1)[0]) if length_header else 0  # a 204 has no body
        if not separator or len(body) < length:
            self._head = data
            return
        self._head = b""
        self._result.latencies.append(time.perf_counter() - self._start)
        self._result.statuses[int(data[9:12])] += 1
        self._busy = False
        if self._on_end is not None and b"\r\nconnection: close" in head.lower():
            self.transport.close()
        else:
            self._on_free(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._result.cut += self._busy
        if self._on_end is not None:
            self._on_end(self)


async def _keep_busy(port: int, connections: int, seconds: float, requests: Iterator[Request]) -> Result:
    result = Result()
    loop = asyncio.get_running_loop()
    end = time.perf_counter() + seconds

    def on_free(connection: _Connection) -> None:
        now = time.perf_counter()
        if now < end:
            connection.send(next(requests), now)
        else:
            connection.transport.close()

    start = time.perf_counter()
    connection_pairs = [
        await loop.create_connection(lambda: _Connection(result, on_free), "127.0.0.1", port)
        for _ in range(connections)
    ]
    while not all(transport.is_closing() for transport, _ in connection_pairs):
        await asyncio.sleep(0.02)
    result.seconds = time.perf_counter() - start
    return result


class _Clients:
    """Connections that reopen when the server ends them, like a real client's."""

    def __init__(self, port: int, requests: Iterator[Request]) -> None:
        self._port, self._requests = port, requests
        self._free: deque[_Connection] = deque()
        self._due: deque[float] = deque()
        self._tasks: set[asyncio.Future[None]] = set()
        self.result = Result()
        self.is_over = False

    async def connect(self) -> None:
        make = partial(_Connection, self.result, self._reuse, self._handle_end)
        await asyncio.get_running_loop().create_connection(make, "127.0.0.1", self._port)

    def send(self, moment: float) -> None:
        """Send a request, or queue it until a connection is free. `moment` is its due time."""
        if self._free:
            self._free.popleft().send(next(self._requests), moment)
        else:
            self._due.append(moment)

    def count_ended(self) -> int:
        return sum(self.result.statuses.values()) + self.result.cut

    def _reuse(self, connection: _Connection) -> None:
        if self._due:
            connection.send(next(self._requests), self._due.popleft())
        else:
            self._free.append(connection)

    def _handle_end(self, connection: _Connection) -> None:
        if connection in self._free:
            self._free.remove(connection)
        if not self.is_over:
            self._tasks.add(asyncio.ensure_future(self.connect()))


async def _send_steadily(port: int, rate: float, seconds: float, requests: Iterator[Request]) -> Result:
    clients = _Clients(port, requests)
    for _ in range(128):
        await clients.connect()
    start = time.perf_counter()
    sent_count = 0
    while sent_count < rate * seconds:
        now = time.perf_counter()
        while sent_count < (now - start) * rate:
            clients.send(start + sent_count / rate)
            sent_count += 1
        await asyncio.sleep(0.001)
    while clients.count_ended() < sent_count and time.perf_counter() - start < seconds + 20:
        await asyncio.sleep(0.02)
    clients.is_over = True
    clients.result.seconds = time.perf_counter() - start
    return clients.result


def _run_coroutine(pipe: object, coroutine: object, arguments: tuple, make: Callable) -> None:
    pipe.send(uvloop.run(coroutine(*arguments, make())))


def _run(coroutine: Callable, arguments: tuple, make: Callable[[], Iterator[Request]]) -> Result:
    own_pipe, child_pipe = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(
        target=_run_coroutine, args=(child_pipe, coroutine, arguments, make)
    )
    process.start()
    result = own_pipe.recv()
    process.join()
    return result


def keep_busy(port: int, connections: int, seconds: float, make: Callable[[], Iterator[Request]]) -> Result:
    """Keep `connections` busy for `seconds` with the requests that `make` yields."""
    return _run(_keep_busy, (port, connections, seconds), make)


def send_steadily(port: int, rate: float, seconds: float, make: Callable[[], Iterator[Request]]) -> Result:
    """Send `rate` requests a second for `seconds`."""
    return _run(_send_steadily, (port, rate, seconds), make)


def request(method: str, path: str, key: str, body: bytes = b"") -> Request:
    """Return the bytes of a request."""
    return (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
