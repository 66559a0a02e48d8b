"""How connections begin and end: their number, clients that disconnect, close their sending side or don't
read, and a server that is stopped.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from headwater.http.connection import WRITE_SECONDS
from headwater.http.server import make_server
from tests.http.raw_http import CLOSE, GET, answer, check_refusal, read_all, statuses
from tests.http.test_http_server import Listener
from tests.support.waiting import wait_until

LARGE = 32 * 1024 * 1024


class Application:
    """An ASGI application that answers when the test allows it."""

    def __init__(self) -> None:
        self.waiting = threading.Semaphore(0)
        self.gate = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for step in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{step}.complete"})
            return
        if scope["path"] == "/slow":
            self.waiting.release()
            await asyncio.to_thread(self.gate.wait, 30)
        size = LARGE if scope["path"] == "/large" else 2
        headers = [(b"content-length", b"%d" % size)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"x" * size})


@contextmanager
def listen(app: Any, max_connections: int = 100) -> Iterator[Listener]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = make_server(app, max_connections)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    port = listener.getsockname()[1]
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield Listener(server, port)
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture
def app() -> Application:
    return Application()


def get(path: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join([b"GET " + path + b" HTTP/1.1", b"Host: h", *headers, b"", b""])


def test_a_client_that_has_said_all_gets_its_answers(app: Application) -> None:
    with listen(app) as listener, closing(listener.connect()) as client:
        client.sendall(get(b"/slow") + get(b"/") + get(b"/"))
        client.shutdown(socket.SHUT_WR)
        assert app.waiting.acquire(timeout=30)
        app.gate.set()
        data = read_all(client)
        assert statuses(data) == [200, 200, 200]
        assert data.count(b"connection: close") == 1


def test_one_that_says_so_in_the_middle_of_a_request_does_not(app: Application) -> None:
    with listen(app) as listener, closing(listener.connect()) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf")
        client.shutdown(socket.SHUT_WR)
        read_all(client)  # returns because the server has closed
        wait_until(lambda: not listener.connections())


def test_a_client_that_goes_away_is_no_error(app: Application, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), listen(app) as listener:
        for _ in range(5):
            with closing(listener.connect()) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                client.sendall(get(b"/slow") + get(b"/slow") + get(b"/slow"))
                assert app.waiting.acquire(timeout=30)
        app.gate.set()
        wait_until(lambda: not listener.connections() and not listener.server.server_state.tasks)
    assert not [record for record in caplog.records if record.exc_info]


def test_one_that_does_not_read_is_closed_in_time(app: Application) -> None:
    with listen(app) as listener, closing(listener.connect()) as client:
        client.sendall(get(b"/large"))
        client.recv(1, socket.MSG_PEEK)
        wait_until(lambda: listener.connections()[0].transport.get_write_buffer_size() > 0)
        listener.later(0)
        listener.later(WRITE_SECONDS - 1)
        assert listener.connections()
        listener.later(WRITE_SECONDS + 1)
        wait_until(lambda: not listener.connections())


def test_one_that_reads_slowly_is_not(app: Application) -> None:
    with listen(app) as listener, closing(listener.connect()) as client:
        client.sendall(get(b"/large", b"Connection: close"))
        received_size, later = 0, 0.0
        while later <= WRITE_SECONDS:
            received_size += len(client.recv(256 * 1024))
            later += 1.0
            listener.later(later)
        assert listener.connections()
        assert received_size < LARGE // 2


def test_too_many_connections_are_refused_with_an_answer(app: Application) -> None:
    with listen(app, max_connections=2) as listener:
        clients = [listener.connect() for _ in range(2)]
        for client in clients:
            client.sendall(GET + b"\r\n")
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
        with closing(listener.connect()) as client:
            data = read_all(client)
            check_refusal(data, 503)
            assert answer(data)[1]["retry-after"]
        clients[0].sendall(GET + CLOSE)
        assert statuses(read_all(clients[0])) == [200]
        wait_until(lambda: len(listener.connections()) == 1)
        assert statuses(listener.send(GET + CLOSE)) == [200]
        for client in clients:
            client.close()


@pytest.mark.parametrize("head_start", [b"", b"GET / HT"], ids=["nothing yet", "half a head"])
def test_what_was_accepted_is_answered_before_it_stops(app: Application, head_start: bytes) -> None:
    with listen(app) as listener, closing(listener.connect()) as fresh, closing(listener.connect()) as idle:
        idle.sendall(GET + b"\r\n")
        assert idle.recv(65536).startswith(b"HTTP/1.1 200")
        fresh.sendall(head_start)
        wait_until(lambda: len(listener.connections()) == 2)
        listener.server.should_exit = True
        wait_until(lambda: listener.server.server_state.ending)
        fresh.sendall(get(b"/").removeprefix(head_start))
        idle.sendall(get(b"/"))
        for client in (fresh, idle):
            status, headers, _ = answer(read_all(client))
            assert (status, headers["connection"]) == (200, "close")


def test_an_answer_under_way_is_given_before_it_stops(app: Application) -> None:
    with listen(app) as listener, closing(listener.connect()) as client:
        client.sendall(get(b"/slow"))
        assert app.waiting.acquire(timeout=30)
        listener.server.should_exit = True
        wait_until(lambda: listener.server.server_state.ending)
        app.gate.set()
        status, headers, _ = answer(read_all(client))
        assert (status, headers["connection"]) == (200, "close")
