"""How an answer is sent: head and body together if the length is declared, and never a body of another
length.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from http import HTTPStatus
from typing import Any

import pytest

from headwater.http import exchange
from tests.http.raw_http import CLOSE, read_all
from tests.http.test_http_connections import listen

Send = Callable[[Any], Any]
Answer = Callable[[Send], Any]

ASKED = b"GET / HTTP/1.1\r\nHost: h\r\n" + CLOSE
HEAD_ASKED = b"HEAD / HTTP/1.1\r\nHost: h\r\n" + CLOSE
KEPT_ASKED = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
SIZED = [(b"content-length", b"6")]


class Application:
    """An ASGI application that answers with a function."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for step in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{step}.complete"})
            return
        await self.answer(send)


def head(headers: list[tuple[bytes, bytes]], status: int = 200) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": headers}


def body(part: bytes, has_more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": part, "more_body": has_more}


def send_request(answer: Answer, request: bytes = ASKED) -> bytes:
    with listen(Application(answer)) as listener, closing(listener.connect()) as client:
        client.sendall(request)
        return read_all(client)


def sending(*messages: dict[str, Any]) -> Answer:
    async def answer(send: Send) -> None:
        for message in messages:
            await send(message)

    return answer


def test_it_works() -> None:
    assert send_request(sending(head(SIZED, 202), body(b"queued"))) == (
        b"HTTP/1.1 202 Accepted\r\nx-content-type-options: nosniff\r\n"
        b"content-length: 6\r\ncontent-security-policy: frame-ancestors 'none'\r\n"
        b"cache-control: no-store\r\nconnection: close\r\n\r\nqueued"
    )


def test_an_answer_keeps_its_own_headers() -> None:
    headers = [(b"cache-control", b"max-age=60"), (b"content-security-policy", b"default-src 'none'")]
    answer = send_request(sending(head([*SIZED, *headers]), body(b"queued")))
    for name, value in headers:
        assert answer.count(name) == 1
        assert b"%b: %b\r\n" % (name, value) in answer


def test_no_refusal_may_be_taken_for_another_type() -> None:
    refusal = exchange.final_answer(HTTPStatus.BAD_REQUEST)
    for line in (exchange.NO_SNIFFING, *exchange.DEFAULTS.values()):
        assert b"\r\n%b\r\n" % line in refusal


@pytest.mark.parametrize("size", [0, 1, exchange.WRITTEN_APART, exchange.WRITTEN_APART + 1])
def test_a_body_arrives_whole_whatever_its_length(size: int) -> None:
    size_header = [(b"content-length", b"%d" % size)]
    answer = send_request(sending(head(size_header), body(b"x" * size)))
    assert answer.partition(b"\r\n\r\n")[2] == b"x" * size


def test_in_parts() -> None:
    answer = send_request(sending(head(SIZED), body(b"que", has_more=True), body(b"ued")))
    assert answer.endswith(b"\r\n\r\nqueued")


def test_without_a_length_it_is_chunked() -> None:
    answer = send_request(
        sending(head([]), body(b"que", has_more=True), body(b"", has_more=True), body(b"ued"))
    )
    assert answer.endswith(b"transfer-encoding: chunked\r\n\r\n3\r\nque\r\n3\r\nued\r\n0\r\n\r\n")


def test_the_head_of_a_stream_does_not_wait_for_its_first_part() -> None:
    gate = threading.Event()

    async def answer(send: Send) -> None:
        await send(head([]))
        await asyncio.to_thread(gate.wait, 30)
        await send(body(b"late"))

    with listen(Application(answer)) as listener, closing(listener.connect()) as client:
        client.sendall(ASKED)
        assert client.recv(1000).endswith(b"chunked\r\n\r\n")
        gate.set()
        assert read_all(client) == b"4\r\nlate\r\n0\r\n\r\n"


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_has_no_body(status: int) -> None:
    answer = send_request(sending(head([], status), body(b"")))
    assert answer.endswith(b"\r\nconnection: close\r\n\r\n")
    assert b"transfer-encoding" not in answer


@pytest.mark.parametrize("headers", [SIZED, []])
def test_head_gets_no_body(headers: list[tuple[bytes, bytes]]) -> None:
    answer = send_request(sending(head(headers), body(b"queued")), HEAD_ASKED)
    assert answer.endswith(b"connection: close\r\n\r\n")
    assert (b"content-length: 6\r\n" in answer) == bool(headers)


@pytest.mark.parametrize("control", [b"\r", b"\n", b"\0", b"\x7f"])
def test_a_header_that_would_end_early_is_not_sent(control: bytes) -> None:
    answer = send_request(sending(head([(b"x-name", b"a" + control + b"x-other: b")]), body(b"")))
    assert b"x-other" not in answer


@pytest.mark.parametrize("headers", [SIZED, []])
def test_an_answer_that_closes_says_so_once(headers: list[tuple[bytes, bytes]]) -> None:
    answer = send_request(sending(head([*headers, (b"connection", b"close")]), body(b"queued")), KEPT_ASKED)
    assert answer.count(b"connection: close\r\n") == 1


def test_an_application_that_fails_before_its_answer_is_a_500() -> None:
    answer = send_request(sending(), KEPT_ASKED)
    assert answer.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert answer.count(b"connection: close\r\n") == 1


@pytest.mark.parametrize("part", [b"queue", b"queued."])
def test_a_body_of_another_length_ends_the_connection(part: bytes) -> None:
    assert send_request(sending(head(SIZED), body(part))) == b""


@pytest.mark.parametrize(
    "messages", [(body(b"queued"),), (head(SIZED), head(SIZED)), (head(SIZED), body(b"queued"), body(b""))]
)
def test_parts_out_of_order_are_an_error(messages: tuple[dict[str, Any], ...]) -> None:
    failures: list[str] = []

    async def answer(send: Send) -> None:
        try:
            await sending(*messages)(send)
        except RuntimeError as error:
            failures.append(str(error))

    send_request(answer)
    assert len(failures) == 1
