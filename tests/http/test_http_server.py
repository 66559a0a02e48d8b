"""HTTP as it may really arrive, over raw sockets: smuggling, floods, stalls and odd forms."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import cast

import httpx
import pytest

from headwater.app import create_app
from headwater.base.settings import Settings
from headwater.http import connection as http_connection
from headwater.http.server import Server, make_server
from headwater.intake.ingest.endpoints import MAX_TRACK_BODY
from tests.http.raw_http import (
    API,
    CHUNKED,
    CLOSE,
    EVENT,
    GET,
    answer,
    check_refusal,
    content_length,
    post,
    read_all,
    statuses,
)
from tests.support.waiting import PATIENCE_SECONDS, wait_until


@dataclass
class Listener:
    """The application in a thread, with a clock that tests can move."""

    server: Server
    port: int

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 10)

    def send(self, request: bytes) -> bytes:
        """Send a request, and return everything received until the server closes."""
        with closing(self.connect()) as client:
            client.sendall(request)
            return read_all(client)

    def later(self, seconds: float) -> None:
        """Run the server's periodic check, as if `seconds` had passed."""
        loop = self.server.servers[0].get_loop()
        done_event = threading.Event()

        def close_overdue() -> None:
            self.server.close_overdue(loop.time() + seconds)
            done_event.set()

        loop.call_soon_threadsafe(close_overdue)
        assert done_event.wait(PATIENCE_SECONDS)

    def connections(self) -> list[http_connection.Protocol]:
        """Return the server's current connections."""
        return cast("list[http_connection.Protocol]", list(self.server.server_state.connections))


@pytest.fixture(scope="module")
def listener(database_url: str) -> Iterator[Listener]:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = create_app(Settings(rate_limit_factor=1000), database_url, f"http://127.0.0.1:{port}")
    server = make_server(app)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive())
    yield Listener(server, port)
    server.should_exit = True
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


@pytest.fixture
def key(space_id: int, make_key: Callable[..., str]) -> bytes:
    return make_key(space_id).encode()


MALFORMED = {
    "content-length with transfer-encoding": (content_length(EVENT), CHUNKED),
    "transfer-encoding with content-length": (CHUNKED, content_length(EVENT)),
    "equal content-lengths": (content_length(EVENT), content_length(EVENT)),
    "different content-lengths": (b"Content-Length: 5", content_length(EVENT)),
    "a list of content-lengths": (b"Content-Length: 5, 5",),
    "a negative content-length": (b"Content-Length: -1",),
    "a signed content-length": (b"Content-Length: +5",),
    "a hexadecimal content-length": (b"Content-Length: 0x5",),
    "a content-length past 64 bits": (b"Content-Length: 99999999999999999999999",),
    "an unknown transfer-encoding": (b"Transfer-Encoding: xchunked",),
    "chunked not last": (b"Transfer-Encoding: chunked, identity",),
    "a folded header": (content_length(EVENT), b"X-Folded: a", b" b"),
    "a space before the colon": (content_length(EVENT), b"X-Space : a"),
    "a header without a colon": (content_length(EVENT), b"nonsense"),
    "an empty header name": (content_length(EVENT), b": a"),
    "a NUL in a header": (content_length(EVENT), b"X-Nul: a\0b"),
    "a bare CR in a header": (content_length(EVENT), b"X-Cr: a\rb"),
    "two hosts": (content_length(EVENT), b"Host: other"),
    "two equal hosts": (content_length(EVENT), b"host: h"),
}


@pytest.mark.parametrize("headers", MALFORMED.values(), ids=MALFORMED)
def test_malformed_headers_are_400(listener: Listener, key: bytes, headers: tuple[bytes, ...]) -> None:
    check_refusal(listener.send(post(key, *headers, body=EVENT)), 400)


LINES = {
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "bare line feeds": b"GET /healthz HTTP/1.1\nHost: h\n\n",
    "no version": b"GET /healthz\r\n\r\n",
    "an unknown version": b"GET /healthz HTTP/3.9\r\nHost: h\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "an unknown method": b"BREW /healthz HTTP/1.1\r\nHost: h\r\n\r\n",
    "a method in lower case": b"get /healthz HTTP/1.1\r\nHost: h\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "no target": b"GET  HTTP/1.1\r\nHost: h\r\n\r\n",
    "a space in the target": b"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
    "bytes beyond ASCII in the target": b"GET /\xff\xfe HTTP/1.1\r\nHost: h\r\n\r\n",
    "a NUL in the target": b"GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n",
    "a relative target": b"GET healthz HTTP/1.1\r\nHost: h\r\n\r\n",
    "an authority as target": b"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n",
}


@pytest.mark.parametrize("request_bytes", LINES.values(), ids=LINES)
def test_malformed_requests_are_400(listener: Listener, request_bytes: bytes) -> None:
    check_refusal(listener.send(request_bytes), 400)


