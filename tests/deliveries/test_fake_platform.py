"""The fake platform follows its script, so other tests can rely on it."""

from __future__ import annotations

import httpx
import pytest

from tests.support.fake_platform import (
    Answer,
    CutShort,
    Drip,
    EndlessHeaders,
    FakePlatform,
    GzipBomb,
    Huge,
    Raw,
    Reaction,
    ReceivedRequest,
    Redirect,
    ResetRead,
    ResetUnread,
    Silence,
)


def post(platform: FakePlatform, timeout: float = 10) -> httpx.Response:
    return httpx.post(f"{platform.url}/v1/events?a=1", json={"data": [1]}, timeout=timeout)


def test_it_works() -> None:
    with FakePlatform(Answer(429, {"error": "slowly"}, {"Retry-After": "7"})) as platform:
        answer = post(platform)
        assert (answer.status_code, answer.json()) == (429, {"error": "slowly"})
        assert answer.headers["Retry-After"] == "7"
        assert post(platform).json() == {}
        first, second = platform.requests
    assert (first.method, first.target, first.json()) == ("POST", "/v1/events?a=1", {"data": [1]})
    assert first.headers["content-type"] == "application/json"
    assert first.time < second.time


def test_a_connection_carries_several_requests() -> None:
    def echo(request: ReceivedRequest) -> Answer:
        return Answer(body=request.json())

    with FakePlatform(default=echo) as platform, httpx.Client(base_url=platform.url) as client:
        assert [client.post("/", json=[n]).json() for n in range(3)] == [[0], [1], [2]]
        assert platform.connections == 1
        assert platform.bodies == [[0], [1], [2]]


@pytest.mark.parametrize(
    ("step", "request_count"),
    [
        (ResetUnread(), 0),
        (ResetRead(), 1),
        (CutShort(20), 1),
        (CutShort(70, Answer(body=b"x" * 1000)), 1),
        (Raw(b"220 mail.example ESMTP\r\n"), 1),
        (Silence(), 1),
        (Drip(), 1),
        (Drip(Answer(body=b" " * 100), first_bytes=90), 1),
        (EndlessHeaders(), 1),
    ],
)
def test_what_is_no_answer(step: Reaction, request_count: int) -> None:
    with FakePlatform(step) as platform:
        with pytest.raises(httpx.TransportError):
            post(platform, 0.04)
        assert len(platform.wait_for(request_count)) == request_count


@pytest.mark.parametrize("step", [Huge(), Huge(has_length=False), GzipBomb(1 << 24)])
def test_much_of_an_answer(step: Reaction) -> None:
    with FakePlatform(step) as platform, httpx.stream("POST", f"{platform.url}/", json={}) as answer:
        size = 0
        for chunk in answer.iter_bytes():
            size += len(chunk)
            if size > 1 << 20:
                break
        assert size > 1 << 20


def test_a_slow_answer_arrives() -> None:
    with FakePlatform(Drip(Answer(body=[1, 2]), interval=0.001)) as platform:
        assert post(platform).json() == [1, 2]


def test_a_redirect() -> None:
    with FakePlatform(Redirect("http://127.0.0.1:1/elsewhere")) as platform:
        answer = post(platform)
    assert (answer.status_code, answer.headers["Location"]) == (307, "http://127.0.0.1:1/elsewhere")


def test_a_script_can_grow() -> None:
    with FakePlatform(Answer(500)) as platform:
        platform.append(Answer(503))
        assert [post(platform).status_code for _ in range(3)] == [500, 503, 200]