CHUNKS = {
    "no hexadecimal size": b"zz\r\nabc\r\n0\r\n\r\n",
    "a negative size": b"-1\r\nabc\r\n0\r\n\r\n",
    "a size past 64 bits": b"fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
    "a chunk without its end": b"3\r\nabcdef\r\n0\r\n\r\n",
    "bare line feeds": b"3\nabc\n0\n\n",
}


@pytest.mark.parametrize("body", CHUNKS.values(), ids=CHUNKS)
def test_bad_chunks_are_400(listener: Listener, key: bytes, body: bytes) -> None:
    check_refusal(listener.send(post(key, CHUNKED, body=body)), 400)


FLOODS = {
    "one large header": (431, GET + b"X-Large: " + b"a" * 100_000 + b"\r\n\r\n"),
    "a header that does not end": (431, GET + b"X-Large: " + b"a" * 2_000_000),
    "many headers": (431, GET + b"X-Many: a\r\n" * 2_000 + b"\r\n"),
    "a large header name": (431, GET + b"a" * 100_000 + b": a\r\n\r\n"),
    "a large target": (414, b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n"),
    "a large query": (414, b"GET /?" + b"a&" * 50_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n"),
    "a target that does not end": (414, b"GET /" + b"a" * 2_000_000),
}


@pytest.mark.parametrize(("status", "flood"), FLOODS.values(), ids=FLOODS)
def test_large_heads_are_refused_and_the_answer_arrives(
    listener: Listener, status: int, flood: bytes
) -> None:
    check_refusal(listener.send(flood), status)


def test_what_fits_is_taken(listener: Listener, key: bytes) -> None:
    headers = [b"X-Large: " + b"a" * 30_000, content_length(EVENT), b"Connection: close"]
    assert answer(listener.send(post(key, *headers, body=EVENT)))[0] == 202
    largest_body = EVENT.ljust(MAX_TRACK_BODY)
    head = (content_length(largest_body), b"Connection: close")
    assert answer(listener.send(post(key, *head, body=largest_body)))[0] == 202


@pytest.mark.parametrize("path", [b"/events/track", b"/events/batch", b"/events/1"])
def test_a_large_body_is_413_however_it_is_sent(listener: Listener, key: bytes, path: bytes) -> None:
    size = 9 * 1024 * 1024
    method = b"PUT" if path == b"/events/1" else b"POST"
    in_one = post(key, b"Content-Length: %d" % size, b"Connection: close", path=path)
    chunked = post(key, CHUNKED, b"Connection: close", path=path)
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    for head, body in ((in_one, b" " * size), (chunked, chunk * (size // 65536) + b"0\r\n\r\n")):
        with closing(listener.connect()) as client:
            sender = threading.Thread(target=send_what_is_taken, args=(client, method, head, body))
            sender.start()
            data = read_all(client)
            sender.join(10)
        assert answer(data)[0] == 413


def send_what_is_taken(client: socket.socket, method: bytes, head: bytes, body: bytes) -> None:
    with suppress(OSError):  # the server may close before it has read all
        client.sendall(head.replace(b"POST", method, 1) + body)


# ------------------------------------------------------------------------------------- deadlines

HALF_HEAD = b"GET /healthz HTTP/1.1\r\nHost: h\r\nX-Sl"
STALLS = {
    "silence": (b"", http_connection.HEAD_SECONDS),
    "empty lines": (b"\r\n\r\n", http_connection.HEAD_SECONDS),
    "half a head": (HALF_HEAD, http_connection.HEAD_SECONDS),
    "half a head after a request": (GET + b"\r\n" + HALF_HEAD, http_connection.HEAD_SECONDS),
    "half a body": (post(b"key", content_length(EVENT), body=EVENT[:9]), http_connection.REQUEST_SECONDS),
    "half a chunk": (post(b"key", CHUNKED, body=b"ff\r\nabc"), http_connection.REQUEST_SECONDS),
}


@pytest.mark.parametrize(("partial_request", "limit"), STALLS.values(), ids=STALLS)
def test_a_stalled_request_is_closed_in_time(
    listener: Listener, key: bytes, partial_request: bytes, limit: float
) -> None:
    before = set(listener.connections())
    with closing(listener.connect()) as client:
        client.sendall(partial_request.replace(b"Bearer key", b"Bearer " + key))
        wait_until(lambda: len(set(listener.connections()) - before) == 1)
        (connection,) = set(listener.connections()) - before
        wait_until(lambda: partial_request == b"" or has_arrived(connection, partial_request))
        listener.later(limit - 1)
        assert connection in listener.connections()
        listener.later(limit + 1)
        read_all(client)  # returns because the server has closed
    wait_until(lambda: connection not in listener.connections())


def has_arrived(connection: http_connection.Protocol, request: bytes) -> bool:
    """Return whether the server has seen as much of the request as it can."""
    if HALF_HEAD in request:
        return connection.in_head and connection.arriving_since is not None
    return connection.head_done or b"POST" not in request


def test_an_idle_connection_stays_open_for_a_while(listener: Listener) -> None:
    with closing(listener.connect()) as client:
        client.sendall(GET + b"\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
        listener.later(http_connection.IDLE_SECONDS - 1)
        client.sendall(GET + b"\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
        listener.later(http_connection.IDLE_SECONDS + 1)
        assert read_all(client) == b""


def test_one_that_does_not_take_its_refusal_is_closed(listener: Listener) -> None:
    before = set(listener.connections())
    with closing(listener.connect()) as client:
        client.sendall(b"nonsense\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 400")
        (connection,) = set(listener.connections()) - before
        listener.later(http_connection.LINGER_SECONDS + 0.1)
        wait_until(lambda: connection not in listener.connections())


# ----------------------------------------------------------------------------------- other forms


def test_pipelined_requests_are_answered_in_order(listener: Listener, key: bytes) -> None:
    event = post(key, content_length(EVENT), body=EVENT)
    unknown = b"GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n"
    data = listener.send(event + GET + b"\r\n" + unknown + GET + CLOSE)
    assert statuses(data) == [202, 200, 404, 200]


def test_a_malformed_one_behind_them_ends_the_line(listener: Listener, key: bytes) -> None:
    event = post(key, content_length(EVENT), body=EVENT)
    assert statuses(listener.send(event + b"nonsense\r\n\r\n")) == [202]


def test_http_1_0(listener: Listener) -> None:
    assert answer(listener.send(b"GET /healthz HTTP/1.0\r\n\r\n"))[0] == 200


def test_the_host_may_stand_in_the_target(listener: Listener) -> None:
    data = listener.send(b"GET http://elsewhere/healthz HTTP/1.1\r\nHost: h\r\n" + CLOSE)
    assert answer(data)[0] == 200


def test_the_whole_server_has_no_options(listener: Listener) -> None:
    assert answer(listener.send(b"OPTIONS * HTTP/1.1\r\nHost: h\r\n" + CLOSE))[0] == 404


@pytest.mark.parametrize("upgrade", [b"h2c", b"websocket", b"nonsense"])
def test_an_upgrade_is_not_taken(listener: Listener, key: bytes, upgrade: bytes) -> None:
    offer = (b"Connection: Upgrade", b"Upgrade: " + upgrade)
    sized_request = post(key, *offer, content_length(EVENT), body=EVENT)
    chunked = post(key, *offer, CHUNKED, body=b"%x\r\n%s\r\n0\r\n\r\n" % (len(EVENT), EVENT))
    bare = GET + b"\r\n".join(offer) + b"\r\n\r\n"
    assert statuses(listener.send(sized_request + chunked + bare + GET + CLOSE)) == [202, 202, 200, 200]


def test_a_body_is_sent_on_request(listener: Listener, key: bytes) -> None:
    with closing(listener.connect()) as client:
        client.sendall(post(key, content_length(EVENT), b"Expect: 100-continue", b"Connection: close"))
        assert client.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(EVENT)
        assert answer(read_all(client))[0] == 202


def test_and_not_asked_for_without_a_key(listener: Listener) -> None:
    with closing(listener.connect()) as client:
        headers = [content_length(EVENT), b"Expect: 100-continue", b"Connection: close"]
        client.sendall(post(b"unknown", *headers))
        assert answer(read_all(client))[0] == 401


def test_head_is_answered_without_a_body(listener: Listener) -> None:
    status, headers, body = answer(listener.send(b"HEAD /healthz HTTP/1.1\r\nHost: h\r\n" + CLOSE))
    assert (status, body) == (200, b"")
    assert headers["content-length"] == str(len(b'{"status":"ok"}'))


@pytest.mark.parametrize("method", [b"OPTIONS", b"PATCH", b"TRACE", b"PROPFIND"])
def test_other_methods_are_405_with_those_that_work(listener: Listener, method: bytes) -> None:
    request = method + b" " + API + b"/events/1 HTTP/1.1\r\nHost: h\r\n" + CLOSE
    status, headers, body = answer(listener.send(request))
    assert status == 405
    assert headers["allow"] == "DELETE, GET, HEAD, PUT"
    assert json.loads(body) == {"message": "Method Not Allowed."}


@pytest.mark.parametrize(
    "path", [b"", b"/", b"/nowhere", b"/events/", b"/events/1/", b"/events/1/2", b"/%00", b"/%ff"]
)
def test_unknown_paths_are_404_in_json(listener: Listener, path: bytes) -> None:
    request = b"GET " + API + path + b" HTTP/1.1\r\nHost: h\r\n" + CLOSE
    status, headers, body = answer(listener.send(request))
    assert (status, headers["content-type"]) == (404, "application/json")
    assert json.loads(body) == {"message": "Not Found."}


@pytest.mark.parametrize(
    ("method", "path", "allowed_methods"),
    [
        ("PUT", "/contacts/pii", "DELETE"),
        ("DELETE", "/contacts/by-email", "GET, HEAD"),
        ("PUT", "/contacts", "GET, HEAD, POST"),
        ("GET", "/events/track", "POST"),
    ],
)
def test_a_fixed_path_is_never_taken_for_an_id(
    client: httpx.Client, method: str, path: str, allowed_methods: str
) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed_methods)
